"""Which rows wait for the first video of their kind, and when they are let go."""

from __future__ import annotations

from collections import defaultdict
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callsheet.tasks.campaign.values import Canary, Plan, PlanLine
from callsheet.tasks.campaign.waits import canaries_of, hold_back, released, waiting_lines


def line(row: str, price: int | None = 10, *, kind: str = "k", **own: Any) -> PlanLine:
    said = {"action": "make", "state": "quoted", **own}
    priced = None if price is None else Decimal(price)
    return PlanLine(row=row, title=row, digest=row, priced=priced, kind=(kind,), **said)


def plan(*lines: PlanLine, canary: Canary = "yes") -> Plan:
    return Plan(campaign="c", sheet="c.csv", sheet_digest="1", lines=lines, canary=canary)


def made(row: str, verdict: str | None = None, **own: Any) -> PlanLine:
    said = {"action": "none", "state": "delivered", **own}
    return line(row, verdict=verdict, **said)


def waiting(found: Plan) -> dict[str, str]:
    return {one.row: canaries_of([one.why])[0] for one in waiting_lines(found)}


MADE: list[tuple[PlanLine, Canary, bool]] = [
    (made("a", "keep"), "yes", True),
    (made("a", "passed"), "yes", False),
    (made("a", "passed"), "auto", True),
    (made("a", "flagged"), "auto", False),
    (made("a", "keep"), "auto", True),
    (made("a", "reject"), "yes", False),
    (made("a", "reject"), "auto", False),
    (made("a", action="fetch", state="rendering"), "yes", False),
    (made("a", action="person", state="failed"), "auto", False),
    (made("a", action="person", state="uncertain"), "yes", False),
]


@pytest.mark.parametrize(("first", "mode", "let_go"), MADE)
@pytest.mark.parametrize("choose", [True, False])
def test_the_others_wait_until_the_first_video_is_good(
    first: PlanLine, mode: Canary, let_go: bool, choose: bool
) -> None:
    found = hold_back(plan(first, line("b"), line("c"), canary=mode), choose=choose)
    assert waiting(found) == ({} if let_go else {"b": "a", "c": "a"})


def test_the_cheapest_of_a_kind_is_made_first() -> None:
    lines = [line("a", 20), line("b", 10), line("c", 10), line("d", None), line("e", kind="other")]
    found = hold_back(plan(*lines), choose=True)
    assert waiting(found) == {"a": "b", "c": "b", "d": "b"}
    assert found.total == 20
    assert hold_back(plan(*lines), choose=False) == plan(*lines)
    assert hold_back(plan(*lines, canary="no"), choose=True) == plan(*lines, canary="no")


def test_a_row_that_the_service_refuses_is_no_canary() -> None:
    refused = line("a", 1, action="person", state="rejected")
    assert waiting(hold_back(plan(refused, line("b"), line("c")), choose=True)) == {"c": "b"}


def test_an_approved_row_never_waits_and_is_a_canary_already() -> None:
    approved = line("b", 9, state="approved")
    assert waiting(hold_back(plan(line("a", 1), approved), choose=True)) == {"a": "b"}
    assert waiting(hold_back(plan(made("a", "passed"), approved), choose=True)) == {}


@pytest.mark.parametrize(
    "other",
    [made("a", "reject"), made("a", action="person", state="failed"),
     made("a", action="fetch", state="rendering")],
)  # fmt: skip
def test_the_video_that_somebody_can_review_is_the_one_that_is_named(other: PlanLine) -> None:
    found = hold_back(plan(other, made("b", "passed"), line("c")), choose=True)
    assert waiting(found) == {"c": "b"}


ROWS = st.lists(st.tuples(st.sampled_from("xyz"), st.integers(1, 9)), min_size=1, max_size=20)


@given(ROWS)
def test_canaries_cover_every_kind_once_and_holding_back_again_changes_nothing(
    rows: list[tuple[str, int]],
) -> None:
    whole = plan(*(line(f"r{n}", price, kind=kind) for n, (kind, price) in enumerate(rows)))
    found = hold_back(whole, choose=True)
    spent: dict[tuple[object, ...], list[PlanLine]] = defaultdict(list)
    for one in found.spending:
        spent[one.kind].append(one)
    assert {kind for (kind,) in spent} == {kind for kind, _ in rows}
    assert all(len(lines) == 1 for lines in spent.values())
    prices = {kind: min(price for k, price in rows if k == kind) for kind, _ in rows}
    assert {kind: lines[0].priced for (kind,), lines in spent.items()} == prices
    assert hold_back(found, choose=True) == found
    assert released(found).total == whole.total
