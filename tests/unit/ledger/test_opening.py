"""A ledger that cannot be used, or is of another schema, says so before anything is spent."""

from __future__ import annotations

import sqlite3
import stat
from functools import partial
from pathlib import Path

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.engine import make_url

from callsheet.tasks.ledger.campaigns import all_campaigns, ensure_campaign, find_campaign
from callsheet.tasks.ledger.ledger import open_ledger
from callsheet.tasks.ledger.maintenance import upgrade_ledger
from callsheet.tasks.ledger.schema import FIRST, REVISION, VERSION_TABLE, metadata
from callsheet.tasks.runtime.errors import LedgerError, LedgerNewer
from tests.leasing import acquire_lease


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


def write_one(connection) -> None:
    ensure_campaign(connection, "spring", sheet="s", sheet_digest="d", at=1.0)


async def refusal(address: str, **named) -> LedgerError:
    with pytest.raises(LedgerError) as caught:
        await (await open_ledger(address, **named)).aclose()
    assert "\n" not in str(caught.value)
    return caught.value


def run(address: str, statement: str) -> None:
    if address.startswith("sqlite"):
        connection = sqlite3.connect(make_url(address).database or "")
        connection.execute(statement)
        connection.commit()
        connection.close()
        return
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(statement)  # type: ignore[call-overload]


async def test_only_its_owner_can_read_the_file(file: Path):
    """And what was committed is on the disk before it is answered."""

    def kept(c) -> list[object]:
        pragmas = ("journal_mode", "synchronous", "foreign_keys")
        return [c.exec_driver_sql(f"PRAGMA {name}").scalar() for name in pragmas]

    async with await open_ledger(f"sqlite:///{file}") as ledger:
        await ledger.write(write_one)
        assert await ledger.write(kept) == ["wal", 2, 1]
        modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in file.parent.iterdir()}
    assert modes["ledger.db"] == 0o600
    assert set(modes.values()) == {0o600}


async def test_a_missing_ledger_is_not_made_for_a_reader(ledger_address: str, file: Path):
    error = await refusal(ledger_address, create=False)
    assert "there is no ledger" in str(error)
    assert "callsheet run" in (error.remedy or "")
    assert not file.exists()


async def test_a_database_without_tables_of_another_application_becomes_a_ledger(
    ledger_address: str, file: Path
):
    if ledger_address.startswith("sqlite"):
        file.touch()
    run(ledger_address, "CREATE TABLE spatial_ref_sys (srid INTEGER)")
    async with await open_ledger(ledger_address) as ledger:
        await ledger.write(write_one)
    async with await open_ledger(ledger_address, create=False) as ledger:
        assert len(await ledger.read(all_campaigns)) == 1


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        (("campaigns",), "is another application's: it has campaigns, and no ledger"),
        (("alembic_version", "orders"), "is another application's: it has alembic_version, orders"),
        (("alembic_version", "flow_run", "events"), "is Prefect's own: it has events"),
    ],
)
async def test_a_database_of_another_application_is_refused_and_left_alone(
    ledger_address: str, tables: tuple[str, ...], words: str
):
    for table in tables:
        run(ledger_address, f"CREATE TABLE {table} (version_num VARCHAR(32))")
    for create in (True, False):
        error = await refusal(ledger_address, create=create)
        assert words in str(error)
        assert "CALLSHEET_LEDGER" in (error.remedy or "")


async def test_a_schema_of_its_own_is_a_place_beside_another_application_on_postgres(postgres):
    address = postgres.new_database()
    run(address, "CREATE TABLE alembic_version (version_num VARCHAR(32))")
    run(address, "CREATE SCHEMA callsheet")
    own = f"{address}{'&' if '?' in address else '?'}options=-csearch_path%3Dcallsheet"
    async with await open_ledger(own) as ledger:
        await ledger.write(write_one)
    async with await open_ledger(own, create=False) as ledger:
        assert len(await ledger.read(all_campaigns)) == 1


async def test_a_file_damaged_while_open_is_a_sentence_too(file: Path):
    async with await open_ledger(f"sqlite:///{file}") as ledger:
        await ledger.write(write_one)
    data = file.read_bytes()
    file.write_bytes(data[:4096].ljust(len(data), b"\xff"))
    with pytest.raises(LedgerError, match="damaged"):
        async with await open_ledger(f"sqlite:///{file}") as ledger:
            await ledger.read(all_campaigns)
    file.write_bytes(b"not a database, whatever its name says" * 100)
    error = await refusal(f"sqlite:///{file}")
    assert f"{file} is damaged or is not a ledger" in str(error)


async def test_a_place_that_cannot_be_written_is_named(tmp_path: Path):
    error = await refusal("sqlite:////proc/no/ledger.db")
    assert "/proc/no/ledger.db cannot be made" in str(error)
    assert "CALLSHEET_LEDGER" in (error.remedy or "")
    assert "cannot be opened" in str(await refusal(f"sqlite:///{tmp_path}"))


