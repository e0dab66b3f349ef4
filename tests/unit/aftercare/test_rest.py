"""What a run leaves that somebody cancelled before it began anything."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from callsheet.tasks.aftercare.cancel import cancel_approved
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.run import Run
from callsheet.tasks.campaign.values import Plan, PlanLine
from callsheet.tasks.engine.context import Context
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.values import State
from tests.campaigns import NOW, Stage, brief

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


@pytest.mark.parametrize(("known", "gone"), LEFT)
async def test_what_a_run_had_approved_itself_is_cancelled_with_it(
    ledger: Ledger, known: dict[str, Any], gone: set[str]
) -> None:
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
