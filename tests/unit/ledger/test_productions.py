"""Workers claim rows of a production: nobody pays for what somebody else has claimed since."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest
from sqlalchemy import select

from callsheet.tasks.campaign.workers import check_workers
from callsheet.tasks.ledger.accounts import Terms
from callsheet.tasks.ledger.distributed_runs import (
    Headway,
    Production,
    begin_production,
    begin_worker,
    claim_rows,
    end_production,
    find_production,
    free_worker,
    headway_of,
    leave_rows,
    rely_on_hints,
    renew_worker,
    stop_production,
)
from callsheet.tasks.ledger.leases import find
from callsheet.tasks.ledger.ledger import Ledger, open_ledger
from callsheet.tasks.ledger.row_selection import rows_to_process
from callsheet.tasks.ledger.schema import rows
from callsheet.tasks.ledger.takes import open_take
from callsheet.tasks.runtime.errors import ConfigurationError, Parked
from callsheet.tasks.runtime.settings import load_settings
from tests.campaigns import NOW, Stage, brief, key_of
from tests.leasing import acquire_lease, let_lapse, take_over

#: Long enough for every test, and lapsed from the start.
LONG, LAPSED = 600.0, -1.0
OWNER = "workers:1"


@pytest.fixture
async def stage(ledger: Ledger) -> Stage:
    stage = await Stage.set(ledger)
    rows = ("a", "b", "c", "d", "e")
    await stage.sync(*map(brief, rows))
    for row in rows:
        await stage.approve(row)
    assert await stage.write(acquire_lease, stage.campaign, owner=OWNER) is None
    return stage


async def begin(stage: Stage, name: str = "1", size: int = 2, **own: object) -> Production:
    production = Production(
        id=name, campaign_id=stage.campaign.id, campaign=stage.campaign.name, owner=OWNER,
        workers=2, batch_size=size, organisation="o", store="s",
    )  # fmt: skip
    return await stage.write(begin_production, production, **own)


async def start(stage: Stage, production: Production, seconds: float = LONG) -> int:
    """Start a worker; return its number."""
    return await stage.write(begin_worker, production=production, seconds=seconds)


async def claim(stage: Stage, production: Production, worker: int, *, seconds: float = LONG):
    return await stage.write(claim_rows, production=production, worker=worker, seconds=seconds)


async def claimed(stage: Stage, production: Production, worker: int) -> list[str]:
    """Claim a batch; return the ids of its rows."""
    names = {row.id: row.row for row in await stage.rows()}
    return [names[number] for number in await claim(stage, production, worker)]


async def renew(stage: Stage, production: Production, worker: int) -> bool | None:
    return await stage.write(renew_worker, production=production, worker=worker, seconds=LONG)


async def intends(stage: Stage, row: str, worker: int) -> bool:
    """Whether a worker may pay for a row."""
    found = await stage.row(row)
    key = key_of(found)
    terms = Terms(owner=OWNER, claim=worker)
    take = await stage.write(
        open_take, row=found, key=key, body=found.body(key), at=NOW, terms=terms
    )
    return take is not None


@pytest.mark.safeguard(
    "tasks/ledger/distributed_runs.py",
    "rows.c.claim == production.free)\n    return (*free, rows",
    "rows.c.claim.is_not(None))\n    return (*free, rows",
)
async def test_each_row_is_claimed_once_in_the_order_of_the_sheet(stage: Stage):
    """What is under way goes first."""
    await stage.open(await stage.row("d"))
    production = await begin(stage)
    one, two = [await start(stage, production) for _ in "12"]
    assert one < two
    assert await claimed(stage, production, one) == ["d"]
    assert await claimed(stage, production, two) == ["a", "b"]
    assert await claimed(stage, production, one) == ["c", "e"]
    assert await claimed(stage, production, two) == []


async def test_who_claims_at_the_same_moment_gets_other_rows(stage: Stage, made_address: str):
    production = await begin(stage, size=1)

    async def one() -> list[int]:
        async with await open_ledger(made_address) as ledger:
            worker = await ledger.write(begin_worker, production=production, seconds=LONG)
            change = partial(claim_rows, production=production, worker=worker, seconds=LONG)
            found = [await ledger.write(change) for _ in range(3)]
        return [number for batch in found for number in batch]

    claimed_by = await asyncio.gather(*(one() for _ in range(4)))
    # Whoever meets only rows that are being claimed may be told that there are none.
    numbers = [number for found in claimed_by for number in found]
    assert len(numbers) == len(set(numbers))
    assert len(await one()) + len(numbers) == 5


@pytest.mark.safeguard(
    "tasks/ledger/takes.py", "if terms.claim is not None and claim != terms.claim:", "if False:"
)
async def test_rows_of_a_lease_that_lapsed_are_somebody_elses_and_the_old_number_pays_for_nothing(
    stage: Stage,
):
    production = await begin(stage)
    one = await start(stage, production)
    mine = await claim(stage, production, one, seconds=LAPSED)
    two = await start(stage, production)
    assert await claim(stage, production, two) == mine != ()

    assert not await intends(stage, "a", one)
    assert (await stage.row("a")).state == "approved"
    assert await renew(stage, production, one) is False
    assert await claim(stage, production, one) == ()
    assert await renew(stage, production, two) is True
    assert await intends(stage, "a", two)


async def test_a_lease_that_is_renewed_in_time_stays(stage: Stage):
    production = await begin(stage)
    one = await start(stage, production)
    assert await claim(stage, production, one, seconds=LAPSED)
    found = await stage.ledger.read(headway_of, production=production)
    assert found == Headway(5, held=False, claimable=True)
    before = (await stage.account()).lease
    # Nobody has asked for it meanwhile; it renews the campaign in the name of its run.
    assert await renew(stage, production, one) is True
    assert (await stage.account()).lease.until > before.until
    assert await claimed(stage, production, await start(stage, production)) == ["c", "d"]
    assert await intends(stage, "a", one)


async def test_what_is_let_go_of_is_claimed_again_and_what_is_left_is_not(stage: Stage):
    production = await begin(stage)
    one, two = [await start(stage, production) for _ in "12"]
    resting = await claim(stage, production, one)
    await stage.write(leave_rows, production, resting, worker=one)
    assert await claimed(stage, production, one) == ["c", "d"]
    assert await stage.write(free_worker, production, worker=one) == 2
    assert await claimed(stage, production, two) == ["c", "d"]
    assert await claimed(stage, production, two) == ["e"]
    assert await claimed(stage, production, two) == []


async def test_a_production_that_is_stopped_or_over_gives_nothing_away(stage: Stage):
    production = await begin(stage)
    one = await start(stage, production)
    await stage.write(stop_production, production.id, because="enough", until=5.0)
    await stage.write(stop_production, production.id, because="later", until=6.0)
    assert await claimed(stage, production, one) == []
    await stage.write(rely_on_hints, production.id, rely=True)
    found = await stage.ledger.read(find_production, production_id=production.id)
    assert (found.stopped, found.stopped_until, found.hinted) == ("enough", 5.0, True)

    other = await begin(stage, "2")
    two = await start(stage, other)
    await stage.write(end_production, other.id)
    assert await claimed(stage, other, two) == []


@pytest.mark.safeguard(
    "tasks/ledger/distributed_runs.py",
    "if not renew(connection, campaign, owner=production.owner, seconds=seconds):",
    "if False:",
)
async def test_whoever_has_the_campaign_now_ends_what_workers_of_before_may_do(stage: Stage):
    production = await begin(stage)
    one = await start(stage, production)
    assert await claim(stage, production, one)
    await begin(stage, "2")
    # The rows are another production's, whether the old one knows it or not.
    assert not await intends(stage, "a", one)

    await stage.write(take_over, stage.campaign, owner="somebody")
    assert await renew(stage, production, one) is None


@pytest.mark.safeguard(
    "tasks/ledger/distributed_runs.py",
    "if not owns(connection, production.campaign_id, production.owner):",
    "if False:",
)
async def test_a_run_that_lost_its_campaign_begins_no_production(stage: Stage):
    await stage.write(take_over, stage.campaign, owner="another run")
    with pytest.raises(Parked, match="another run has taken the lease of campaign spring"):
        await begin(stage)
    assert await stage.ledger.read(find_production, production_id="1") is None
    states = await stage.ledger.read(lambda c: c.execute(select(rows.c.claim)).scalars().all())
    assert set(states) == {None}


async def test_the_lease_of_a_worker_is_for_all_its_rows(stage: Stage):
    production = await begin(stage)
    one, two = [await start(stage, production) for _ in "12"]
    assert [len(await claim(stage, production, one)) for _ in "12"] == [2, 2]
    await stage.write(let_lapse, f"worker:{production.id}:{one}")
    # What has lapsed is free: in the order of the sheet.
    assert await claimed(stage, production, two) == ["a", "b"]
    for row in "abcde":
        assert await intends(stage, row, two) == (row in "ab")
        assert not await intends(stage, row, one)
    await stage.write(end_production, production.id)
    assert await stage.ledger.read(find, name=f"worker:{production.id}:{two}") is None


POSTGRES, SQLITE = "postgresql://host/database", "sqlite:////var/ledger.db"
NEEDS = [(0, POSTGRES, "not 0"), (101, POSTGRES, "from 1 to 100"), (4, SQLITE, "is a file on one")]


@pytest.mark.parametrize(("count", "address", "words"), NEEDS)
def test_what_workers_need_is_said(count: int, address: str, words: str):
    settings = load_settings(environ={"CALLSHEET_LEDGER": address})
    with pytest.raises(ConfigurationError, match=words):
        check_workers(count, settings)


async def test_workers_take_rows_in_the_order_of_a_run_in_one_process(stage: Stage):
    terms = {
        "b": {"deliver_by": NOW + 2}, "c": {"priority": 1}, "d": {"deliver_by": NOW + 1},
        "e": {"priority": 1, "deliver_by": NOW + 3},
    }  # fmt: skip
    await stage.sync(*(brief(row, **terms.get(row, {})) for row in "abcde"))
    production = await begin(stage, size=3)
    read = partial(rows_to_process, campaign_id=stage.campaign.id)
    alone = await stage.ledger.read(lambda connection: [one.row for one in read(connection)])
    workers = [await start(stage, production) for _ in "12"]
    shared = [row for worker in workers for row in await claimed(stage, production, worker)]
    assert shared == alone == ["e", "c", "d", "b", "a"]