@pytest.mark.parametrize("name", ["a?mode=ro", "a#b", "a%20b", "ä 日本"])
async def test_a_ledger_is_in_its_folder_whatever_the_name(tmp_path: Path, name: str):
    (tmp_path / name).mkdir()
    for _ in "twice":
        async with await open_ledger(f"sqlite:///{tmp_path / name / 'ledger.db'}") as ledger:
            await ledger.write(write_one)
    assert [one.name for one in tmp_path.iterdir()] == [name]
    assert (tmp_path / name / "ledger.db").exists()


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("ledger.db", "not a database URL"),
        ("", "not a database URL"),
        ("mysql://h/d", "cannot live in mysql"),
        ("sqlite://var/ledger.db", "without a file"),
        ("sqlite:///:memory:", "without a file"),
        ("sqlite:///var/ledger.db?mode=ro", "no parameters"),
    ],
)
async def test_an_address_that_cannot_be_a_ledger_is_refused(address: str, words: str):
    error = await refusal(address)
    assert words in str(error)
    assert error.remedy


async def test_a_server_that_is_not_there_is_a_sentence_without_the_password():
    error = await refusal("postgresql://user:hush@127.0.0.1:9/ledger", lock_wait=2)
    assert "127.0.0.1" in str(error)
    assert "hush" not in f"{error} {error.remedy}"


async def test_a_ledger_locked_by_another_program_says_so(made_address: str, request):
    async with await open_ledger(made_address, lock_wait=0.2) as ledger:
        if made_address.startswith("sqlite"):
            other = sqlite3.connect(make_url(made_address).database or "", isolation_level=None)
            other.execute("BEGIN EXCLUSIVE")
        else:
            other = psycopg.connect(made_address)
            other.execute("LOCK TABLE campaigns IN EXCLUSIVE MODE")
        try:
            with pytest.raises(LedgerError, match="locked by another program") as caught:
                await ledger.write(write_one)
            assert "let the other program finish" in (caught.value.remedy or "")
        finally:
            other.rollback()
            other.close()
        await ledger.write(write_one)


NOTED = "UPDATE callsheet_version SET version_num = '{}'"


@pytest.mark.parametrize("schema", ["9001", "10001", "1975ea83b712"])
async def test_a_newer_ledger_is_refused(made_address: str, schema: str) -> None:
    run(made_address, NOTED.format(schema))
    try:
        with pytest.raises(LedgerNewer, match=f"schema {schema}, which is newer than this") as told:
            await open_ledger(made_address)
        assert "upgrade Callsheet" in str(told.value.remedy)
        with pytest.raises(LedgerNewer, match="nothing was spent"):
            upgrade_ledger(made_address, by="Ann", at=1.0)
    finally:
        run(made_address, NOTED.format(REVISION))


@pytest.mark.parametrize("schema", ["0001", "0023"])
async def test_a_ledger_from_before_the_first_release_is_refused(made_address: str, schema: str):
    run(made_address, NOTED.format(schema))
    try:
        with pytest.raises(LedgerError, match=f"schema {schema}, of a Callsheet before its first"):
            await open_ledger(made_address)
        with pytest.raises(LedgerError, match="nothing was spent") as refused:
            upgrade_ledger(made_address, by="Ann", at=1.0)
    finally:
        run(made_address, NOTED.format(REVISION))
    assert "finish its campaigns with the version that made it" in str(refused.value.remedy)
    assert "a new ledger with CALLSHEET_LEDGER" in str(refused.value.remedy)


@pytest.mark.safeguard(
    "tasks/ledger/leases.py", "check_not_upgraded(connection)\n    assert", "assert"
)
async def test_who_is_at_work_begins_nothing_after_an_upgrade_past_it(made_address: str) -> None:
    async with await open_ledger(made_address) as ledger:
        named = {"sheet": "s", "sheet_digest": "d", "at": 1.0}
        campaign = await ledger.write(ensure_campaign, name="spring", **named)
        lease = partial(acquire_lease, campaign=campaign, owner="me")
        before = await ledger.read(find_campaign, name="spring")
        run(made_address, NOTED.format("9002"))
        try:
            with pytest.raises(LedgerNewer):
                await ledger.write(lease)
        finally:
            run(made_address, NOTED.format(REVISION))
        found = await ledger.read(find_campaign, name="spring")
        assert found == before
        assert await ledger.write(lease) is None


async def test_migrations_produce_the_schema(ledger_address: str):
    def differences(connection):
        context = MigrationContext.configure(
            connection,
            opts={
                "compare_type": True,
                "compare_server_default": True,
                "version_table": VERSION_TABLE,
            },
        )
        return compare_metadata(context, metadata)

    async with await open_ledger(ledger_address) as ledger:
        assert await ledger.read(differences) == []


def test_the_schema_names_the_first_migration_and_the_newest():
    config = Config()
    config.set_main_option("script_location", "callsheet.tasks.ledger:migrations")
    config.set_main_option("path_separator", "os")
    scripts = ScriptDirectory.from_config(config)
    assert (scripts.get_bases(), scripts.get_heads()) == ([FIRST], [REVISION])
