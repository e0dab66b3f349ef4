"""Events are told in their order and none is left out, whoever commits first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import Connection, insert

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
