"""What the service says against a brief is told as cells of the sheet, its own words behind."""

from __future__ import annotations

import pytest

from callsheet.tasks.engine.policy.creates import in_columns
from callsheet.tasks.values.briefs import Brief, Json


@pytest.mark.parametrize(
    ("request_", "said", "told"),
    [
        (
            {"duration_seconds": 7, "title": "Tea"},
            "duration_seconds: 7 is not one of 5, 10",
            'the service refused duration_seconds "7": edit line 3 of the sheet',
        ),
        (
            {"tool": "no-such", "fields": {"product": "Kettle"}},
            "tool must be one of explainer, product-launch",
            'the service refused tool "no-such": edit',
        ),
        (
            {"tool": "explainer", "fields": {"product": "x" * 90, "offer": "y"}},
            "fields.product: too long; fields.offer: too short",
            f'fields.product "{"x" * 59}…" and fields.offer "y": edit',
        ),
        (
            {"script": {"scenes": [{"narration": "Boil it."}, {"narration": "Pour it."}]}},
            "script names a brand",
            'the service refused script "Boil it. Pour it.": edit line 3',
        ),
        ({"title": "Tea"}, "subtitle_mode is odd", ": edit line 3 of the sheet and run again"),
    ],
)
def test_a_refusal_names_the_cells(request_: dict[str, Json], said: str, told: str) -> None:
    words = f"create was refused (400): {said}"

    reason = in_columns(words, Brief(row="a", request=request_, line=3))

    assert told in reason
    assert words in reason
