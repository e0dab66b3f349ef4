"""Requests to cancel: at once what has not begun, marked what is under way, nothing else."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from callsheet.tasks.ledger.cancel_requests import (
    CancelMark,
    ask_to_cancel,
    cancel_mark,
    cancel_requests,
    end_cancel,
    wake_stalled,
)
from callsheet.tasks.ledger.decisions import approve_retakes
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.quotes import Quoted
from callsheet.tasks.ledger.values import State
from tests.campaigns import NOW, Stage, brief


async def asked(stage: Stage, *only: str) -> None:
    chosen = set(only) or None
    await stage.write(ask_to_cancel, stage.campaign, only=chosen, at=NOW + 1)


#: A state, the one after a request to cancel, and whether its take is marked then.
ASKED: list[tuple[State, State, bool]] = [
    *((state, "cancelled", False) for state in ("planned", "quoted", "approved", "held")),
    *((state, state, True) for state in ("submitting", "rendering", "stalled")),
    *((state, state, False) for state in ("ready", "delivered", "failed", "rejected", "uncertain")),
]


@pytest.mark.parametrize("begun", [True, False])
@pytest.mark.parametrize(("state", "then", "marked"), ASKED)
async def test_what_has_not_begun_is_cancelled_and_what_is_under_way_marked_once(
    ledger: Ledger, stage: Stage, state: State, then: State, marked: bool, begun: bool
):
    """What has begun goes on unless that is meant; what is made or over is left."""
    before = await stage.in_state(state)
    for _ in "twice":
        await stage.write(ask_to_cancel, stage.campaign, only={"a"}, at=NOW + 1, begun=begun)
    row = await stage.row()
    assert row.state == then
    assert (row.take and row.take.cancel_requested_at) == (NOW + 1 if marked and begun else None)
    kinds = [event.kind for event in await stage.events()]
    assert kinds.count("cancel") == (marked and begun)
    if then == "cancelled":
        found = await ledger.read(cancel_requests, campaign_id=stage.campaign.id)
        assert found.cancelled == {row.id}
        # An engine that still thinks it approved cannot begin it.
        assert await stage.open(replace(before, state="approved")) is None
    elif marked and begun:
        assert await stage.write(wake_stalled, [row], at=NOW) == (state == "stalled")


async def test_a_paid_video_that_could_not_be_delivered_is_kept(stage: Stage):
    await stage.moved(await stage.in_state("ready"), "held", "the disk is full")
    await asked(stage)
    assert (await stage.row()).state == "held"


async def test_a_mark_changes_with_every_request_and_with_nothing_else(ledger: Ledger):
    stage = await Stage.set(ledger, brief("a"), brief("b", topic="Milk"), brief("c", topic="Rum"))

    async def mark() -> CancelMark:
        return await ledger.read(cancel_mark, campaign_id=stage.campaign.id)

    marks = [await mark()]
    row = await stage.rendering("a")
    assert await mark() == marks[0]
    for name in "ab":
        await asked(stage, name)
        marks.append(await mark())
        await asked(stage, name)
        assert await mark() == marks[-1]
    await stage.quote("c")
    assert await mark() == marks[-1]
    assert len(set(marks)) == 3
    found = await ledger.read(cancel_requests, campaign_id=stage.campaign.id)
    assert found.takes == {row.id: row.take.id}


async def test_an_approval_ends_an_older_request_and_not_a_newer_one(stage: Stage):
    began = await stage.account()
    await asked(stage)
    assert not await stage.write(end_cancel, began)
    assert (await stage.account()).cancel_requested_at == NOW + 1
    assert await stage.write(end_cancel, await stage.account())
    assert (await stage.account()).cancel_requested_at is None


async def test_another_take_that_is_not_wanted_leaves_the_video_delivered(stage: Stage):
    delivered = await stage.in_state("delivered")
    again = [Quoted(delivered, Decimal(30))]
    await stage.write(approve_retakes, again, by="Alice", because=None, at=NOW)
    await asked(stage)
    row = await stage.row()
    assert (row.state, row.nth, row.quoted) == ("delivered", 1, 12)
