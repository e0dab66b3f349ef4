"""Paid calls without a key: at most one is open for a target, and each is settled once."""

from __future__ import annotations

import asyncio
from functools import partial

from callsheet.tasks.ledger.ledger import Ledger, open_ledger
from callsheet.tasks.ledger.service_state import (
    close_call,
    drop_call,
    join_call,
    note_videos,
    open_call,
    resolve_call,
    unsettled_calls,
    videos_known,
)
from callsheet.tasks.ledger.takes import accept, open_take, refuse
from tests.campaigns import NOW, Stage, brief, key_of

ORG = "org"
OPEN = {"organisation": ORG, "operation": "image-to-video", "body": b"{}", "at": NOW}


async def open_one(ledger: Ledger, **more) -> int | None:
    return await ledger.write(open_call, **(OPEN | more))


async def unsettled(ledger: Ledger, organisation: str | None = ORG) -> list:
    return await ledger.read(unsettled_calls, organisation=organisation)


async def test_one_call_is_open_for_a_target_at_a_time(ledger: Ledger):
    first = await open_one(ledger)
    assert first is not None
    assert await open_one(ledger) is None
    assert await open_one(ledger, target="vid_1") is not None
    assert await open_one(ledger, organisation="another") is not None
    assert await ledger.write(close_call, call_id=first, outcome="made", at=NOW)
    assert await open_one(ledger) not in (None, first)


async def test_of_two_processes_one_opens_the_call(ledger: Ledger, made_address: str):
    async with await open_ledger(made_address) as other:
        opened = await asyncio.gather(*(open_one(door) for door in (ledger, other) * 5))
    assert len([number for number in opened if number is not None]) == 1


async def test_a_call_that_was_not_sent_after_all_leaves_nothing(ledger: Ledger):
    def change(connection):
        drop_call(connection, open_call(connection, **OPEN))

    await ledger.write(change)
    assert await unsettled(ledger) == []
    assert await open_one(ledger) is not None


async def test_an_unknown_outcome_stays_until_a_person_settles_it(ledger: Ledger):
    number = await open_one(ledger)
    await ledger.write(close_call, call_id=number, outcome="unknown", at=NOW)
    (call,) = await unsettled(ledger)
    assert (call.id, call.outcome, call.row) == (number, "unknown", None)
    assert await ledger.write(resolve_call, call_id=number, at=NOW, video_id="vid_1")
    assert not await ledger.write(resolve_call, call_id=number, at=NOW)
    assert await unsettled(ledger) == []


async def test_a_call_is_closed_once(ledger: Ledger):
    number = await open_one(ledger)
    assert await ledger.write(close_call, call_id=number, outcome="refused", at=NOW)
    assert not await ledger.write(close_call, call_id=number, outcome="made", at=NOW)


async def taken(stage: Stage, row: str):
    """Send a row's call as the engine does: intent and take in one transaction."""
    approved = await stage.approve(row)

    def change(connection):
        number = open_call(connection, **OPEN)
        take = open_take(connection, approved, key=key_of(approved), body=b"{}", at=NOW)
        join_call(connection, number, take_id=take.id)

    await stage.ledger.write(change)
    return await stage.row(row)


async def test_the_answer_to_a_take_closes_its_call(ledger: Ledger):
    stage = await Stage.set(ledger, brief(operation="image-to-video"))
    row = await taken(stage, "a")
    (call,) = await unsettled(ledger, None)
    assert (call.campaign, call.row) == ("spring", "a")
    await stage.write(accept, row, row.take, video_id="vid_1", at=NOW)
    assert await unsettled(ledger) == []


async def test_a_call_that_never_left_lets_the_row_be_sent_again(ledger: Ledger):
    stage = await Stage.set(ledger, brief(operation="image-to-video"))
    row = await taken(stage, "a")
    await stage.write(refuse, row, row.take, new="approved", reason="not sent", at=NOW)
    again = await stage.row()
    assert (again.state, again.take.refused_at, again.take.reserved) == ("approved", NOW, 0)
    assert (await stage.account()).reserved == 0

    def change(connection):
        number = open_call(connection, **OPEN)
        take = open_take(connection, again, key=key_of(again), body=b"{}", at=NOW + 1)
        join_call(connection, number, take_id=take.id)
        return take

    take = await ledger.write(change)
    assert (take.id, take.number) == (row.take.id, 1)
    assert (await stage.account()).reserved == 12


async def test_what_was_there_before_a_call_is_told_from_what_came_after(ledger: Ledger):
    note = partial(note_videos, organisation=ORG)
    await ledger.write(note, video_ids=["vid_1", "vid_2", "vid_1"], at=NOW)
    await ledger.write(note, video_ids=["vid_2", "vid_3"], at=NOW + 10)
    known = partial(videos_known, organisation=ORG)
    assert await ledger.read(known, before=NOW) == {"vid_1", "vid_2"}
    assert await ledger.read(known, before=NOW + 10) == {"vid_1", "vid_2", "vid_3"}
    assert await ledger.read(videos_known, organisation="x", before=NOW) == set()


async def test_a_video_of_ours_is_never_what_another_call_made(ledger: Ledger):
    stage = await Stage.set(ledger, brief(operation="image-to-video"), brief("b", "Coffee"))
    row = await taken(stage, "a")
    await stage.write(accept, row, row.take, video_id="vid_ours", at=NOW)
    assert "vid_ours" in await ledger.read(videos_known, organisation=ORG, before=0)
