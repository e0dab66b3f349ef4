"""A lease has one owner at a time, on the database's clock; what it guards is refused to others."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from callsheet.tasks.ledger import leases
from callsheet.tasks.ledger.ledger import Ledger, open_ledger
from tests.leasing import let_lapse

NAME = "night:spring"


async def take(ledger: Ledger, owner: str, *, seconds: float = 60.0, **own: Any) -> leases.Lease:
    return await ledger.write(leases.acquire, name=NAME, owner=owner, seconds=seconds, **own)


async def look(ledger: Ledger) -> leases.Lease:
    found = await ledger.read(leases.find, name=NAME)
    assert found is not None
    return found


@pytest.mark.safeguard(
    "tasks/ledger/leases.py", "or_(leases.c.owner.is_(None), mine, leases.c.until <= now)", "True"
)
async def test_it_has_one_owner_until_it_lapses(ledger: Ledger) -> None:
    assert await ledger.read(leases.find, name=NAME) is None
    mine = await take(ledger, "Ann")
    assert (mine.owner, mine.token, mine.is_live) == ("Ann", 1, True)
    assert mine.until == pytest.approx(mine.since + 60.0, abs=1e-3)
    assert await take(ledger, "Bob") == mine
    assert await take(ledger, "Bob", is_dead=lambda owner: owner == "Carol") == mine
    assert (await take(ledger, "Bob", is_dead=lambda owner: owner == "Ann")).token == 2
    await ledger.write(leases.release, name=NAME, owner="Bob")
    mine = await take(ledger, "Ann")

    await ledger.write(let_lapse, name=NAME)
    assert replace(await look(ledger), until=mine.until) == replace(mine, is_live=False)
    theirs = await take(ledger, "Bob")
    assert (theirs.owner, theirs.token) == ("Bob", 4)


async def test_its_owner_renews_it_and_keeps_since_when(ledger: Ledger) -> None:
    mine = await take(ledger, "Ann", seconds=30.0)
    again = await take(ledger, "Ann")
    assert (again.since, again.token, again.until > mine.until) == (mine.since, 1, True)
    change = partial(leases.renew, name=NAME, seconds=600.0)
    assert await ledger.write(change, owner="Ann")
    assert (await look(ledger)).until > again.until
    assert not await ledger.write(change, owner="Bob")


@pytest.mark.safeguard(
    "tasks/ledger/leases.py",
    "return this if token is None else (*this, leases.c.token == token)",
    "return this",
)
async def test_one_that_lapsed_is_renewed_unless_another_had_it(ledger: Ledger) -> None:
    mine = await take(ledger, "Ann", seconds=-1.0)
    change = partial(leases.renew, name=NAME, owner="Ann", token=mine.token)
    assert await ledger.write(change, seconds=-1.0)
    await take(ledger, "Bob")
    await ledger.write(leases.release, name=NAME, owner="Bob")
    # It is free, and Ann may acquire it anew: not go on as if nothing had happened.
    assert not await ledger.write(change, seconds=60.0)
    assert (await take(ledger, "Ann")).token == 3
    assert not await ledger.write(change, seconds=60.0)


async def test_of_many_who_want_it_one_gets_it(ledger: Ledger, made_address: str) -> None:
    """Several in one name all have it."""
    async with await open_ledger(made_address) as other:
        doors = enumerate([ledger, other] * 10)
        found = await asyncio.gather(*(take(which, f"{n % 5}") for n, which in doors))
    assert {lease.token for lease in found} == {1}
    assert len({lease.owner for lease in found}) == 1


@pytest.mark.safeguard(
    "tasks/ledger/leases.py",
    "*_owned(name, owner, token)).with_for_update(read=True)",
    "*_owned(name, owner, token))",
)
async def test_it_is_not_taken_before_what_it_guards_is_committed(ledger, made_address):
    if ledger.reader.dialect.name != "postgresql":
        pytest.skip("SQLite has one writer: nobody overtakes it")
    await take(ledger, "Ann", seconds=-1.0)
    order: list[str] = []
    async with await open_ledger(made_address) as other:
        with other._writer.begin() as guarded:
            assert await asyncio.to_thread(leases.holds, guarded, NAME, owner="Ann")
            waiting = asyncio.create_task(take(ledger, "Bob"))
            waiting.add_done_callback(lambda _: order.append("taken"))
            done, _ = await asyncio.wait([waiting], timeout=0.3)
            assert not done
            order.append("committed")
        await waiting
    assert order == ["committed", "taken"]


@pytest.mark.safeguard("tasks/ledger/dialect.py", "clock_timestamp()", "now()")
async def test_the_database_tells_the_time(ledger: Ledger) -> None:
    assert abs(await ledger.read(leases.database_now) - time.time()) < 60
    # Not the beginning of a transaction, in which others may wait for long.
    with ledger._writer.begin() as connection:
        first = leases.database_now(connection)
        await asyncio.sleep(0.02)
        assert leases.database_now(connection) > first
