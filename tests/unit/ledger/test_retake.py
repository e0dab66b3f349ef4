"""Another take of a row, or the end of an uncertain one: what was before is accounted for."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from decimal import Decimal
from functools import partial

import pytest

from callsheet.tasks.ledger.decisions import adopt_video, approve_retakes, give_up
from callsheet.tasks.ledger.deliveries import deliver
from callsheet.tasks.ledger.ledger import Ledger, open_ledger
from callsheet.tasks.ledger.quotes import Quoted
from callsheet.tasks.ledger.takes import accept, refuse, settle
from callsheet.tasks.ledger.values import State, takes_of
from tests.campaigns import NOW, VIDEO, Stage, brief, key_of, sums

AGAIN: list[State] = ["failed", "stalled", "delivered", "uncertain"]


async def retaken(stage: Stage) -> None:
    """Take the one row again."""
    wanted = [Quoted(await stage.row(), Decimal(12))]
    await stage.write(approve_retakes, wanted, by="Alice", because="the logo", at=NOW)


@pytest.mark.parametrize("state", AGAIN)
async def test_a_new_take_has_a_new_key_and_the_old_one_is_accounted_for(ledger: Ledger, state):
    stage = await Stage.set(ledger, brief(), budget=100)
    old = await stage.in_state(state)
    await retaken(stage)
    row = await stage.row()
    assert (row.state, row.nth, row.quoted, row.approved) == ("approved", 2, 12, 12)
    assert key_of(row) != old.take.key
    account = await stage.account()
    # Only a stalled video may still be charged: the others have cost, or count as having cost.
    booked = {"stalled": (12, 0)}.get(state, (0, 12))
    assert (account.reserved, account.charged) == booked
    words = [event.words or "" for event in await stage.events()]
    assert any("the logo" in word for word in words)
    assert await stage.open(row) is not None
    assert (await stage.row()).take.number == 2
    found = await ledger.read(sums, campaign_id=stage.campaign.id)
    assert found[:2] == found[2:]


HEARD_OF_THE_OLD_TAKE = {
    "its video is there": ("submitting", partial(accept, video_id="vid_old")),
    "it was refused": ("submitting", partial(refuse, new="rejected", reason="no")),
    "its video is ready": ("rendering", partial(settle, new="ready", charged=None)),
    "its videos are stored": ("ready", partial(deliver, files=[VIDEO])),
}


@pytest.mark.safeguard(
    "tasks/ledger/moves.py",
    'rows.c.take_id == bindparam("the_take"))',
    '(rows.c.take_id == bindparam("the_take")) | (rows.c.id > 0))',
)
@pytest.mark.parametrize("heard", HEARD_OF_THE_OLD_TAKE)
async def test_what_a_process_hears_of_an_old_take_moves_nothing_of_the_new_one(ledger, heard):
    state, change = HEARD_OF_THE_OLD_TAKE[heard]
    stage = await Stage.set(ledger, brief())
    behind = replace(await stage.in_state("stalled"), state=state)
    await retaken(stage)
    await stage.open(await stage.row())
    if state != "submitting":
        row = await stage.row()
        await stage.write(accept, row, row.take, video_id="vid_new", at=NOW)
    if state == "ready":
        row = await stage.row()
        await stage.write(settle, row, row.take, new="ready", charged=None, at=NOW)
    before = await stage.row()
    assert not await stage.write(change, behind, behind.take, at=NOW)
    assert await stage.row() == before
    found = await ledger.read(sums, campaign_id=stage.campaign.id)
    assert found[:2] == found[2:]


@pytest.mark.parametrize(("state", "same"), [("held", True), ("rejected", False)])
async def test_a_create_refused_for_lack_of_credits_alone_goes_out_under_its_key(
    stage: Stage, state: State, same: bool
):
    refused = await stage.in_state(state)
    await retaken(stage)
    assert (key_of(await stage.row()) == refused.take.key) is same
    assert (await stage.open(await stage.row())).number == (1 if same else 2)


async def test_a_row_cancelled_before_it_began_has_its_first_key_still(stage: Stage):
    await stage.in_state("cancelled")
    await retaken(stage)
    assert (await stage.row()).nth == 1


async def uncertain(ledger: Ledger) -> Stage:
    stage = await Stage.set(ledger, brief(), budget=100)
    await stage.in_state("uncertain")
    return stage


@pytest.mark.safeguard(
    "tasks/ledger/decisions.py",
    'if connection.execute(_OF_ANOTHER, {"the_video": video_id, "the_row": row.id}).first():',
    "if False:",
)
async def test_of_two_rows_that_are_given_one_video_at_once_one_gets_it(ledger, made_address):
    """The other one's own video would be lost, and paid for once more."""
    stage = await Stage.set(ledger, brief("a"), brief("b"))
    async with await open_ledger(made_address) as other:
        adopting = []
        for name, which in (("a", stage), ("b", Stage(other, stage.campaign))):
            row = await stage.in_state("uncertain", name)
            adopting.append(which.write(adopt_video, row, row.take, video_id="vid_7", at=NOW))
        done = await asyncio.gather(*adopting)
    assert sorted(done) == [False, True]
    assert sorted(row.state for row in await stage.rows()) == ["rendering", "uncertain"]


@pytest.mark.parametrize(("again", "state"), [(True, "planned"), (False, "cancelled")])
async def test_a_take_that_was_given_up_is_not_taken_up_again_by_the_sheet(ledger, again, state):
    """A person may know what it cost."""
    stage = await uncertain(ledger)
    row = await stage.row()
    await stage.write(give_up, row, row.take, charged=Decimal(0), again=again, at=NOW)
    account = await stage.account()
    assert ((await stage.row()).state, account.reserved, account.charged) == (state, 0, 0)
    await stage.sync(brief(topic="Coffee"))
    await stage.sync(brief())
    back = await stage.row()
    assert (back.state, back.nth) == ("planned", 2)
    await stage.submitting()
    keys = [take.key for _, take in await ledger.read(lambda c: takes_of(c, stage.campaign.id))]
    assert len(keys) == len(set(keys)) == 2
