"""What waits for an approval is approved as it was shown, or not at all."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from decimal import Decimal

import pytest

from callsheet.tasks.aftercare.approval import (
    approve_waiting,
    plan_of_waiting,
    waiting_plan,
    waiting_rows,
)
from callsheet.tasks.campaign.report import say_elsewhere
from callsheet.tasks.ledger.campaigns import ensure_campaign
from callsheet.tasks.ledger.cancel_requests import ask_to_cancel
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.quotes import Quoted, record_quote
from callsheet.tasks.runtime.errors import MovedOn, SpendRefused
from tests.campaigns import NOW, Stage, brief


async def dearer(stage: Stage) -> None:
    await stage.write(record_quote, Quoted(await stage.row("b"), Decimal(13)), at=NOW)


async def edited(stage: Stage) -> None:
    await stage.sync(*(brief(row, topic=row.upper()) for row in "abc"))
    await stage.quote("a")
    await stage.quote("b")


async def another_sheet(stage: Stage) -> None:
    await stage.write(ensure_campaign, "spring", sheet="s.csv", sheet_digest="other", at=NOW)


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
    plan = plan.approved("Prefect")
    await stage.write(approve_waiting, stage.campaign, plan, run="1", owner=None, at=NOW)
    return {row.row for row in await stage.rows() if row.state == "approved"}


@pytest.fixture
async def stage(ledger: Ledger) -> Stage:
    stage = await Stage.set(ledger, *(brief(row, topic=row) for row in "abc"))
    await stage.quote("a")
    await stage.quote("b")
    return stage


async def test_what_is_priced_later_is_not_approved(stage: Stage) -> None:
    assert await approved(stage, priced_later) == {"a", "b"}


@pytest.mark.parametrize(
    ("meanwhile", "words"),
    [
        (dearer, "b: 12 credits then, 13 credits now"),
        (edited, "b: the row was edited"),
        (cancelled, "b: it no longer waits for approval"),
        (another_sheet, "was given another sheet"),
    ],
)
async def test_nothing_is_approved_once_something_changed(
    stage: Stage, meanwhile: Callable[[Stage], Awaitable[None]], words: str
) -> None:
    with pytest.raises(MovedOn, match=words):
        await approved(stage, meanwhile)
    assert "approved" not in {row.state for row in await stage.rows()}


async def test_what_another_campaign_has_paid_for_is_shown_before_it_is_approved(
    stage: Stage,
) -> None:
    async def approved_elsewhere(stage: Stage) -> None:
        other = await Stage.set(stage.ledger, brief("a", topic="a"), name="autumn")
        await other.approve("a")

    with pytest.raises(MovedOn, match="a: campaign autumn approved it"):
        await approved(stage, approved_elsewhere)
    rows = await waiting_rows(stage.ledger, stage.campaign)
    plan = await plan_of_waiting(stage.ledger, stage.campaign, rows, None)
    assert say_elsewhere(plan) == ["campaign autumn already approved 1 of these rows (12 credits)"]
    named = {"run": "1", "owner": None, "at": NOW}
    plan = plan.approved("Ann")
    assert await stage.write(approve_waiting, stage.campaign, plan, **named) == 2


async def test_a_run_that_lost_the_campaign_approves_nothing(stage: Stage) -> None:
    plan = waiting_plan(stage.campaign, await waiting_rows(stage.ledger, stage.campaign), None)
    with pytest.raises(MovedOn, match="another run took over"):
        await stage.write(approve_waiting, stage.campaign, plan, run="1", owner="me", at=NOW)


async def test_a_campaign_that_was_cancelled_meanwhile_is_not_approved(stage: Stage) -> None:
    async def meanwhile(stage: Stage) -> None:
        await stage.write(ask_to_cancel, stage.campaign, only=None, at=NOW)
        await stage.quote("c")

    with pytest.raises(SpendRefused, match="cancelled meanwhile"):
        await approved(stage, meanwhile)


async def test_a_row_that_is_switched_off_does_not_wait(stage: Stage) -> None:
    off = replace(brief("b", topic="b"), enabled=False)
    await stage.sync(brief("a", topic="a"), off, brief("c", topic="c"))

    assert [row.row for row in await waiting_rows(stage.ledger, stage.campaign)] == ["a"]
