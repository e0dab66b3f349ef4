"""Events are told in their order and none is left out, whoever commits first."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import Connection, insert, select

from callsheet.tasks.ledger.database import ledger_url, make_engine
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.row_history import Horizon, events_between, horizon
from callsheet.tasks.ledger.schema import events
from tests.campaigns import NOW, Stage


@contextmanager
def writing(address: str) -> Iterator[Connection]:
    """Another program that writes to the ledger, and has not committed yet."""
    engine = make_engine(ledger_url(address), writes=True)
    try:
        with engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()


def add(connection: Connection, campaign_id: int, words: str) -> None:
    values = {"campaign_id": campaign_id, "at": NOW, "kind": "note", "words": words}
    connection.execute(insert(events).values(**values))


async def words_between(ledger: Ledger, campaign_id: int, after: int, upto: int) -> list[str]:
    named = {"campaign_id": campaign_id, "after": after, "upto": upto}
    return [event.words or "" for event in await ledger.read(events_between, **named)]


async def test_what_is_written_is_told_at_once_where_nobody_else_writes(
    ledger: Ledger, stage: Stage
):
    first = await ledger.read(horizon)
    assert first.told == first.newest > 0
    await stage.write(add, stage.campaign.id, "a")
    second = await ledger.read(horizon, before=first)
    assert await words_between(ledger, stage.campaign.id, first.told, second.told) == ["a"]
    assert await ledger.read(horizon, before=second) == second


@pytest.mark.parametrize("made_address", ["postgres"], indirect=True)
async def test_an_event_waits_for_one_before_it_that_is_not_committed_yet(
    ledger: Ledger, stage: Stage, made_address: str
):
    number = stage.campaign.id
    begin = await ledger.read(horizon)
    with writing(made_address) as late, writing(made_address) as other:
        add(late, number, "first")
        await stage.write(add, number, "second")
        known = await ledger.read(horizon, before=begin)
        assert known.told == begin.told < known.newest
        # Whoever comes after it need not be waited for.
        add(other, number, "third")
        known = await ledger.read(horizon, before=known)
        assert known.told == begin.told
        late.commit()
        known = await ledger.read(horizon, before=known)
        assert await words_between(ledger, number, begin.told, known.told) == ["first", "second"]
        last = known.told
        # Somebody who only now joins is told the same.
        fresh = await ledger.read(horizon, before=Horizon())
        assert fresh.told <= last
    known = await ledger.read(horizon, before=known)
    assert await words_between(ledger, number, last, known.told) == ["third"]


async def test_every_event_is_told_once_and_in_order_while_many_write(
    ledger: Ledger, stage: Stage, made_address: str
):
    number = stage.campaign.id
    begin = (await ledger.read(horizon)).told
    chance = random.Random(7)

    def write(name: int) -> None:
        engine = make_engine(ledger_url(made_address), writes=True)
        for _ in range(15):
            with engine.begin() as connection:
                for _ in range(chance.randint(1, 4)):
                    add(connection, number, str(name))
        engine.dispose()

    writers = [asyncio.create_task(asyncio.to_thread(write, n)) for n in range(4)]
    told: list[int] = []
    known, after = Horizon(), begin
    while True:
        done = all(writer.done() for writer in writers)
        known = await ledger.read(horizon, before=known)
        named = {"campaign_id": number, "after": after, "upto": known.told, "limit": 500}
        found = [event.id for event in await ledger.read(events_between, **named)]
        told += found
        after = max(after, known.told)
        if done and known.told == known.newest and not found:
            break
        await asyncio.sleep(0)
    await asyncio.gather(*writers)
    everything = select(events.c.id).where(events.c.id > begin).order_by(events.c.id)
    assert told == list(await ledger.read(lambda c: c.scalars(everything).all()))
    assert len(told) >= 60
