"""What is cancelled is cancelled as rows are by then, and with what a run had approved itself."""

from __future__ import annotations

from decimal import Decimal
from types import SimpleNamespace
from typing import Any, cast

import pytest

from callsheet.tasks.aftercare.cancel import (
    cancel,
    cancel_approved,
    endings,
    exit_status,
    plan_cancel,
    released,
)
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.run import Run
from callsheet.tasks.campaign.values import Plan, PlanLine
from callsheet.tasks.engine.context import Context
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.values import State
from tests.campaigns import NOW, Stage, brief

WHOLE = RunOptions(campaign="spring")


@pytest.mark.safeguard("tasks/aftercare/cancel.py", "if not ask.is_whole:", "if True:")
async def test_what_is_cancelled_is_as_rows_are_by_then(ledger: Ledger) -> None:
    stage = await Stage.set(ledger, *(brief(row, topic=row) for row in "ab"))
    shown = await ledger.read(plan_cancel, ask=WHOLE)
    assert [(line.row, line.action, line.priced) for line in shown.lines] == [
        ("a", "cancel", 0), ("b", "cancel", 0)
    ]  # fmt: skip
    assert (await stage.account()).cancel_requested_at is None
    await stage.approve("a")
    await stage.sync(*(brief(row, topic=row) for row in "abc"))

    plan = await ledger.write(cancel, ask=WHOLE, by="Ann", at=NOW)
    found = await ledger.read(endings, plan=plan)

    assert [(one.row, one.was, one.now) for one in found] == [
        ("a", "approved", "cancelled"),
        ("b", "planned", "cancelled"),
        ("c", "planned", "cancelled"),
    ]
    assert (exit_status(found), released(found)) == (0, Decimal(0))
    assert (await stage.account()).cancel_requested_at == NOW


_STATES: dict[str, State] = {"a": "planned", "b": "approved", "c": "quoted"}
_LINES = tuple(PlanLine(row, row, "make", "d", state=state) for row, state in _STATES.items())
_PLAN = Plan(campaign="spring", sheet="s.csv", sheet_digest="d", lines=_LINES)
#: What a run knows of its rows, and those that are cancelled of: a quoted one, two approved ones.
LEFT: list[tuple[dict[str, Any], set[str]]] = [
    # It has planned: `b` was approved before it, `c` by it.
    ({"plan": _PLAN}, {"c"}),
    # Of those flows that approve first and carry what they approved.
    ({"only": frozenset({"c"})}, {"c"}),
    # It waits for the run that is at work.
    ({}, set()),
]


@pytest.mark.safeguard(
    "tasks/aftercare/cancel.py", 'if row.state == "approved" and row.row in own', "if False"
)
@pytest.mark.parametrize(("known", "gone"), LEFT)
async def test_what_a_run_had_approved_itself_is_cancelled_with_it(ledger: Ledger, known, gone):
    stage = await Stage.set(ledger, *(brief(row, topic=row) for row in "abc"))
    await stage.quote("a")
    await stage.approve("b")
    await stage.approve("c")
    at = cast(Context, SimpleNamespace(ledger=ledger, clock=lambda: NOW))
    run = Run(options=RunOptions(sheet="s.csv"), at=at, **known)
    run.campaign = stage.campaign

    assert await cancel_approved(run) == (len(gone) or None)

    before: dict[str, State] = {"a": "quoted", "b": "approved", "c": "approved"}
    now = {row.row: row.state for row in await stage.rows()}
    assert now == {**before, **dict.fromkeys(gone, "cancelled")}
