"""What waits for an approval is approved as it was shown, or not at all."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from decimal import Decimal

import pytest

from callsheet.tasks.aftercare.waiting import WAITING, plan_waiting
from callsheet.tasks.campaign.approve import approve
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.report import say_elsewhere
from callsheet.tasks.campaign.values import Plan
from callsheet.tasks.ledger.campaigns import ensure_campaign
from callsheet.tasks.ledger.cancel_requests import ask_to_cancel
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.quotes import Quoted, hold_unpaid, record_quote
from callsheet.tasks.ledger.reviews import last_reviews, review
from callsheet.tasks.runtime.errors import MovedOn
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


async def planned(stage: Stage) -> Plan:
    """Plan what waits, as the commands and flows do."""
    return await stage.ledger.read(plan_waiting, ask=RunOptions(campaign="spring"))


async def approved(stage: Stage, meanwhile: Callable[[Stage], Awaitable[None]]) -> set[str]:
    """Approve two rows that wait, after something has happened; return those that are approved."""
    plan = await planned(stage)
    assert [line.row for line in plan.lines] == ["a", "b"]
    await meanwhile(stage)
    await stage.write(approve, plan, WAITING, by="Prefect", at=NOW)
    return {row.row for row in await stage.rows() if row.state == "approved"}


@pytest.fixture
async def stage(ledger: Ledger) -> Stage:
    stage = await Stage.set(ledger, *(brief(row, topic=row) for row in "abc"))
    await stage.quote("a")
    await stage.quote("b")
    return stage


@pytest.mark.safeguard(
    "tasks/campaign/approve.py",
    "if plan.sheet_digest and plan.sheet_digest != campaign.sheet_digest:",
    "if False:",
)
@pytest.mark.parametrize(
    ("meanwhile", "words"),
    [
        (dearer, "b: 12 credits then, 13 credits now"),
        (edited, "b: the row was edited"),
        (cancelled, "b: it is cancelled now"),
        (another_sheet, "was given another sheet"),
    ],
)
async def test_nothing_is_approved_once_something_changed(stage: Stage, meanwhile, words):
    with pytest.raises(MovedOn, match=words):
        await approved(stage, meanwhile)
    assert "approved" not in {row.state for row in await stage.rows()}


@pytest.mark.safeguard("tasks/aftercare/waiting.py", "checks=(check_elsewhere,)", "checks=()")
async def test_what_another_campaign_has_paid_for_is_shown_before_it_is_approved(stage: Stage):
    async def approved_elsewhere(stage: Stage) -> None:
        other = await Stage.set(stage.ledger, brief("a", topic="a"), name="autumn")
        await other.approve("a")

    with pytest.raises(MovedOn, match="a: campaign autumn approved it"):
        await approved(stage, approved_elsewhere)
    plan = await planned(stage)
    assert say_elsewhere(plan) == ["campaign autumn already approved 1 of these rows (12 credits)"]
    await stage.write(approve, plan, WAITING, by="Ann", at=NOW)
    assert [row.state for row in await stage.rows()] == ["approved", "approved", "planned"]
    assert (await planned(stage)).elsewhere == ()


def at_prices(plan: Plan, *prices: int) -> Plan:
    lines = zip(plan.lines, prices, strict=True)
    return replace(plan, lines=tuple(one._replace(priced=Decimal(n)) for one, n in lines))


async def approve_plan(stage: Stage, plan: Plan) -> None:
    await stage.write(approve, plan, WAITING, by="Ann", at=NOW)


async def test_a_row_without_a_price_is_approved_at_the_one_that_was_shown(stage: Stage) -> None:
    """And one that is switched off does not wait."""
    await stage.quote("b", None)
    plan = await planned(stage)
    assert [line.priced for line in plan.lines] == [12, None]
    with pytest.raises(MovedOn, match="a: 13 credits then, 12 credits now"):
        await approve_plan(stage, at_prices(plan, 13, 12))
    await stage.quote("c")
    await approve_plan(stage, at_prices(plan, 12, 12))
    assert [row.approved for row in await stage.rows()] == [12, 12, None], "c was priced later"
    await stage.sync(*(replace(brief(row, topic=row), enabled=row != "c") for row in "abc"))
    assert (await planned(stage)).named("make") == []


async def on_hold(stage: Stage, price: int | None = 12) -> None:
    """Have a delivered, which is the test video that b waits for."""
    await stage.delivered("a")
    if price is None:
        await stage.quote("b", None)
    row = await stage.row("b")
    await stage.write(hold_unpaid, row, "waits for the test video a", at=NOW)


@pytest.mark.parametrize("price", [12, None])
async def test_the_first_video_is_kept_with_the_rows_that_waited_for_it(stage: Stage, price):
    await on_hold(stage, price)
    plan = await planned(stage)
    assert [(line.row, line.why) for line in plan.lines] == [("b", "waits for the test video a")]
    await approve_plan(stage, at_prices(plan, 12))
    said = await stage.ledger.read(last_reviews, campaign_id=stage.campaign.id)
    assert [(one.verdict, one.by) for one in said.values()] == [("keep", "Ann")]
    assert ((await stage.row("b")).state, (await stage.row("b")).approved) == ("approved", 12)


@pytest.mark.safeguard(
    "tasks/aftercare/waiting.py",
    "if gone := [row for row in held if row not in videos]:",
    "if gone := list[str]():",
)
async def test_rows_wait_on_where_the_first_video_was_rejected_meanwhile(stage: Stage) -> None:
    await on_hold(stage)
    plan = await planned(stage)
    take = (await stage.row("a")).take
    await stage.write(review, take.id, "reject", reason="voice", by="Bob", at=NOW)
    with pytest.raises(MovedOn, match="b: it no longer waits for approval"):
        await approve_plan(stage, plan)
    assert (await stage.row("b")).state == "held"


@pytest.mark.safeguard(
    "tasks/aftercare/waiting.py",
    "if row.quoted is not None and row.quoted != line.priced:",
    "if False:",
)
@pytest.mark.safeguard(
    "tasks/aftercare/waiting.py",
    "if row.quoted is not None and row.quoted != line.priced:",
    "if False:",
)
async def test_a_row_on_hold_is_not_approved_at_another_price_than_its_own(stage: Stage) -> None:
    await on_hold(stage)
    plan = await planned(stage)
    with pytest.raises(MovedOn, match="b: 11 credits then, 12 credits now"):
        await approve_plan(stage, at_prices(plan, 11))
