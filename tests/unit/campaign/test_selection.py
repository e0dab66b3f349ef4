"""A selection that cannot be meant is refused, with what there is."""

from __future__ import annotations

import pytest

from callsheet.tasks.campaign.selection import check_selection
from callsheet.tasks.ledger.row_filter import RowFilter
from callsheet.tasks.runtime.errors import BadInput
from callsheet.tasks.values.briefs import Brief
from tests.campaigns import brief

ROWS = [
    brief("Draft-7", "Green Tea", tags=("launch", "Wave 2"), cost_center="42"),
    Brief(row="r09", request={"language": "de"}, cost_center="MKT-1040"),
]


@pytest.mark.safeguard(
    "tasks/campaign/selection.py", "if word.lower() not in ids:", "if word.lower() is ids:"
)
@pytest.mark.parametrize(
    ("text", "said", "remedy"),
    [
        ("r9", 'names "r9", and there is no such row', "did you mean r09? rows that exist: "),
        ("!r9", 'names "r9"', "did you mean r09?"),
        ("x-*", "x-* matches no row", "rows that exist: Draft-7, r09"),
        ("tag:lauch", "tag:lauch matches no row", "did you mean launch? tags that exist: launch, "),
        ("tag:launch,cost_center:mkt-104O", "cost_center:mkt-104O matches no row", "MKT-1040?"),
        ("style:flat", "style:flat matches no row", "no row has a style"),
        ("tag:launch,language:de", "no row matches all of tag:launch,language:de", "r09"),
        ("state:stalled,language:fr", "language:fr matches no row", "languages that exist: de"),
    ],
)
def test_a_selection_that_cannot_be_meant_is_refused_with_what_exists(text, said, remedy):
    with pytest.raises(BadInput) as caught:
        check_selection(RowFilter.parse(text), ROWS)
    assert said in str(caught.value)
    assert str(caught.value).endswith("; nothing was spent")
    assert remedy in (caught.value.remedy or "")


POSSIBLE = (None, "tag:launch", "tag:lau*", "!tag:lauch", "r09,state:failed", "r09,review:keep")


@pytest.mark.parametrize("text", POSSIBLE)
def test_what_matches_no_row_only_at_the_moment_is_not_refused(text):
    check_selection(RowFilter.parse(text), ROWS)
