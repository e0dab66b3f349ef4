"""What waits for an approval is approved as it was shown, or not at all."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from decimal import Decimal

import pytest

from tasks.aftercare.waiting import approve_waiting, waiting_plan, waiting_rows
from tasks.errors import SpendRefused
from tasks.ledger import Ledger, Quoted, ask_to_cancel, record_quote
from tests.campaigns import NOW, Stage, brief


async def dearer(stage: Stage) -> None:
    await stage.write(record_quote, Quoted(await stage.row("b"), Decimal(13)), at=NOW)


async def cancelled(stage: Stage) -> None:
    await stage.write(ask_to_cancel, stage.campaign, only=["b"], at=NOW)


async def priced_later(stage: Stage) -> None:
    await stage.quote("c")


async def approved(stage: Stage, meanwhile: Callable[[Stage], Awaitable[None]]) -> set[str]:
    """Approve two rows that wait, after something has happened; return those that are approved."""
    rows = await waiting_rows(stage.ledger, stage.campaign)
    plan = waiting_plan(stage.campaign, rows, None)
    assert [line.row for line in plan.lines] == ["a", "b"]
    await meanwhile(stage)
    await approve_waiting(stage.ledger, stage.campaign, plan, run="1", by="Prefect", at=NOW)
    return {row.row for row in await stage.rows() if row.state == "approved"}


@pytest.fixture
async def stage(ledger: Ledger) -> Stage:
    stage = await Stage.set(ledger, *(brief(row, topic=row) for row in "abc"))
    await stage.quote("a")
    await stage.quote("b")
    return stage


@pytest.mark.parametrize(
    ("meanwhile", "rows"), [(dearer, {"a"}), (cancelled, {"a"}), (priced_later, {"a", "b"})]
)
async def test_a_row_is_approved_at_the_price_that_was_shown(
    stage: Stage, meanwhile: Callable[[Stage], Awaitable[None]], rows: set[str]
) -> None:
    assert await approved(stage, meanwhile) == rows


async def test_a_campaign_that_was_cancelled_meanwhile_is_not_approved(stage: Stage) -> None:
    async def meanwhile(stage: Stage) -> None:
        await stage.write(ask_to_cancel, stage.campaign, only=None, at=NOW)
        await stage.quote("c")

    with pytest.raises(SpendRefused, match="cancelled in the meantime"):
        await approved(stage, meanwhile)


async def test_a_row_that_is_switched_off_does_not_wait(stage: Stage) -> None:
    off = replace(brief("b", topic="b"), enabled=False)
    await stage.sync(brief("a", topic="a"), off, brief("c", topic="c"))

    assert [row.row for row in await waiting_rows(stage.ledger, stage.campaign)] == ["a"]
