"""A backup is the ledger of one moment, whichever database it is of; what is restored is that."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, create_engine, insert, select, text, update
from sqlalchemy.engine import make_url

from tasks.errors import BadInput, LedgerError
from tasks.ledger import all_campaigns, ensure_campaign, open_ledger
from tasks.ledger.backup import back_up, restore
from tasks.ledger.maintenance import check_ledger, upgrade_ledger, vacuum_ledger
from tasks.ledger.schema import REVISION, campaigns, events, metadata
from tests.board.filmed import filmed
from tests.databases import PostgresServer

NOW = 1_800_000_000.0
BY_ME: Any = {"by": "Ann", "at": NOW}


@contextmanager
def connected(address: str) -> Iterator[Connection]:
    url = make_url(address)
    url = url if url.drivername == "sqlite" else url.set(drivername="postgresql+psycopg")
    engine = create_engine(url)
    with engine.begin() as connection:
        yield connection
    engine.dispose()


def lines_of(address: str) -> dict[str, list[tuple[Any, ...]]]:
    """Return every line of a ledger but the notes of backups and restores themselves."""
    with connected(address) as connection:
        tables = [table for table in metadata.sorted_tables if table.name != "acts"]
        found = {table.name: connection.execute(select(table)).all() for table in tables}
    return {name: sorted(map(tuple, lines), key=str) for name, lines in found.items()}


async def with_films(address: str, count: int = 3) -> None:
    async with await open_ledger(address) as ledger:
        await filmed(ledger, count)


def another(kind: str, tmp_path: Path, postgres: PostgresServer) -> str:
    if kind == "postgres":
        return str(postgres.new_database())
    return f"sqlite:///{tmp_path / 'elsewhere' / 'ledger.db'}"


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_what_is_restored_is_the_ledger_line_for_line(
    ledger_address: str, kind: str, tmp_path: Path, postgres: PostgresServer
) -> None:
    await with_films(ledger_address)
    made = back_up(ledger_address, tmp_path / "kept.db", **BY_ME)
    target = another(kind, tmp_path, postgres)

    found = restore(target, made.path, **BY_ME, instead=False)

    assert lines_of(target) == lines_of(ledger_address) == lines_of(f"sqlite:///{made.path}")
    assert (found.before, found.lines > 20) == (None, True)
    # What comes next has a number of its own.
    async with await open_ledger(target) as ledger:
        made_next = partial(ensure_campaign, name="autumn", at=NOW, sheet="a.csv", sheet_digest="d")
        await ledger.write(made_next)
        assert {c.name for c in await ledger.read(all_campaigns)} == {"spring", "autumn"}


async def test_a_backup_is_one_whole_file_for_its_owner_alone(
    ledger_address: str, tmp_path: Path
) -> None:
    async with await open_ledger(ledger_address) as ledger:
        # What is in the log of an open ledger alone is in the backup, too.
        await filmed(ledger, 2)
        made = back_up(ledger_address, tmp_path, **BY_ME)

    assert made.path == tmp_path / "ledger-2027-01-15T08-00-00Z.db"
    assert stat.S_IMODE(made.path.stat().st_mode) == 0o600
    assert made.size == made.path.stat().st_size
    assert len(lines_of(f"sqlite:///{made.path}")["takes"]) == 2
    left = {path.name for path in tmp_path.iterdir()} - {"ledger.db"}
    assert left == {made.path.name}
    assert check_ledger(ledger_address).backup_at == NOW
    with pytest.raises(BadInput, match="replaces no other"):
        back_up(ledger_address, made.path, **BY_ME)


async def test_a_backup_is_of_one_moment_while_others_write(
    ledger_address: str, tmp_path: Path
) -> None:
    async with await open_ledger(ledger_address) as ledger:
        stage = await filmed(ledger, 1)

        def both(connection: Connection) -> None:
            # Two lines that stand for each other: one without the other was never true.
            event = insert(events).values(campaign_id=stage.campaign.id, at=NOW, kind="x")
            connection.execute(event)
            change = update(campaigns).values(created_at=campaigns.c.created_at + 1)
            connection.execute(change)

        async def write() -> None:
            while True:
                await ledger.write(both)

        begun = (await ledger.read(all_campaigns))[0]
        writing = asyncio.create_task(write())
        await asyncio.sleep(0.1)
        paths = [tmp_path / f"{n}.db" for n in range(3)]
        for path in paths:
            await asyncio.to_thread(back_up, ledger_address, path, **BY_ME)
        writing.cancel()
    assert begun.name == "spring"
    for path in paths:
        with connected(f"sqlite:///{path}") as connection:
            count = text("SELECT count(*) FROM events WHERE kind = 'x'")
            moved = connection.execute(select(campaigns.c.created_at)).scalar_one() - 1000.0
            assert connection.execute(count).scalar_one() == moved > 0


async def test_what_is_there_is_replaced_by_word_alone_and_kept(
    ledger_address: str, tmp_path: Path
) -> None:
    await with_films(ledger_address, 1)
    kept = back_up(ledger_address, tmp_path / "kept.db", **BY_ME).path
    old = lines_of(ledger_address)
    async with await open_ledger(ledger_address) as ledger:
        made = partial(ensure_campaign, name="autumn", at=NOW, sheet="a.csv", sheet_digest="d")
        await ledger.write(made)
    newer = lines_of(ledger_address)

    with pytest.raises(BadInput, match="already; it is as it was"):
        restore(ledger_address, kept, **BY_ME, instead=False)
    assert lines_of(ledger_address) == newer
    found = restore(ledger_address, kept, **BY_ME, instead=True)

    assert lines_of(ledger_address) == old
    assert found.before is not None
    assert lines_of(f"sqlite:///{found.before}") == newer


async def test_a_run_at_work_keeps_its_ledger(ledger_address: str, tmp_path: Path) -> None:
    await with_films(ledger_address, 1)
    kept = back_up(ledger_address, tmp_path / "kept.db", **BY_ME).path
    with connected(ledger_address) as connection:
        connection.execute(update(campaigns).values(owner="somebody", owner_until=NOW + 60))

    with pytest.raises(LedgerError, match="a run is at work on spring"):
        restore(ledger_address, kept, **BY_ME, instead=True)
    # Nobody is at work on what is restored.
    with connected(f"sqlite:///{kept}") as connection:
        connection.execute(update(campaigns).values(owner="somebody", owner_until=NOW + 60))
    restore(ledger_address, kept, by="Ann", at=NOW + 61, instead=True)
    with connected(ledger_address) as connection:
        assert connection.execute(select(campaigns.c.owner)).scalars().all() == [None]


async def test_a_file_that_somebody_has_open_is_not_replaced(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'ledger.db'}"
    await with_films(address, 1)
    kept = back_up(address, tmp_path / "kept.db", **BY_ME).path
    async with await open_ledger(address) as ledger:
        await ledger.read(all_campaigns)
        with pytest.raises(LedgerError, match=r"another program has .* open"):
            restore(address, kept, **BY_ME, instead=True)
        assert len(await ledger.read(all_campaigns)) == 1


async def test_what_is_no_backup_is_refused(ledger_address: str, tmp_path: Path) -> None:
    await with_films(ledger_address, 1)
    kept = back_up(ledger_address, tmp_path / "kept.db", **BY_ME).path
    before = lines_of(ledger_address)
    half = tmp_path / "half.db"
    half.write_bytes(kept.read_bytes()[: kept.stat().st_size // 2])
    page = tmp_path / "page.db"
    page.write_text("<html>404</html>" * 100)
    in_use = tmp_path / "in-use.db"
    in_use.write_bytes(kept.read_bytes())
    (tmp_path / "in-use.db-wal").write_bytes(b"x")

    for path in (half, page, in_use):
        with pytest.raises(LedgerError):
            restore(ledger_address, path, **BY_ME, instead=True)
    with pytest.raises(BadInput, match="there is no file"):
        restore(ledger_address, tmp_path / "gone.db", **BY_ME, instead=True)

    assert lines_of(ledger_address) == before
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".part")]


async def test_a_damaged_ledger_gives_way_to_its_backup(tmp_path: Path) -> None:
    file = tmp_path / "ledger.db"
    await with_films(f"sqlite:///{file}", 1)
    kept = back_up(f"sqlite:///{file}", tmp_path / "kept.db", **BY_ME).path
    file.write_text("what the disk made of it")

    found = restore(f"sqlite:///{file}", kept, **BY_ME, instead=True)

    assert found.before is not None
    assert found.before.read_text() == "what the disk made of it"
    assert check_ledger(f"sqlite:///{file}").problems == ()


async def test_an_account_that_does_not_add_up_is_said(ledger_address: str) -> None:
    await with_films(ledger_address, 2)
    sound = check_ledger(ledger_address)
    with connected(ledger_address) as connection:
        connection.execute(update(campaigns).values(charged=campaigns.c.charged + 5_000_000))

    found = check_ledger(ledger_address)

    assert (sound.problems, sound.schema) == ((), REVISION)
    (problem,) = found.problems
    assert "spring: its account says" in problem.words
    assert not problem.is_damage


async def test_what_nobody_needs_goes_and_what_was_paid_stays(ledger_address: str) -> None:
    await with_films(ledger_address, 3)
    before = lines_of(ledger_address)

    gone, _, _ = vacuum_ledger(ledger_address, at=NOW, keep_events=None)
    assert (gone, lines_of(ledger_address)) == (0, before)
    gone, _, _ = vacuum_ledger(ledger_address, at=NOW, keep_events=86_400.0)

    after = lines_of(ledger_address)
    assert gone == len(before["events"]) - 1
    assert {name: lines for name, lines in after.items() if name != "events"} == {
        name: lines for name, lines in before.items() if name != "events"
    }
    # Others count on from the newest.
    assert after["events"] == [max(before["events"])]
    assert check_ledger(ledger_address).problems == ()


async def test_an_upgrade_leaves_the_old_ledger_beside_the_new(tmp_path: Path) -> None:
    from tests.unit.ledger.test_migrations import make_older

    address = f"sqlite:///{tmp_path / 'ledger.db'}"
    make_older(address, "0011")

    old, new, kept = upgrade_ledger(address, **BY_ME)

    assert (old, new) == ("0011", REVISION)
    assert kept is not None
    with connected(f"sqlite:///{kept}") as connection:
        names = connection.execute(text("SELECT name FROM sqlite_master")).scalars()
        assert "nights" not in [*names]
    assert upgrade_ledger(address, **BY_ME) == (REVISION, REVISION, None)
