"""Requests to cancel: at once what has not begun, marked what is under way, nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from callsheet.tasks.ledger.cancel_requests import (
    ask_to_cancel,
    cancel_requests,
    end_cancel,
    wake_stalled,
)
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.values import State
from tests.campaigns import NOW, Stage


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


async def test_an_approval_ends_an_older_request_and_not_a_newer_one(stage: Stage):
    began = await stage.account()
    await asked(stage)
    assert not await stage.write(end_cancel, began)
    assert (await stage.account()).cancel_requested_at == NOW + 1
    assert await stage.write(end_cancel, await stage.account())
    assert (await stage.account()).cancel_requested_at is None
