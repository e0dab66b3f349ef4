"""The one guarded move: lawful, told in the history, and won by exactly one."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from dataclasses import replace
from functools import partial

import pytest

from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.moves import UnknownMove, move, remark
from callsheet.tasks.ledger.values import STATES, TRANSITIONS, State
from tests.campaigns import Stage, brief


async def test_it_moves_the_row_and_writes_the_event(ledger: Ledger, stage: Stage):
    row = await stage.row()
    change = partial(move, row=row, new="quoted", at=7.0)
    assert await ledger.write(change, reason="why", words="12 credits")
    moved = await stage.row()
    assert (moved.state, moved.since, moved.reason) == ("quoted", 7.0, "why")
    (event,) = await stage.events()
    assert (event.kind, event.old, event.new) == ("state", "planned", "quoted")
    assert (event.at, event.words) == (7.0, "12 credits")


async def test_moving_twice_is_a_no_op(stage: Stage):
    row = await stage.row()
    assert await stage.moved(row, "quoted")
    assert not await stage.moved(row, "quoted")
    assert len(await stage.events()) == 1


async def test_a_row_that_is_elsewhere_by_now_is_left_alone(stage: Stage):
    row = await stage.row()
    await stage.moved(row, "quoted")
    assert not await stage.moved(row, "retired")
    assert (await stage.row()).state == "quoted"


async def test_a_failure_after_the_move_takes_row_and_event_back(ledger: Ledger, stage: Stage):
    row = await stage.row()

    def broken(connection):
        assert move(connection, row, "quoted", at=1)
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await ledger.write(broken)
    assert (await stage.row()).state == "planned"
    assert await stage.events() == []


async def test_a_move_that_no_life_has_is_refused(stage: Stage):
    with pytest.raises(UnknownMove, match="planned to ready"):
        await stage.moved(await stage.row(), "ready")
    assert (await stage.row()).state == "planned"


async def test_a_remark_stands_beside_the_row_and_in_its_history(ledger: Ledger, stage: Stage):
    row = await stage.row()
    change = partial(remark, at=2.0)
    assert await ledger.write(change, row=row, words="look")
    assert not await ledger.write(change, row=replace(row, state="ready"), words="never")
    assert (await stage.row()).reason == "look"
    assert [event.words for event in await stage.events()] == ["look"]


async def test_words_that_no_database_takes_are_kept_readable(stage: Stage):
    await stage.moved(await stage.row(), "held", "a\0b \ud83d c é 😀")
    assert (await stage.row()).reason == "a\ufffdb ? c é 😀"


@pytest.mark.parametrize("state", STATES)
def test_every_state_can_be_reached_and_left(state: State):
    reached, found = {"planned"}, {"planned"}
    while found:
        found = {new for old in found for new in TRANSITIONS[old]} - reached  # type: ignore[index]
        reached |= found
    assert state in reached
    assert TRANSITIONS[state], f"nothing leaves {state}"
    assert state not in TRANSITIONS[state]
    assert TRANSITIONS.keys() == set(STATES)


@pytest.mark.parametrize("state", STATES)
def test_from_every_state_a_video_can_still_be_delivered(state: State):
    reached: set[State] = {state}
    for _ in STATES:
        reached |= {new for old in reached for new in TRANSITIONS[old]}
    assert "delivered" in reached


_RACE = """
import asyncio, sys
from functools import partial
from callsheet.tasks.ledger.moves import move
from callsheet.tasks.ledger.ledger import open_ledger
from callsheet.tasks.ledger.values import rows_of
async def main():
    async with await open_ledger(sys.argv[1]) as ledger:
        rows = await ledger.read(partial(rows_of, campaign_id=1))
        print("ready", flush=True)
        sys.stdin.readline()
        won = [await ledger.write(partial(move, row=row, new="quoted", at=1.0)) for row in rows]
        print(*(int(one) for one in won))
asyncio.run(main())
"""


@pytest.mark.merge
async def test_of_two_processes_that_race_for_a_row_exactly_one_wins(
    ledger: Ledger, made_address: str
):
    stage = await Stage.set(ledger, *(brief(f"r{n}") for n in range(30)))
    assert [row.id for row in await stage.rows()] == list(range(1, 31))
    command = [sys.executable, "-c", _RACE, made_address]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    programs = [subprocess.Popen(command, text=True, **pipes) for _ in range(2)]  # noqa: ASYNC220
    for program in programs:
        assert program.stdout.readline() == "ready\n"
    for program in programs:
        program.stdin.write("go\n")
        program.stdin.flush()
    ended = await asyncio.gather(*(asyncio.to_thread(p.communicate, timeout=30) for p in programs))
    first, second = ([int(one) for one in out.split()] for out, _ in ended)
    assert [a + b for a, b in zip(first, second, strict=True)] == [1] * 30
    assert all([len(await stage.events(row.row)) == 1 for row in await stage.rows()])
