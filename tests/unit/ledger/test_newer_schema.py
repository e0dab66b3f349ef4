"""A ledger of another release: worked with, upgraded beside whoever is at work, or refused."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import Engine

from callsheet.tasks.ledger.backup import back_up
from callsheet.tasks.ledger.campaigns import all_campaigns, ensure_campaign, find_campaign
from callsheet.tasks.ledger.database import ledger_url, make_engine, order_of
from callsheet.tasks.ledger.distributed_runs import renew_batches
from callsheet.tasks.ledger.ledger import Ledger, open_ledger
from callsheet.tasks.ledger.maintenance import check_ledger, upgrade_ledger
from callsheet.tasks.ledger.migrate import TRIES, schema_of, upgrade
from callsheet.tasks.ledger.schema import FIRST, REVISION
from callsheet.tasks.runtime.errors import LedgerError, LedgerNewer
from tests.campaigns import Stage, brief
from tests.databases import PostgresServer
from tests.leasing import acquire_lease
from tests.unit.ledger.test_migrations import CAMPAIGN, make_older
from tests.unit.ledger.test_opening import run
from tests.unit.ledger.test_productions import OWNER, begin

LEASE = "INSERT INTO leases (name, owner, since, until, token) VALUES ('campaign:1', 'me', 1"
NOTED = "UPDATE callsheet_version SET version_num = '{}', works_with = {}, said_by = {}"
#: What a newer ledger says, and whether this program works with it.
NEWER: Mapping[str, tuple[str, str, str, bool]] = {
    "it works with this one": ("9001", f"'{REVISION}'", "'9001'", True),
    "it works with older ones, too": ("9001", f"'{FIRST}'", "'9001'", True),
    "it works with its own release alone": ("9001", "'9001'", "'9001'", False),
    "it works with a release between": ("9002", "'9001'", "'9002'", False),
    "it says nothing": ("9001", "NULL", "NULL", False),
    "an earlier schema said so": ("9001", f"'{REVISION}'", f"'{REVISION}'", False),
    "its number is longer": ("10001", f"'{REVISION}'", "'10001'", True),
    "its number is none of ours": ("1975ea83b712", "NULL", "NULL", False),
}


@pytest.mark.parametrize("what", NEWER)
async def test_a_newer_ledger_is_worked_with_where_it_says_so(
    made_ledger: Path, tmp_path: Path, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    number, works_with, said_by, works = NEWER[what]
    (tmp_path / "l.db").write_bytes(made_ledger.read_bytes())
    address = f"sqlite:///{tmp_path / 'l.db'}"
    run(address, NOTED.format(number, works_with, said_by))
    there = partial(ensure_campaign, name="spring", sheet="s", sheet_digest="d", at=1.0)
    with caplog.at_level(logging.INFO, "callsheet.ledger"):
        for _ in range(2):
            if works:
                async with await open_ledger(address, create=False) as ledger:
                    await ledger.write(there)
                    assert len(await ledger.read(all_campaigns)) == 1
            else:
                with pytest.raises(LedgerNewer, match="which is newer than this Callsheet knows"):
                    await open_ledger(address)
    assert sum(f"the ledger is newer ({number})" in one for one in caplog.messages) <= 1
    assert schema_of(address).number == number


def test_schemas_are_compared_as_numbers() -> None:
    assert order_of("0016") < order_of("0017") < order_of("9999") < order_of("10000")


async def test_who_is_at_work_begins_nothing_after_an_upgrade_past_it(made_address: str) -> None:
    async with await open_ledger(made_address) as ledger:
        named = {"sheet": "s", "sheet_digest": "d", "at": 1.0}
        campaign = await ledger.write(partial(ensure_campaign, name="spring", **named))
        lease = partial(acquire_lease, campaign=campaign, owner="me")
        run(made_address, NOTED.format("9001", f"'{REVISION}'", "'9001'"))
        assert await ledger.write(lease) is None
        before = await ledger.read(partial(find_campaign, name="spring"))
        run(made_address, NOTED.format("9002", "'9001'", "'9002'"))
        with pytest.raises(LedgerNewer):
            await ledger.write(lease)
        found = await ledger.read(partial(find_campaign, name="spring"))
        run(made_address, NOTED.format(REVISION, f"'{REVISION}'", f"'{REVISION}'"))
    assert found == before


async def test_a_worker_renews_nothing_after_an_upgrade_past_it(ledger: Ledger) -> None:
    stage = await Stage.set(ledger, brief())
    await stage.write(acquire_lease, stage.campaign, owner=OWNER)
    worker = {"production": await begin(stage), "holder": "one", "seconds": 9.0}
    with_next = NOTED.format("9002", "'9001'", "'9002'")
    await ledger.write(lambda connection: connection.exec_driver_sql(with_next))
    try:
        with pytest.raises(LedgerNewer):
            await stage.write(renew_batches, **worker)
    finally:
        as_it_was = NOTED.format(REVISION, f"'{REVISION}'", f"'{REVISION}'")
        await ledger.write(lambda connection: connection.exec_driver_sql(as_it_was))
    assert await stage.write(renew_batches, **worker) == frozenset()


async def test_a_step_that_takes_away_waits_for_runs(ledger_address: str, tmp_path: Path) -> None:
    until = time.time() + 3600
    owned = f"{LEASE}, {until}, 1)"
    make_older(ledger_address, FIRST, CAMPAIGN.format("spring", 0), owned)
    words = "a run is at work on spring, and if it is of an older Callsheet"
    by_me = {"by": "Ann", "at": until}
    with pytest.raises(LedgerError, match=words if on_sqlite(ledger_address) else "older versions"):
        await open_ledger(ledger_address)
    with pytest.raises(LedgerError, match=words) as refused:
        upgrade_ledger(ledger_address, **by_me)
    assert "`callsheet ledger upgrade --anyway`" in (refused.value.remedy or "")
    assert schema_of(ledger_address).number == FIRST
    assert not [*tmp_path.glob("*.schema-*")], "it is the ledger still"

    old, new, _ = upgrade_ledger(ledger_address, **by_me, anyway=True)
    assert (old.number, new.number) == (FIRST, REVISION)
    assert order_of(new.works_with) > order_of(FIRST)


async def test_a_run_that_is_gone_keeps_nobody_from_upgrading(ledger_address: str) -> None:
    gone = f"{LEASE}, {time.time() - 1}, 1)"
    make_older(ledger_address, FIRST, CAMPAIGN.format("spring", 0), gone)
    upgrade_ledger(ledger_address, by="Ann", at=1.0)
    assert schema_of(ledger_address).number == REVISION


def on_sqlite(address: str) -> bool:
    return address.startswith("sqlite")


async def test_a_command_that_upgrades_keeps_the_old_file_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    address = f"sqlite:///{tmp_path / 'ledger.db'}"
    make_older(address, FIRST, CAMPAIGN.format("spring", 0))

    await (await open_ledger(address)).aclose()

    (kept,) = tmp_path.glob(f"ledger.db.schema-{FIRST}-*")
    assert schema_of(f"sqlite:///{kept}").number == FIRST
    assert schema_of(address).number == REVISION
    said = (
        f"the ledger was upgraded from schema {FIRST} to {REVISION}; the old file is kept as {kept}"
    )
    assert caplog.messages == [said]


async def test_on_postgresql_only_a_person_takes_the_way_back(postgres: PostgresServer) -> None:
    address = postgres.new_database()
    make_older(address, FIRST, CAMPAIGN.format("spring", 0))

    with pytest.raises(LedgerError, match="older versions of Callsheet cannot use it") as refused:
        await open_ledger(address)

    assert "`callsheet ledger upgrade`" in str(refused.value.remedy)
    assert schema_of(address).number == FIRST


def test_an_older_ledger_is_checked_and_backed_up_as_it_is(
    ledger_address: str, tmp_path: Path
) -> None:
    schema = FIRST
    make_older(ledger_address, schema, CAMPAIGN.format("spring", 0))
    found = check_ledger(ledger_address)
    copy = tmp_path / "backup.db"
    if on_sqlite(ledger_address):
        assert back_up(ledger_address, copy, by="Ann", at=1.0).lines == found.lines
        assert schema_of(f"sqlite:///{copy}").number == schema
    else:
        with pytest.raises(LedgerError, match="copies only schema"):
            back_up(ledger_address, copy, by="Ann", at=1.0)
        assert not copy.exists()

    assert (found.schema.number, found.problems) == (schema, ())
    assert schema_of(ledger_address).number == schema


@pytest.fixture
def older(postgres: PostgresServer) -> Iterator[tuple[str, Engine]]:
    """A ledger on PostgreSQL whose table of batches is to change."""
    address = postgres.new_database()
    make_older(address, FIRST)
    engine = make_engine(ledger_url(address), writes=True)
    yield address, engine
    engine.dispose()


def test_an_upgrade_lets_others_pass_and_tries_again(older: tuple[str, Engine]) -> None:
    address, engine = older
    with psycopg.connect(address) as reading:
        reading.execute("SELECT 1 FROM batches")

        def pause(_: float) -> None:
            # Whoever came later is not behind it.
            with psycopg.connect(address) as other:
                other.execute("SET lock_timeout = 1000")
                other.execute("SELECT 1 FROM batches")
            reading.rollback()

        upgrade(reader=engine, writer=engine, create=False, pause=pause)
    assert schema_of(address).number == REVISION


def test_an_upgrade_that_is_never_let_in_says_so(older: tuple[str, Engine]) -> None:
    address, engine = older
    pauses: list[float] = []
    with psycopg.connect(address) as reading:
        reading.execute("SELECT 1 FROM batches")
        with pytest.raises(LedgerError, match="tables were in use") as refused:
            upgrade(reader=engine, writer=engine, create=False, pause=pauses.append)
    assert len(pauses) == TRIES - 1
    assert "`callsheet ledger upgrade`" in (refused.value.remedy or "")
    assert schema_of(address).number == FIRST
