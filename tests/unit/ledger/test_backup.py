"""A backup is the ledger of one moment, whichever database it is of; what is restored is that."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Executable, create_engine, insert, literal, select, text, update
from sqlalchemy.engine import make_url

from callsheet.tasks.ledger.backup import back_up, restore
from callsheet.tasks.ledger.campaigns import all_campaigns, ensure_campaign
from callsheet.tasks.ledger.leases import name_in_sql
from callsheet.tasks.ledger.ledger import open_ledger
from callsheet.tasks.ledger.maintenance import check_ledger, vacuum_ledger
from callsheet.tasks.ledger.schema import accounts, campaigns, events, leases, metadata
from callsheet.tasks.runtime import crash_points
from callsheet.tasks.runtime.errors import BadInput, LedgerError
from tests.board.with_videos import with_videos
from tests.campaigns import Stage, brief
from tests.databases import PostgresServer
from tests.programs import ROOT

NOW = 1_800_000_000.0
#: A change: another process has the lease of every campaign.
AT_WORK = insert(leases).from_select(
    ["name", "owner", "since", "until", "token"],
    select(name_in_sql("campaign:", campaigns.c.id), *map(literal, ("somebody", 0.0, 1e11, 1))),
)
LAPSED = update(leases).values(until=0.0)
FIRST = insert(campaigns).values(name="autumn", sheet="a.csv", created_at=NOW)
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


def changed(address: str, change: Executable) -> None:
    with connected(address) as connection:
        connection.execute(change)


async def with_many_videos(address: str, count: int = 3) -> None:
    async with await open_ledger(address) as ledger:
        await with_videos(ledger, count)


async def backed_up(address: str, folder: Path) -> Path:
    """Make a ledger with a video, and a backup of it."""
    await with_many_videos(address, 1)
    return back_up(address, folder / "kept.db", **BY_ME).path


def another(kind: str, tmp_path: Path, postgres: PostgresServer) -> str:
    if kind == "postgres":
        return str(postgres.new_database())
    return f"sqlite:///{tmp_path / 'elsewhere' / 'ledger.db'}"


@pytest.fixture
def address(tmp_path: Path) -> str:
    """Of a ledger in a file."""
    return f"sqlite:///{tmp_path / 'ledger.db'}"


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_what_is_restored_is_the_ledger_line_for_line(
    ledger_address: str, kind: str, tmp_path: Path, postgres: PostgresServer
) -> None:
    await with_many_videos(ledger_address)
    made = back_up(ledger_address, tmp_path / "kept.db", **BY_ME)
    target = another(kind, tmp_path, postgres)

    found = restore(target, made.path, **BY_ME, instead=False)

    assert lines_of(target) == lines_of(ledger_address) == lines_of(f"sqlite:///{made.path}")
    assert (found.before, found.lines > 20) == (None, True)
    # What comes next has a number of its own.
    async with await open_ledger(target) as ledger:
        await ledger.write(ensure_campaign, name="autumn", at=NOW, sheet="a.csv", sheet_digest="d")
        assert {c.name for c in await ledger.read(all_campaigns)} == {"spring", "autumn"}


@pytest.mark.crashpoint("ledger: before a backup has its name")
async def test_a_backup_is_one_whole_file_for_its_owner_alone(ledger_address: str, tmp_path: Path):
    async with await open_ledger(ledger_address) as ledger:
        # What is in the log of an open ledger alone is in the backup, too.
        await with_videos(ledger, 2)
        made = back_up(ledger_address, tmp_path, **BY_ME)

    assert made.path == tmp_path / "ledger-2027-01-15T08-00-00Z.db"
    assert stat.S_IMODE(made.path.stat().st_mode) == 0o600
    assert (made.size, made.noted) == (made.path.stat().st_size, True)
    assert len(lines_of(f"sqlite:///{made.path}")["takes"]) == 2
    assert {path.name for path in tmp_path.iterdir()} - {"ledger.db"} == {made.path.name}
    assert check_ledger(ledger_address).backup_at == NOW
    with pytest.raises(BadInput, match="replaces no other"):
        back_up(ledger_address, made.path, **BY_ME)


async def test_a_backup_is_of_one_moment_while_others_write(ledger_address: str, tmp_path: Path):
    async with await open_ledger(ledger_address) as ledger:
        stage = await with_videos(ledger, 1)

        def both(connection: Connection) -> None:
            # Two lines that stand for each other: one without the other was never true.
            connection.execute(
                insert(events).values(campaign_id=stage.campaign.id, at=NOW, kind="x")
            )
            connection.execute(update(campaigns).values(created_at=campaigns.c.created_at + 1))

        async def write() -> None:
            while True:
                await ledger.write(both)

        writing = asyncio.create_task(write())
        await asyncio.sleep(0.1)
        paths = [tmp_path / f"{n}.db" for n in range(3)]
        for path in paths:
            await asyncio.to_thread(back_up, ledger_address, path, **BY_ME)
        writing.cancel()
    for path in paths:
        with connected(f"sqlite:///{path}") as connection:
            count = text("SELECT count(*) FROM events WHERE kind = 'x'")
            moved = connection.execute(select(campaigns.c.created_at)).scalar_one() - 1000.0
            assert connection.execute(count).scalar_one() == moved > 0


async def test_what_is_there_is_replaced_by_word_alone_and_kept(ledger_address, tmp_path):
    kept = await backed_up(ledger_address, tmp_path)
    old = lines_of(ledger_address)
    changed(ledger_address, FIRST)
    newer = lines_of(ledger_address)

    with pytest.raises(BadInput, match="already; it is as it was"):
        restore(ledger_address, kept, **BY_ME, instead=False)
    assert lines_of(ledger_address) == newer
    found = restore(ledger_address, kept, **BY_ME, instead=True)

    assert lines_of(ledger_address) == old
    assert lines_of(f"sqlite:///{found.before}") == newer


async def test_a_run_at_work_keeps_its_ledger(ledger_address: str, tmp_path: Path) -> None:
    kept = await backed_up(ledger_address, tmp_path)
    changed(ledger_address, AT_WORK)

    with pytest.raises(LedgerError, match="a run is at work on spring"):
        restore(ledger_address, kept, **BY_ME, instead=True)
    # Nobody is at work on what is restored.
    changed(ledger_address, LAPSED)
    changed(f"sqlite:///{kept}", AT_WORK)
    restore(ledger_address, kept, by="Ann", at=NOW + 61, instead=True)
    with connected(ledger_address) as connection:
        assert connection.execute(select(leases.c.owner)).scalars().all() == [None]


async def test_a_file_that_somebody_has_open_is_not_replaced(address: str, tmp_path: Path) -> None:
    kept = await backed_up(address, tmp_path)
    async with await open_ledger(address) as ledger:
        await ledger.read(all_campaigns)
        with pytest.raises(LedgerError, match=r"another program has .* open"):
            restore(address, kept, **BY_ME, instead=True)
        assert len(await ledger.read(all_campaigns)) == 1


#: What somebody does who opens a ledger in the moment when another takes its place, or who dies.
OPEN = """
import asyncio, sys
from callsheet.tasks.ledger.campaigns import all_campaigns
from callsheet.tasks.ledger.ledger import open_ledger
async def main():
    async with await open_ledger(sys.argv[1]) as ledger:
        await ledger.read(all_campaigns)
