"""Writes share commits, fail alone, and are never lost once they were handed over."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from sqlalchemy import event, func, select, text

from callsheet.tasks.ledger.accounts import AtLimit, Terms
from callsheet.tasks.ledger.campaigns import all_campaigns, ensure_campaign
from callsheet.tasks.ledger.ledger import Ledger, open_ledger
from callsheet.tasks.ledger.moves import note, remark
from callsheet.tasks.ledger.schema import campaigns, events, leases
from callsheet.tasks.ledger.takes import settle
from callsheet.tasks.runtime.errors import LedgerError
from tests.campaigns import NOW, Stage, brief, sums
from tests.leasing import acquire_lease
from tests.unit.ledger.on_terms import account_sums, open_on


def campaign(name: str):
    return partial(ensure_campaign, name=name, sheet="s.csv", sheet_digest="d", at=1.0)


def names(connection) -> set[str]:
    return {found.name for found in all_campaigns(connection)}


async def test_a_change_that_fails_takes_no_other_along(ledger: Ledger):
    def broken(connection):
        campaign("broken")(connection)
        raise ValueError("no")

    def refused(connection):
        connection.execute(text("SELECT * FROM nothing"))

    changes = [campaign("a"), broken, campaign("b"), refused, campaign("c")]
    ended = await asyncio.gather(*map(ledger.write, changes), return_exceptions=True)
    assert (type(ended[1]), isinstance(ended[3], LedgerError)) == (ValueError, True)
    assert await ledger.read(names) == {"a", "b", "c"}


async def test_somebody_who_is_cancelled_does_not_take_the_change_back(ledger: Ledger):
    gate = threading.Event()

    def slow(connection):
        gate.wait(5)
        return campaign("slow")(connection)

    waiting = asyncio.create_task(ledger.write(slow))
    await asyncio.sleep(0.02)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    gate.set()
    await ledger.write(campaign("next"))
    assert await ledger.read(names) == {"slow", "next"}


async def test_a_closed_ledger_says_so_instead_of_waiting_for_ever(ledger: Ledger):
    await ledger.aclose()
    await ledger.aclose()
    for late in (ledger.write(campaign("late")), ledger.read(names)):
        with pytest.raises(LedgerError, match="closed"):
            await asyncio.wait_for(late, 5)


async def books_balance(stage: Stage) -> None:
    account = await stage.ledger.read(lambda c: sums(c, stage.campaign.id))
    assert account[:2] == account[2:]
    for found, summed in await stage.ledger.read(account_sums):
        assert (found.reserved, found.charged) == summed, found


def no(_: Any) -> None:
    raise ValueError("no")


async def in_one_group(ledger: Ledger, *writes: Coroutine[Any, Any, Any]) -> list[Any]:
    """Have writes wait for one that is under way, to share the commit after it."""
    busy = threading.Event()
    first = asyncio.create_task(ledger.write(lambda _: busy.wait(10)))
    # Until its commit has begun, the others would join it.
    await asyncio.sleep(0.05)
    tasks = [asyncio.create_task(write) for write in writes]
    await asyncio.sleep(0)
    busy.set()
    return (await asyncio.gather(first, *tasks, return_exceptions=True))[1:]


async def in_one_group_with(stage: Stage, terms: Terms, beside: Callable[[Any], object]) -> str:
    """Open rows of 12, 12 and 8 credits and make one more change; return the states they get."""
    found = [await stage.approve(*row) for row in (("a", 12), ("b", 12), ("c", 8))]
    opens = [open_on(stage, row, terms) for row in found]
    await in_one_group(stage.ledger, *opens, stage.ledger.write(beside))
    return " ".join([row.state for row in await stage.rows()])


AT_LIMIT: Any = pytest.mark.parametrize(
    ("at_limit", "states"),
    [("stop", "submitting held held"), ("fit", "submitting held submitting")],
)


@pytest.mark.safeguard(
    "tasks/ledger/accounts.py",
    "on_rollback(connection, partial(terms.full.pop, this))",
    "on_rollback(connection, partial(terms.full.get, this))",
)
@AT_LIMIT
async def test_rows_beside_a_change_that_fails_are_held_for_what_stands_alone(
    ledger: Ledger, at_limit: AtLimit, states: str
):
    """The group's first try is taken back, and with it that b did not fit beside a."""
    stage = await Stage.set(ledger, *map(brief, "abc"))
    tried: list[str] = []

    def broken(connection) -> None:
        tried.append("once more")
        no(connection)

    terms = Terms(day_budget=Decimal(20), at_limit=at_limit)
    assert await in_one_group_with(stage, terms, broken) == states
    assert len(tried) == 2, "it was in a group, and then alone"


