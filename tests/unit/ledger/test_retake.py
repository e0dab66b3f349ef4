"""Another take of a row: a new key, approved at a price, what was before accounted for."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from functools import partial

import pytest

from callsheet.tasks.ledger.decisions import approve_retakes
from callsheet.tasks.ledger.deliveries import deliver
from callsheet.tasks.ledger.diff import diff_sheet
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.quotes import Quoted
from callsheet.tasks.ledger.takes import accept, refuse, settle
from callsheet.tasks.ledger.values import State
from tests.campaigns import NOW, VIDEO, Stage, brief, key_of, sums

AGAIN: list[State] = ["failed", "stalled", "delivered", "uncertain"]


async def retaken(stage: Stage) -> None:
    """Take the one row again."""
    wanted = [Quoted(await stage.row(), Decimal(12))]
    await stage.write(approve_retakes, wanted, by="Alice", because="the logo", at=NOW)


@pytest.mark.parametrize("state", AGAIN)
async def test_a_new_take_has_a_new_key_and_the_old_one_is_accounted_for(
    ledger: Ledger, state: State
):
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


@pytest.mark.parametrize("heard", HEARD_OF_THE_OLD_TAKE)
async def test_what_a_process_hears_of_an_old_take_moves_nothing_of_the_new_one(
    ledger: Ledger, heard: str
):
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


async def test_the_next_run_of_the_same_sheet_makes_it_and_does_not_take_it_back(
    ledger: Ledger, stage: Stage
):
    await stage.in_state("delivered")
    await retaken(stage)
    await stage.sync(brief())
    row = await stage.row()
    assert (row.state, row.nth) == ("approved", 2)
    found = await ledger.read(lambda c: [*diff_sheet(c, stage.campaign.id, [brief()])])
    assert [one.diff.action for one in found] == ["retake"]


async def test_a_create_refused_for_lack_of_credits_goes_out_under_its_key(stage: Stage):
    held = await stage.in_state("held")
    await retaken(stage)
    assert key_of(await stage.row()) == held.take.key
    assert (await stage.open(await stage.row())).number == 1


async def test_a_refused_brief_gets_another_key(stage: Stage):
    rejected = await stage.in_state("rejected")
    await retaken(stage)
    assert key_of(await stage.row()) != rejected.take.key


async def test_a_row_cancelled_before_it_began_has_its_first_key_still(stage: Stage):
    await stage.in_state("cancelled")
    await retaken(stage)
    assert (await stage.row()).nth == 1
