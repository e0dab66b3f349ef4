"""A plan is approved as it was shown, once, or nothing of it is; with retakes as the example."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any

import pytest

from callsheet.tasks.aftercare.retake import RETAKE, plan_retakes
from callsheet.tasks.campaign.approve import approve
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.plan_document import plan_document, plan_of
from callsheet.tasks.campaign.propose import propose
from callsheet.tasks.campaign.values import Plan
from callsheet.tasks.ledger.campaigns import set_budget
from callsheet.tasks.ledger.cancel_requests import ask_to_cancel
from callsheet.tasks.ledger.database import ledger_url, make_engine
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.plans import find_plan
from callsheet.tasks.ledger.reviews import review
from callsheet.tasks.ledger.values import State
from callsheet.tasks.runtime.errors import MovedOn, OverBudget, SpendRefused
from callsheet.tasks.runtime.settings import load_settings
from callsheet.tasks.service import Quote
from tests.campaigns import NOW, Stage, brief


async def plan_of_retake(stage: Stage, *rows: str, **asked: Any) -> Plan:
    """Plan a retake of rows at 12 credits each, as a document that was stored and read again."""
    ask = RunOptions(campaign="spring", rows=rows or ("a",), because="the logo", **asked)
    plan = await stage.ledger.read(plan_retakes, ask=ask)
    lines = (
        line._replace(priced=Decimal(12)) if line.action == "retake" else line
        for line in plan.lines
    )
    return plan_of(plan_document(replace(plan, lines=tuple(lines))))


async def approved(stage: Stage, plan: Plan, **more: Any) -> Plan:
    found: Plan = await stage.write(approve, plan, RETAKE, by="approved by Ann", at=NOW, **more)
    return found


async def keep(stage: Stage, row: str = "a") -> None:
    take = (await stage.row(row)).take
    await stage.write(review, take.id, "keep", by="Bob", at=NOW)


async def states(stage: Stage) -> Mapping[str, State]:
    return {row.row: row.state for row in await stage.rows()}


async def edited(stage: Stage) -> None:
    await stage.sync(brief(topic="Coffee"))


async def cancelled(stage: Stage) -> None:
    await stage.write(ask_to_cancel, stage.campaign, only=None, at=NOW)


@pytest.mark.safeguard(
    "tasks/campaign/approve.py",
    "check_wanted(connection, replace(campaign, cancel_requested_at=plan.cancelled_at))",
    "",
)
@pytest.mark.parametrize(
    ("meanwhile", "refusal", "words"),
    [
        (edited, MovedOn, "a: the row was edited"),
        (keep, MovedOn, "a: its video is kept now"),
        (cancelled, SpendRefused, "campaign spring was cancelled meanwhile"),
    ],
)
async def test_nothing_is_approved_once_something_changed(ledger, meanwhile, refusal, words):
    stage = await Stage.set(ledger, brief(), brief("b", "Milk"))
    await stage.delivered()
    await stage.delivered("b")
    plan = await plan_of_retake(stage, "a", "b")
    await meanwhile(stage)
    before = await stage.rows()

    with pytest.raises(refusal, match=words):
        await approved(stage, plan)

    assert await stage.rows() == before


@pytest.mark.safeguard(
    "tasks/ledger/decisions.py", '{"quoted_at": priced_at or at,', '{"quoted_at": at,'
)
async def test_a_price_ages_while_its_question_is_open(ledger: Ledger, stage: Stage) -> None:
    """One that is too old by then is asked for again before anything is sent (`is_priced`)."""
    await stage.delivered()
    ask = RunOptions(campaign="spring", rows=("a",))
    asking = partial(propose, RETAKE, ask, ledger, lambda: nullcontext(Prices()))
    plan = await asking(settings=load_settings(environ={}), clock=lambda: NOW - 3600)

    await approved(stage, plan)

    row = await stage.row()
    assert (row.state, row.quoted, row.quoted_at) == ("approved", 12, NOW - 3600)


class Prices:
    """A service that asks 12 credits of every row."""

    async def estimate(self, _: Mapping[str, Any]) -> Quote:
        return Quote(amount=Decimal(12), raw={})


@pytest.mark.safeguard("tasks/campaign/approve.py", "if why := line.moved(row):", "if why := None:")
@pytest.mark.parametrize(
    "changed",
    [{"state": "failed"}, {"digest": "0" * 64}, {"nth": 2}, {"take": 3}, {"row": "gone"}],
    ids=str,
)
async def test_a_plan_that_shows_another_row_is_not_approved(stage: Stage, changed: dict[str, Any]):
    await stage.delivered()
    plan = await plan_of_retake(stage)
    lines = tuple(line._replace(**changed) for line in plan.lines)

    with pytest.raises(MovedOn, match="nothing was approved or spent"):
        await approved(stage, replace(plan, lines=lines))

    assert await states(stage) == {"a": "delivered"}


@pytest.mark.safeguard(
    "tasks/campaign/approve.py",
    "elif line.state not in verb.effects[line.action].states:",
    "elif False:",
)
@pytest.mark.parametrize("state", ["planned", "approved", "submitting", "rendering", "retired"])
async def test_what_is_not_over_is_not_taken_again_whatever_a_plan_says(stage: Stage, state: State):
    await stage.in_state(state)
    plan = await plan_of_retake(stage, saved_plan=True)
    assert [line.action for line in plan.lines] != ["retake"]
    lines = tuple(line._replace(action="retake") for line in plan.lines)

    with pytest.raises(MovedOn, match=f"a: it is {state}"):
        await approved(stage, replace(plan, lines=lines))

    assert await states(stage) == {"a": state}


@pytest.mark.safeguard(
    "tasks/campaign/approve.py",
    "committed=campaign.charged + campaign.reserved + to_come, to_come",
    "committed=campaign.charged + campaign.reserved, to_come",
)
async def test_approved_rows_count_toward_the_budget_before_they_begin(ledger: Ledger) -> None:
    stage = await Stage.set(ledger, brief(), brief("b", "Milk"), budget=36)
    await stage.delivered()
    await stage.delivered("b")
    both = await plan_of_retake(stage, "a"), await plan_of_retake(stage, "b")
    await approved(stage, both[0])
    with pytest.raises(OverBudget, match=r"36 of the budget of 36 .* are approved, reserved") as no:
        await approved(stage, both[1])
    assert (no.value.needed, await states(stage)) == (48, {"a": "approved", "b": "delivered"})
    await approved(stage, both[1], budget=Decimal(48))
    assert (await stage.account()).budget == 48


@pytest.mark.safeguard(
    "tasks/campaign/approve.py",
    "if budget is not None and campaign.budget != plan.budget:",
    "if False:",
)
async def test_a_budget_replaces_only_the_one_that_was_shown(ledger: Ledger) -> None:
    stage = await Stage.set(ledger, brief(), budget=100)
    await stage.delivered()
    plan = await plan_of_retake(stage)
    await stage.write(set_budget, stage.campaign, budget=Decimal(50), at=NOW)
    with pytest.raises(MovedOn, match="has a budget of 50 credits now"):
        await approved(stage, plan, budget=Decimal(200))
    await approved(stage, plan)
    assert (await stage.account()).budget == 50


@pytest.mark.safeguard(
    "tasks/campaign/propose.py", "check_same_money(found, sandbox=ask.sandbox)", ""
)
async def test_a_campaign_of_the_other_kind_of_service_is_not_planned(ledger: Ledger) -> None:
    stage = await Stage.set(ledger, brief(), name="tried", sandbox=True)
    await stage.delivered()
    ask = RunOptions(campaign="tried", rows=("a",))
    with pytest.raises(SpendRefused, match="was only tried with --sandbox"):
        await ledger.read(plan_retakes, ask=ask)
    plan = await ledger.read(plan_retakes, ask=ask.but(sandbox=True))
    assert plan.named("retake") == ["a"]


@pytest.mark.safeguard(
    "tasks/campaign/approve.py",
    'if stored is not None and stored.state == "approved":',
    "if False:",
)
async def test_a_plan_is_approved_once(ledger: Ledger) -> None:
    """A flow run that is started again approves nothing that came after what it was started for."""
    stage = await Stage.set(ledger, brief(), brief("b", "Milk"))
    await stage.delivered()
    first = await approved(stage, replace(await plan_of_retake(stage), id="flow-run-1"))
    assert (first.id, first.by) == ("flow-run-1", "approved by Ann, plan flow-run-1")
    await stage.delivered("b")

    again = await approved(stage, replace(await plan_of_retake(stage, "b"), id="flow-run-1"))

    assert again.named("retake") == ["a"]
    assert await states(stage) == {"a": "approved", "b": "delivered"}
    stored = await ledger.read(find_plan, plan_id="flow-run-1")
    assert (stored.approved_by, stored.total) == ("approved by Ann", 12)


@pytest.mark.safeguard("tasks/ledger/present_rows.py", "connection.execute(lock).all()", "")
@pytest.mark.parametrize("made_address", ["postgres"], indirect=True)
@pytest.mark.parametrize("before", [None, "reject"])
async def test_who_keeps_a_video_and_who_has_it_made_again_wait_for_each_other(
    stage: Stage, made_address: str, before: Any
) -> None:
    row = await stage.delivered()
    assert row.take is not None
    if before:
        await stage.write(review, row.take.id, before, by="Bob", reason="brand", at=NOW)
    plan = await plan_of_retake(stage)
    other = make_engine(ledger_url(made_address), writes=True)
    try:
        with other.begin() as connection:
            # Somebody else has just kept it, and not committed yet.
            said = {"by": "Bob", "at": NOW, "instead_of": before}
            review(connection, row.take.id, "keep", **said)
            again = asyncio.create_task(approved(stage, plan))
            done, _ = await asyncio.wait([again], timeout=0.5)
            assert not done
    finally:
        other.dispose()
    with pytest.raises(MovedOn, match="a: its video is kept now"):
        await again
    assert await states(stage) == {"a": "delivered"}
