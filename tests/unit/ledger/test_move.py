"""The one guarded move: lawful, told in the history, and won by exactly one."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.moves import UnknownMove, move, remark
from callsheet.tasks.ledger.values import STATES, TRANSITIONS, State
from tests.campaigns import Stage


@pytest.mark.safeguard(
    "tasks/ledger/moves.py",
    'rows.c.state == bindparam("old"))',
    '(rows.c.state == bindparam("old")) | (rows.c.id > 0))',
)
async def test_moving_twice_is_a_no_op(ledger: Ledger, stage: Stage):
    row = await stage.row()
    named = {"at": 7.0, "reason": "why", "words": "12 credits"}
    assert await ledger.write(move, row=row, new="quoted", **named)
    for new in ("quoted", "retired"):
        assert not await stage.moved(row, new)
    moved = await stage.row()
    assert (moved.state, moved.since, moved.reason) == ("quoted", 7.0, "why")
    (event,) = await stage.events()
    assert (event.kind, event.old, event.new) == ("state", "planned", "quoted")
    assert (event.at, event.words) == (7.0, "12 credits")


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


def reached_from(state: State) -> set[State]:
    reached: set[State] = {state}
    for _ in STATES:
        reached |= {new for old in reached for new in TRANSITIONS[old]}
    return reached


@pytest.mark.parametrize("state", STATES)
def test_every_state_can_be_reached_and_leads_to_a_video(state: State):
    assert state in reached_from("planned")
    assert "delivered" in reached_from(state)
    assert TRANSITIONS[state], f"nothing leaves {state}"
    assert state not in TRANSITIONS[state]
