"""A ledger that cannot be used says so in a sentence, before anything is spent."""

from __future__ import annotations

import asyncio
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from sqlalchemy.engine import make_url

from callsheet.tasks.ledger.campaigns import all_campaigns, ensure_campaign
from callsheet.tasks.ledger.ledger import open_ledger
from callsheet.tasks.runtime.errors import LedgerError
from tests.databases import PostgresServer


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
    async with await open_ledger(f"sqlite:///{file}") as ledger:
        await ledger.write(write_one)
        modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in file.parent.iterdir()}
    assert modes["ledger.db"] == 0o600
    assert set(modes.values()) == {0o600}


async def test_the_folder_is_made_with_the_file(tmp_path: Path):
    await (await open_ledger(f"sqlite:///{tmp_path}/new/folder/l.db")).aclose()
    assert (tmp_path / "new/folder/l.db").exists()


async def test_a_commit_is_on_the_disk_before_it_is_answered(file: Path):
    async with await open_ledger(f"sqlite:///{file}") as ledger:
        ask = lambda c: (  # noqa: E731
            c.exec_driver_sql("PRAGMA journal_mode").scalar(),
            c.exec_driver_sql("PRAGMA synchronous").scalar(),
            c.exec_driver_sql("PRAGMA foreign_keys").scalar(),
        )
        assert await ledger.write(ask) == ("wal", 2, 1)


async def test_a_ledger_opens_again_with_what_was_in_it(ledger_address: str):
    async with await open_ledger(ledger_address) as ledger:
        await ledger.write(write_one)
    async with await open_ledger(ledger_address, create=False) as ledger:
        assert len(await ledger.read(all_campaigns)) == 1


async def test_a_missing_ledger_is_not_made_for_a_reader(ledger_address: str, file: Path):
    error = await refusal(ledger_address, create=False)
    assert "there is no ledger" in str(error)
    assert "callsheet run" in (error.remedy or "")
    assert not file.exists()


async def test_an_empty_database_becomes_a_ledger(ledger_address: str, file: Path):
    if ledger_address.startswith("sqlite"):
        file.touch()
    async with await open_ledger(ledger_address) as ledger:
        assert await ledger.read(all_campaigns) == []


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


async def test_a_database_with_tables_of_others_besides_is_a_place_for_a_ledger(
    ledger_address: str,
):
    run(ledger_address, "CREATE TABLE spatial_ref_sys (srid INTEGER)")
    async with await open_ledger(ledger_address) as ledger:
        await ledger.write(write_one)
        assert len(await ledger.read(all_campaigns)) == 1


async def test_a_schema_of_its_own_is_a_place_beside_another_application_on_postgres(
    postgres: PostgresServer,
):
    address = postgres.new_database()
    run(address, "CREATE TABLE alembic_version (version_num VARCHAR(32))")
    run(address, "CREATE SCHEMA callsheet")
    own = f"{address}{'&' if '?' in address else '?'}options=-csearch_path%3Dcallsheet"
    async with await open_ledger(own) as ledger:
        await ledger.write(write_one)
    async with await open_ledger(own, create=False) as ledger:
        assert len(await ledger.read(all_campaigns)) == 1


async def test_a_damaged_file_is_named(file: Path):
    file.write_bytes(b"not a database, whatever its name says" * 100)
    error = await refusal(f"sqlite:///{file}")
    assert "damaged or is not a ledger" in str(error)
    assert str(file) in str(error)


async def test_a_file_damaged_while_open_is_a_sentence_too(file: Path):
    async with await open_ledger(f"sqlite:///{file}") as ledger:
        await ledger.write(write_one)
    data = bytearray(file.read_bytes())
    data[4096 : len(data)] = b"\xff" * (len(data) - 4096)
    file.write_bytes(data)
    with pytest.raises(LedgerError, match="damaged"):
        async with await open_ledger(f"sqlite:///{file}") as ledger:
            await ledger.read(all_campaigns)


@pytest.mark.parametrize("place", ["/dev/null/ledger.db", "/proc/no/ledger.db"])
async def test_a_place_that_cannot_be_written_is_named(place: str):
    error = await refusal(f"sqlite:///{place}")
    assert f"{place} cannot be made" in str(error)
    assert "CALLSHEET_LEDGER" in (error.remedy or "")


async def test_a_folder_is_not_a_ledger(tmp_path: Path):
    assert "cannot be opened" in str(await refusal(f"sqlite:///{tmp_path}"))


@pytest.mark.parametrize("name", ["what now?", "a?mode=ro", "a#b", "a%20b", "ä 日本"])
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
        ("sqlite://", "without a file"),
        ("sqlite://var/ledger.db", "without a file"),
        ("sqlite:///:memory:", "without a file"),
        ("sqlite:///file::memory:?uri=true", "without a file"),
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


async def test_a_group_waits_for_a_lock_once_and_not_once_for_each(made_ledger, tmp_path: Path):
    address = f"sqlite:///{tmp_path / 'l.db'}"
    (tmp_path / "l.db").write_bytes(made_ledger.read_bytes())
    async with await open_ledger(address, lock_wait=0.3) as ledger:
        other = sqlite3.connect(tmp_path / "l.db", isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        begun = asyncio.get_running_loop().time()
        writes = [ledger.write(write_one) for _ in range(50)]
        ended = await asyncio.gather(*writes, return_exceptions=True)
        assert all(isinstance(end, LedgerError) for end in ended)
        assert asyncio.get_running_loop().time() - begun < 3
        other.close()


_OPEN = """
import asyncio, sys
from functools import partial
from callsheet.tasks.ledger.campaigns import ensure_campaign
from callsheet.tasks.ledger.ledger import open_ledger
async def main():
    print("ready", flush=True)
    sys.stdin.readline()
    async with await open_ledger(sys.argv[1]) as ledger:
        await ledger.write(
            partial(ensure_campaign, name="spring", sheet="s", sheet_digest="d", at=1.0))
asyncio.run(main())
"""


@pytest.mark.merge
async def test_processes_that_make_one_ledger_at_the_same_time_all_succeed(ledger_address: str):
    command = [sys.executable, "-c", _OPEN, ledger_address]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    programs = [subprocess.Popen(command, text=True, **pipes) for _ in range(3)]  # noqa: ASYNC220
    for program in programs:
        assert program.stdout.readline() == "ready\n"
    for program in programs:
        program.stdin.write("go\n")
        program.stdin.flush()
    for program in programs:
        _, errors = program.communicate(timeout=30)
        assert program.returncode == 0, errors
    async with await open_ledger(ledger_address) as ledger:
        assert len(await ledger.read(all_campaigns)) == 1


async def test_ledgers_made_at_once_in_one_process_do_not_disturb_each_other(tmp_path: Path):
    addresses = [f"sqlite:///{tmp_path / str(n)}.db" for n in range(6)]
    for ledger in await asyncio.gather(*map(open_ledger, addresses)):
        await ledger.write(write_one)
        assert len(await ledger.read(all_campaigns)) == 1
        await ledger.aclose()
