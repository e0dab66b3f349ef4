"""Which cost center a row counts for: that of the budget, however people type its name."""

from __future__ import annotations

import pytest

from callsheet.tasks.sheet import SheetOptions, parse_sheet
from tests.programs import simple_sheet

BUDGETS = ("Acme Corp", "Cafe\u0301", "art", "Art")


@pytest.mark.safeguard(
    "tasks/sheet/rows.py",
    "named = one.cost_center and as_spelled(one.cost_center, names)",
    "named = one.cost_center",
)
@pytest.mark.parametrize(
    ("typed", "counts"),
    [
        ("Acme Corp", "Acme Corp"),
        ("acme CORP ", "Acme Corp"),
        ("Acme\u00a0 Corp", "Acme Corp"),
        ("caf\u00e9", "Cafe\u0301"),
        # Of two that are typed alike each has its own, and what is neither the first.
        ("Art", "Art"),
        ("ART", "art"),
        ("Acme", "Acme"),
        ("", None),
    ],
)
@pytest.mark.parametrize("column", ["cost_center", "x_client"])
def test_a_cost_center_is_the_one_that_has_a_budget_however_it_is_typed(column, typed, counts):
    options = SheetOptions(cost_center_column="x_client", cost_centers=BUDGETS)
    content = simple_sheet(1, columns=f",{column}", cells=f",{typed}").encode()
    sheet = parse_sheet(content, name="a.csv", options=options, folder=None, address="/in/a.csv")
    assert [brief.cost_center for brief in sheet.briefs] == [counts]
