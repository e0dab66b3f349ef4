"""A flow run approves once, however often it begins anew."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from decimal import Decimal

import pytest

from callsheet.tasks.aftercare.approval import approve_waiting, waiting_plan, waiting_rows
from callsheet.tasks.aftercare.retake import approve_wanted, begun_rows, has_approved
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.quotes import Quoted
from callsheet.tasks.runtime.errors import SpendRefused
from tests.campaigns import NOW, Stage, brief

Approve = Callable[[Stage, str], Awaitable[object]]


async def waiting(stage: Stage, run: str) -> None:
    """Approve what has a price and waits for it by now, as the flow `approve`."""
    rows = await waiting_rows(stage.ledger, stage.campaign)
    plan = waiting_plan(stage.campaign, rows, None).approved("Prefect")
    await stage.write(approve_waiting, stage.campaign, plan, run=run, owner=None, at=NOW)


async def retakes(stage: Stage, run: str) -> None:
    """Approve another take of what is delivered by now, as the flow `retake`."""
    done = [row for row in await stage.rows() if row.state == "delivered"]
    wanted = [Quoted(row, Decimal(12)) for row in done]
    how = {"by": "Prefect", "because": None, "budget": None, "at": NOW}
    await stage.write(approve_wanted, stage.campaign, wanted, run=run, **how)


@pytest.mark.parametrize("approve", [waiting, retakes])
async def test_a_run_approves_nothing_that_came_after_what_it_was_started_for(
    ledger: Ledger, approve: Approve
) -> None:
    stage = await Stage.set(ledger, brief("a"), brief("b"))
    bring = stage.quote if approve is waiting else stage.delivered
    await bring("a")
    assert not await has_approved(ledger, stage.campaign, run="1")
    await approve(stage, "1")
    assert await has_approved(ledger, stage.campaign, run="1")
    before = await bring("b")

    with pytest.raises(SpendRefused, match="has already approved its rows"):
        await approve(stage, "1")

    assert await stage.row("b") == before
    assert await begun_rows(ledger, stage.campaign) == ["a"]
    await approve(stage, "2")
    assert await begun_rows(ledger, stage.campaign) == ["a", "b"]


async def test_a_run_goes_on_with_what_is_approved_or_under_way(ledger: Ledger) -> None:
    stage = await Stage.set(ledger, *(brief(row, topic=row) for row in "abcdefg"))
    steps = (stage.quote, stage.approve, stage.submitting, stage.rendering, stage.ready)
    for row, step in zip("bcdefg", (*steps, stage.delivered), strict=True):
        await step(row)

    assert await begun_rows(ledger, stage.campaign) == ["c", "d", "e", "f"]