@AT_LIMIT
async def test_rows_of_one_group_share_what_fits_as_they_would_one_by_one(ledger, at_limit, states):
    stage = await Stage.set(ledger, *map(brief, "abc"), budget=20)
    terms = Terms(day_budget=Decimal(24), run="r1", run_budget=Decimal(24), at_limit=at_limit)
    assert await in_one_group_with(stage, terms, names) == states
    reason = (await stage.row("b")).reason or ""
    assert reason.startswith("needs 12 credits, and 8 of the 20 credits of the campaign's")
    await books_balance(stage)


@pytest.mark.safeguard(
    "tasks/ledger/statements.py",
    "gathering.write(connection)\n            results",
    "pass\n            results",
)
async def test_events_of_a_group_keep_the_order_of_its_changes(ledger: Ledger):
    stage = await Stage.set(ledger, *map(brief, "abc"))
    a, b, c = await stage.rows()

    def unmarked(connection) -> None:
        note(connection, b, "note", "second", at=NOW)

    changes = (
        partial(remark, row=a, words="first", at=NOW),
        unmarked,
        partial(remark, row=c, words="third", at=NOW),
    )
    await in_one_group(ledger, *map(ledger.write, changes))
    said = select(events.c.words).where(events.c.kind != "campaign").order_by(events.c.id)
    assert await ledger.read(lambda k: list(k.scalars(said))) == ["first", "second", "third"]


async def opened(stage: Stage, terms: Terms) -> list[bool]:
    rows = [row for row in await stage.rows() if row.state == "approved"]
    return [
        took is not None
        for took in await asyncio.gather(*(open_on(stage, row, terms) for row in rows))
    ]


@pytest.mark.parametrize("price", [12, 0])
async def test_a_commit_that_is_overtaken_begins_nothing(ledger: Ledger, made_address: str, price):
    """Another run takes the campaign while a commit of this one is about to end."""
    if ledger.reader.dialect.name != "postgresql":
        pytest.skip("SQLite has one writer: nobody overtakes it")
    stage = await Stage.set(ledger, *map(brief, "abc"))
    await stage.open(await stage.approve("a"))
    for row in "bc":
        await stage.approve(row, price)
    change = partial(acquire_lease, campaign=stage.campaign)
    await ledger.write(change, owner="mine")
    async with await open_ledger(made_address) as other:
        taken: list[Any] = []

        def take_it(_: Any, __: Any, statement: str, *___: Any) -> None:
            if statement.startswith("UPDATE accounts") and not taken:
                taken.append(other)
                with other._writer.begin() as connection:
                    connection.execute(leases.update().values(owner="theirs"))

        event.listen(ledger._writer, "before_cursor_execute", take_it)
        assert await opened(stage, Terms(owner="mine")) == [False, False]
        event.remove(ledger._writer, "before_cursor_execute", take_it)
    assert taken
    assert (await stage.account()).reserved == 12
    assert {(await stage.row(row)).state for row in "bc"} == {"approved"}


@pytest.mark.parametrize("made_address", ["postgres"], indirect=True)
async def test_two_ledgers_that_lock_each_other_out_are_both_let_through(ledger, made_address):
    """PostgreSQL takes one of two deadlocked transactions back: it is run again."""
    for name in ("a", "b"):
        await ledger.write(campaign(name))
    both = threading.Barrier(2, timeout=1)

    def cross(first: str, second: str):
        def change(connection) -> None:
            for name in (first, second):
                this, more = campaigns.c.name == name, campaigns.c.charged + 1
                connection.execute(campaigns.update().where(this).values(charged=more))
                if name == first:
                    with contextlib.suppress(threading.BrokenBarrierError):
                        both.wait()

        return change

    async with await open_ledger(made_address) as other:
        await asyncio.gather(ledger.write(cross("a", "b")), other.write(cross("b", "a")))
    total = select(func.sum(campaigns.c.charged))
    assert await ledger.read(lambda c: c.scalar(total)) == 4


async def test_a_charge_beyond_its_quote_takes_nothing_back_that_the_group_set_aside(
    ledger: Ledger,
):
    """In all they pass the budget, which only setting aside may not: each is tried alone."""
    stage = await Stage.set(ledger, *map(brief, "abc"), budget=30)
    a = await stage.rendering("a", 12)
    found = [await stage.approve(row, 8) for row in "bc"]
    dear = stage.write(settle, a, a.take, new="ready", charged=Decimal(20), at=NOW)
    await in_one_group(ledger, *(open_on(stage, row, Terms()) for row in found), dear)
    assert [row.state for row in await stage.rows()] == ["ready", "submitting", "submitting"]
    account = await ledger.read(lambda c: sums(c, stage.campaign.id))
    assert account == (16_000_000, 20_000_000, 16_000_000, 20_000_000)
