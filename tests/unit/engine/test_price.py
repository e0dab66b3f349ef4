"""A quote that is young enough is not asked for again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from callsheet.tasks.engine.free_calls import is_priced
from tests.campaigns import a_row
from tests.unit.engine.play import context

NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("age", "young"),
    # The last: the clock was set back since, so its age is not known.
    [(0, True), (60, True), (10**6, False), (-60, False)],
)
def test_a_quote_ages(age: float, young: bool) -> None:
    at = context(clock=lambda: NOW)
    assert is_priced(replace(a_row("quoted"), quoted_at=NOW - age), at) is young
