"""What a person decides about an uncertain row: the video, another take, or neither."""

from __future__ import annotations

import asyncio
from decimal import Decimal

import pytest

from callsheet.tasks.ledger.decisions import adopt_video, give_up
from callsheet.tasks.ledger.ledger import Ledger, open_ledger
from callsheet.tasks.ledger.values import takes_of
from callsheet.tasks.ledger.webhook_events import tracked_videos
from tests.campaigns import NOW, Stage, brief, key_of


async def uncertain(ledger: Ledger) -> Stage:
    stage = await Stage.set(ledger, brief(), budget=100)
    await stage.in_state("uncertain")
    return stage


async def test_an_adopted_video_is_watched_and_its_money_stays_set_aside(ledger: Ledger):
    stage = await uncertain(ledger)
    row = await stage.row()
    assert await stage.write(adopt_video, row, row.take, video_id="vid_7", at=NOW)
    found = await stage.row()
    assert (found.state, found.take.video_id, found.take.reserved) == ("rendering", "vid_7", 12)
    (known,) = await ledger.read(tracked_videos, videos=["vid_7"])
    assert (known.campaign, known.row) == ("spring", "a")
    assert not await stage.write(adopt_video, row, row.take, video_id="vid_8", at=NOW)


async def test_of_two_rows_that_are_given_one_video_at_once_one_gets_it(
    ledger: Ledger, made_address: str
):
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


async def test_another_take_has_a_new_key_and_the_old_one_counts_as_paid(ledger: Ledger):
    stage = await uncertain(ledger)
    row = await stage.row()
    given = {"charged": row.take.reserved, "again": True, "at": NOW}
    assert await stage.write(give_up, row, row.take, **given)
    again = await stage.row()
    assert (again.state, again.nth, again.quoted) == ("planned", 2, None)
    assert key_of(again) != row.take.key
    account = await stage.account()
    assert (account.reserved, account.charged) == (0, 12)
    assert not await stage.write(give_up, row, row.take, **given)
    await stage.submitting()
    assert (await stage.row()).take.number == 2


async def test_a_person_may_know_what_it_cost(ledger: Ledger):
    stage = await uncertain(ledger)
    row = await stage.row()
    await stage.write(give_up, row, row.take, charged=Decimal(0), again=False, at=NOW)
    assert (await stage.row()).state == "cancelled"
    account = await stage.account()
    assert (account.reserved, account.charged) == (0, 0)


@pytest.mark.parametrize("again", [True, False])
async def test_a_take_that_was_given_up_is_not_taken_up_again_by_the_sheet(
    ledger: Ledger, again: bool
):
    stage = await uncertain(ledger)
    row = await stage.row()
    await stage.write(give_up, row, row.take, charged=Decimal(12), again=again, at=NOW)
    await stage.sync(brief(topic="Coffee"))
    await stage.sync(brief())
    back = await stage.row()
    assert (back.state, back.nth) == ("planned", 2)
    await stage.submitting()
    keys = [take.key for _, take in await ledger.read(lambda c: takes_of(c, stage.campaign.id))]
    assert len(keys) == len(set(keys)) == 2