print("begun", flush=True)
asyncio.run(main())
"""
WRITE = """
import asyncio, os, sys
from functools import partial
from callsheet.tasks.ledger.campaigns import ensure_campaign
from callsheet.tasks.ledger.ledger import open_ledger
async def main():
    ledger = await open_ledger(sys.argv[1])
    add = partial(ensure_campaign, name="autumn", at=1.0, sheet="a.csv", sheet_digest="d")
    await ledger.write(add)
    os._exit(0)
asyncio.run(main())
"""
DIE = """
import os, signal, sys
from pathlib import Path
from callsheet.tasks.runtime.crash_points import arm
from callsheet.tasks.ledger.backup import back_up, restore
address, path, point = sys.argv[1:]
arm(lambda name, _: point in (name, "any") and os.kill(os.getpid(), signal.SIGKILL))
if point == "any":
    back_up(address, Path(path), by="Ann", at=1.0)
restore(address, Path(path), by="Ann", at=1_800_000_000.0, instead=True)
"""


def program(code: str, *words: str) -> subprocess.Popen[str]:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([sys.executable, "-c", code, *words], cwd=ROOT, text=True, **pipes)


@contextmanager
def armed(point: str, act: Callable[[], object]) -> Iterator[None]:
    """Do something where a crash point is come by."""
    crash_points.arm(lambda name, _: act() if name == point else None)
    try:
        yield
    finally:
        crash_points.arm(lambda *_: None)


@pytest.mark.safeguard(
    "tasks/ledger/copies.py",
    '                connection.execute("BEGIN EXCLUSIVE")\n',
    '                connection.execute("BEGIN")\n',
)
@pytest.mark.merge
async def test_who_opens_it_while_it_is_replaced_is_told_and_writes_into_neither(address, tmp_path):
    kept = await backed_up(address, tmp_path)
    old = lines_of(address)
    opening: list[subprocess.Popen[str]] = []

    def begin() -> None:
        opening.append(program(OPEN, address))
        assert opening[0].stdout.readline() == "begun\n"
        # Until it has the file open, whatever that is by then.
        held = f"/proc/{opening[0].pid}/fd"
        while not any(os.path.realpath(f"{held}/{fd}").endswith("r.db") for fd in os.listdir(held)):
            time.sleep(0.01)

    with armed("ledger: before a backup is put in its place", begin):
        restore(address, kept, **BY_ME, instead=True)
    _, said = opening[0].communicate()

    assert "was replaced in the moment when it was opened" in said
    assert lines_of(address) == old
    assert not [*tmp_path.glob("ledger.db-*")]


@pytest.mark.safeguard("tasks/ledger/backup.py", "keep_logs(file, before)", "")
@pytest.mark.safeguard("tasks/ledger/copies.py", "keep_logs(file, before)", "")
@pytest.mark.merge
@pytest.mark.parametrize("left", [None, b"", b"what the disk made of it" * 1000])
async def test_a_log_that_was_left_is_no_part_of_what_is_restored(left, address, tmp_path):
    file = tmp_path / "ledger.db"
    kept = await backed_up(address, tmp_path)
    # It is killed, and its newest lines are in the log.
    assert program(WRITE, address).wait() == 0
    log = (tmp_path / "ledger.db-wal").read_bytes()
    file.unlink()
    if left is not None:
        file.write_bytes(left)

    restore(address, kept, **BY_ME, instead=True)

    assert lines_of(address) == lines_of(f"sqlite:///{kept}")
    if not left:
        (aside,) = tmp_path.glob("ledger.db.before-*-wal")
        assert aside.read_bytes() == log


@pytest.mark.crashpoint(
    "ledger: before a backup is put in its place",
    "ledger: before what is there is locked",
    "ledger: before what is restored is committed",
)
@pytest.mark.merge
@pytest.mark.parametrize(
    ("kind", "point"),
    [
        ("sqlite", "ledger: before a backup is put in its place"),
        ("postgres", "ledger: before what is there is locked"),
        ("postgres", "ledger: before what is restored is committed"),
    ],
)
async def test_a_restore_that_is_killed_leaves_the_old_ledger_whole(
    kind: str, point: str, tmp_path: Path, postgres: PostgresServer
) -> None:
    address = another(kind, tmp_path, postgres)
    kept = await backed_up(address, tmp_path)
    assert program(WRITE, address).wait() == 0
    newer = lines_of(address)

    assert program(DIE, address, str(kept), point).wait() == -signal.SIGKILL

    assert lines_of(address) == newer
    restore(address, kept, by="Ann", at=NOW + 1, instead=True)
    assert lines_of(address) == lines_of(f"sqlite:///{kept}")


WAITING = (
    "SELECT count(*) FROM pg_stat_activity"
    " WHERE wait_event_type = 'Lock' AND datname = current_database()"
)


@pytest.mark.safeguard("tasks/ledger/backup.py", "_lock(writing)", "")
@pytest.mark.merge
async def test_on_postgres_what_came_in_the_last_moment_is_kept(tmp_path, postgres):
    address = str(postgres.new_database())
    kept = await backed_up(address, tmp_path)
    writing: list[subprocess.Popen[str]] = []

    def waits() -> bool:
        # What is asked again in the same transaction is answered as before.
        with connected(address) as watching:
            return bool(watching.execute(text(WAITING)).scalar())

    def write() -> None:
        writing.append(program(WRITE, address))
        # Until it waits for its turn, or has written; a busy machine takes long to start it.
        while writing[0].poll() is None and not waits():
            time.sleep(0.05)

    with armed("ledger: before a backup has its name", write):
        before = restore(address, kept, **BY_ME, instead=True).before
    assert writing[0].wait() == 0

    # Whoever came then waited, and has written into what was restored.
    assert "autumn" in [line[1] for line in lines_of(address)["campaigns"]]
    assert before.is_absolute()
    assert "autumn" not in str(lines_of(f"sqlite:///{before}"))


@pytest.mark.safeguard("tasks/ledger/backup.py", "_check_free(writing, shown, instead=instead)", "")
@pytest.mark.merge
@pytest.mark.parametrize(
    ("change", "instead", "words"),
    [(AT_WORK, True, "a run is at work on"), (FIRST, False, "there is a ledger at .* already")],
)
async def test_on_postgres_what_comes_before_the_lock_keeps_its_ledger(
    change: Any, instead: bool, words: str, address: str, tmp_path: Path, postgres: PostgresServer
) -> None:
    kept = await backed_up(address, tmp_path)
    there = str(postgres.new_database())
    if instead:
        await with_many_videos(there, 1)

    with (
        armed("ledger: before what is there is locked", lambda: changed(there, change)),
        pytest.raises((LedgerError, BadInput), match=words),
    ):
        restore(there, kept, **BY_ME, instead=instead)
    with connected(there) as connection:
        names = connection.execute(select(campaigns.c.name)).scalars().all()
    assert names == (["spring"] if instead else ["autumn"])


NEWER = "UPDATE callsheet_version SET version_num = '9999'"
ANOTHERS = "DROP TABLE callsheet_version"


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        (NEWER, "newer than this Callsheet"),
        ("DELETE FROM takes", "refers to a line of takes that is not there"),
        (ANOTHERS, "another application's"),
    ],
)
async def test_a_backup_that_was_altered_or_is_newer_is_named_and_refused(
    statement: str, words: str, address: str, tmp_path: Path
) -> None:
    kept = await backed_up(address, tmp_path)
    changed(f"sqlite:///{kept}", text(statement))
    before = lines_of(address)

    with pytest.raises(LedgerError, match=words) as refused:
        restore(address, kept, **BY_ME, instead=True)

    assert str(refused.value).startswith(f"{kept} cannot be restored: ")
    assert ".part" not in str(refused.value)
    assert lines_of(address) == before


async def test_what_is_another_applications_is_never_replaced(address: str, tmp_path: Path) -> None:
    kept = await backed_up(address, tmp_path)
    changed(address, text(ANOTHERS))
    there = (tmp_path / "ledger.db").read_bytes()

    for instead in (False, True):
        with pytest.raises((BadInput, LedgerError), match="another application"):
            restore(address, kept, **BY_ME, instead=instead)
    assert (tmp_path / "ledger.db").read_bytes() == there


async def test_a_ledger_that_cannot_be_read_gives_way_by_word_alone(address: str, tmp_path: Path):
    """The version before takes over again, with the backup of before the upgrade."""
    kept, file = await backed_up(address, tmp_path), tmp_path / "ledger.db"
    changed(address, text(NEWER))
    with pytest.raises(BadInput, match="it is as it was"):
        restore(address, kept, **BY_ME, instead=False)
    assert restore(address, kept, **BY_ME, instead=True).before is not None
    assert lines_of(address) == lines_of(f"sqlite:///{kept}")

    file.write_text("what the disk made of it")
    with pytest.raises(BadInput, match="damaged"):
        restore(address, kept, **BY_ME, instead=False)
    found = restore(address, kept, by="Ann", at=NOW + 1, instead=True)
    assert found.before.read_text() == "what the disk made of it"
    assert check_ledger(address).problems == ()


async def test_what_is_no_backup_is_refused(ledger_address: str, tmp_path: Path) -> None:
    kept = await backed_up(ledger_address, tmp_path)
    before = lines_of(ledger_address)
    whole = kept.read_bytes()
    contents = {"half": whole[: len(whole) // 2], "page": b"<html>404</html>" * 100}
    for name, content in (contents | {"in-use": whole}).items():
        (tmp_path / f"{name}.db").write_bytes(content)
        (tmp_path / "in-use.db-wal").write_bytes(b"x")
        with pytest.raises(LedgerError):
            restore(ledger_address, tmp_path / f"{name}.db", **BY_ME, instead=True)
    with pytest.raises(BadInput, match="there is no file"):
        restore(ledger_address, tmp_path / "gone.db", **BY_ME, instead=True)

    assert lines_of(ledger_address) == before
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".part")]


#: A change to an account that holds 12 credits, what is said of it, and what helps.
DO_NOT_ADD_UP = [
    (
        update(campaigns).values(charged=5_000_000),
        "spring: its account says 5 credits charged, its takes 0 credits",
        "type `callsheet reconcile`",
    ),
    (
        update(accounts).where(accounts.c.kind == "month").values(reserved=0),
        "the month 1970-01 (UTC): its account says 0 credits set aside, its takes 12 credits",
        "lower month_budget by that until the month is over",
    ),
    (
        update(accounts).where(accounts.c.kind == "day").values(reserved=13_000_000),
        "the day 1970-01-01 (UTC): its account says 13 credits set aside, its takes 12 credits",
        "holds back what nobody has spent, 1 credit: raise day_budget by that",
    ),
]


@pytest.mark.parametrize(("change", "words", "remedy"), DO_NOT_ADD_UP)
async def test_an_account_that_does_not_add_up_is_said_with_what_to_do(
    ledger_address: str, change: Executable, words: str, remedy: str
) -> None:
    async with await open_ledger(ledger_address) as ledger:
        await (await Stage.set(ledger, brief(cost_center="sales"))).submitting()
    assert check_ledger(ledger_address).problems == ()
    changed(ledger_address, change)

    (problem,) = check_ledger(ledger_address).problems

    assert (problem.words, problem.is_damage) == (words, False)
    assert remedy in str(problem.remedy)


async def test_to_look_at_a_ledger_keeps_nobody_from_writing(address: str) -> None:
    await with_many_videos(address, 1)
    with connected(address) as somebody:
        # They have the one right to write, and would have to wait were that asked for.
        somebody.execute(update(campaigns).values(created_at=1.0))
        assert check_ledger(address).problems == ()


async def test_what_nobody_needs_goes_and_what_was_paid_stays(ledger_address: str) -> None:
    await with_many_videos(ledger_address, 3)
    before = lines_of(ledger_address)

    assert vacuum_ledger(ledger_address, at=NOW, keep_events=None)[0] == 0
    assert lines_of(ledger_address) == before
    gone, _, _ = vacuum_ledger(ledger_address, at=NOW, keep_events=86_400.0)

    assert gone == len(before["events"]) - 1
    # Others count on from the newest.
    assert lines_of(ledger_address) == {**before, "events": [max(before["events"])]}
    assert check_ledger(ledger_address).problems == ()


async def test_a_file_is_not_made_smaller_while_a_run_is_at_work(ledger_address: str) -> None:
    await with_many_videos(ledger_address, 2)
    before = lines_of(ledger_address)
    changed(ledger_address, AT_WORK)
    remove = partial(vacuum_ledger, ledger_address, at=NOW, keep_events=1.0)

    if ledger_address.startswith("sqlite"):
        with pytest.raises(LedgerError, match=r"a run is at work on spring.*nothing was removed"):
            remove()
        assert lines_of(ledger_address)["events"] == before["events"]
        assert remove(anyway=True)[0] > 0
        changed(ledger_address, LAPSED)
        assert remove()[0] == 0
    else:
        # There it keeps nobody from writing.
        assert remove()[0] > 0


@pytest.mark.merge
async def test_what_a_killed_backup_left_goes_with_the_next_unless_somebody_is_at_it(
    address: str, tmp_path: Path
) -> None:
    folder = tmp_path / "backups"
    folder.mkdir()
    await with_many_videos(address, 1)
    assert program(DIE, address, str(folder), "any").wait() == -signal.SIGKILL
    (left,) = folder.glob(".*.part")
    written = left.stat().st_mtime
    others = {".notes.part", ".video.mp4.0123abcd.part"}
    for name in others:
        (folder / name).write_bytes(b"a download")
        os.utime(folder / name, (written, written))

    back_up(address, folder, by="Ann", at=written + 3600)
    assert left.exists(), "somebody may be at it"
    with closing(sqlite3.connect(left, isolation_level=None)) as somebody:
        somebody.execute("BEGIN IMMEDIATE")
        back_up(address, folder, by="Ann", at=written + 2 * 86_400)
        assert left.exists(), "somebody is at it"
    back_up(address, folder, by="Ann", at=left.stat().st_mtime + 3 * 86_400)

    assert {one.name for one in folder.glob(".*")} == others
