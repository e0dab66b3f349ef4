"""A flow run approves once, however often it begins anew."""

from __future__ import annotations

import pytest

from callsheet.tasks.aftercare.approval import (
    approve_waiting,
    begun_rows,
    has_approved,
    waiting_plan,
    waiting_rows,
)
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.runtime.errors import SpendRefused
from tests.campaigns import NOW, Stage, brief


async def waiting(stage: Stage, run: str) -> None:
    """Approve what has a price and waits for it by now, as the flow `approve`."""
    rows = await waiting_rows(stage.ledger, stage.campaign)
    plan = waiting_plan(stage.campaign, rows, None).approved("Prefect")
    await stage.write(approve_waiting, stage.campaign, plan, run=run, owner=None, at=NOW)


async def test_a_run_approves_nothing_that_came_after_what_it_was_started_for(
    ledger: Ledger,
) -> None:
    stage = await Stage.set(ledger, brief("a"), brief("b"))
    await stage.quote("a")
    assert not await has_approved(ledger, stage.campaign, run="1")
    await waiting(stage, "1")
    assert await has_approved(ledger, stage.campaign, run="1")
    before = await stage.quote("b")

    with pytest.raises(SpendRefused, match="has already approved its rows"):
        await waiting(stage, "1")

    assert await stage.row("b") == before
    assert await begun_rows(ledger, stage.campaign) == ["a"]
    await waiting(stage, "2")
    assert await begun_rows(ledger, stage.campaign) == ["a", "b"]


async def test_a_run_goes_on_with_what_is_approved_or_under_way(ledger: Ledger) -> None:
    stage = await Stage.set(ledger, *(brief(row, topic=row) for row in "abcdefg"))
    steps = (stage.quote, stage.approve, stage.submitting, stage.rendering, stage.ready)
    for row, step in zip("bcdefg", (*steps, stage.delivered), strict=True):
        await step(row)

    assert await begun_rows(ledger, stage.campaign) == ["c", "d", "e", "f"]
