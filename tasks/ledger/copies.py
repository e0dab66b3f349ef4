"""Copies of a whole ledger.

Its tables, and files that get their name once they are complete.

Knows no table by name: what a later version adds is copied as well.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from sqlalchemy import Connection, func, select

from callsheet.tasks.ledger import schema_runs  # noqa: F401

# Their tables are the ledger's as well.
from callsheet.tasks.ledger.dialect import dialect_of
from callsheet.tasks.ledger.schema import metadata
from callsheet.tasks.runtime.errors import BadInput, LedgerError
from callsheet.tasks.runtime.files import sync_folder

#: Lines that are in memory at once.
PAGE = 500


def copy_tables(source: Connection, target: Connection) -> int:
    """Copy every line into tables that are empty; return how many lines that were.

    Both have the newest schema. What `target` has afterwards is for its transaction to commit.
    """
    lines = 0
    for table in metadata.sorted_tables:
        found = source.execute(select(table), execution_options={"yield_per": PAGE})
        for page in found.mappings().partitions():
            target.execute(table.insert(), [dict(line) for line in page])
            lines += len(page)
    dialect_of(target).number_on(target, metadata.sorted_tables)
    return lines


def count_lines(connection: Connection) -> int:
    """Return how many lines a ledger has, over all its tables."""
    counts = (select(func.count()).select_from(table) for table in metadata.sorted_tables)
    return sum(connection.execute(count).scalar_one() for count in counts)


def empty_tables(connection: Connection) -> None:
    """Remove every line of every table."""
    for table in reversed(metadata.sorted_tables):
        connection.execute(table.delete())


# Files that get their name once they are whole, and replace nothing that came there meanwhile.
#
# Owns how that is done on file systems of every kind. Knows no table.


#: What SQLite keeps next to a database, under its name with this behind it.
LOGS = ("-wal", "-shm", "-journal")

#: How a file is called before it has its name.
_PART = re.compile(r"\..+\.[0-9a-f]{8}\.part")
#: What is written to is younger, in seconds: anyone who began a part that is older is gone.
_LEFT = 86_400.0
_HEAD = b"SQLite format 3\0"


@contextmanager
def temporary(path: Path) -> Iterator[Path]:
    """Yield where a file is written before it has its name; only its owner can read it."""
    copy = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(copy, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except OSError as error:
        raise LedgerError(
            f"{path} cannot be made: {error.strerror}; nothing was written",
            remedy="name a place that you may write to",
        ) from error
    try:
        yield copy
    finally:
        for name in ("", *LOGS):
            copy.with_name(copy.name + name).unlink(missing_ok=True)


def remove_left(folder: Path, *, at: float) -> int:
    """Remove what writers left in a folder who were killed; return how many files that were.

    Only a ledger, or nothing, under a name of ours, that no one has written to for a day before
    `at` (Unix seconds) and that no one has locked. What cannot be removed stays.
    """
    removed = 0
    with suppress(OSError):
        for part in [*folder.iterdir()]:
            if _PART.fullmatch(part.name) and _is_left(part, at=at):
                for name in ("", *LOGS):
                    part.with_name(part.name + name).unlink(missing_ok=True)
                removed += 1
    return removed


def _is_left(part: Path, *, at: float) -> bool:
    logs = [part.with_name(part.name + name) for name in LOGS]
    files = [part, *(log for log in logs if log.exists())]
    if part.is_symlink() or any(one.stat().st_mtime > at - _LEFT for one in files):
        return False
    with part.open("rb") as opened:
        if opened.read(len(_HEAD)) not in (b"", _HEAD):
            return False
    try:
        with closing(sqlite3.connect(part, isolation_level=None, timeout=0)) as connection:
            connection.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error as error:
        # What is cut short is damaged, and no one's.
        return "locked" not in str(error)
    return True


def give_name(copy: Path, path: Path) -> None:
    """Give a file that is on the disk its name. Raises BadInput where that is taken."""
    try:
        try:
            # Unlike a rename it replaces nothing that came there meanwhile.
            os.link(copy, path)
        except FileExistsError:
            raise
        except OSError:
            # FAT, exFAT and many network mounts have no hard links: there the name is taken first.
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            os.replace(copy, path)
    except FileExistsError as error:
        raise BadInput(f"{path} already exists; nothing was written") from error
    sync_folder(path.parent)


def sync_file(path: Path) -> None:
    """Have a file's bytes on the disk."""
    # Windows syncs no file that is open to be read alone.
    with path.open("r+b") as written:
        os.fsync(written.fileno())


# Has an SQLite ledger make way for another: kept beside it, whole, and used by nobody meanwhile.
#
# SQLite takes a log for that of whatever file has its name. So no one may open the ledger between
# the last look and the replacement, and no log of the old one may stay: its lines would become the
# new one's.


@contextmanager
def made_way(file: Path, before: Path) -> Iterator[None]:
    """Keep what is at `file`, and its logs, as `before`; no one gets at it until the end.

    Raises LedgerError where another program has it open, BadInput where `before` is there.
    """
    if sys.platform == "win32":
        raise LedgerError(
            f"Windows replaces no ledger that is open; {file} is as it was",
            remedy=f"stop everything that uses it, rename {file} and the files that begin like it, "
            "then run the same command again",
        )
    with _alone_with(file) as connection:
        _keep(file, before, connection)
        keep_logs(file, before)
        yield


def keep_logs(file: Path, before: Path) -> None:
    """Move the logs of a ledger that was not closed, so that they are no other file's."""
    for name in LOGS:
        with contextlib.suppress(FileNotFoundError):
            os.rename(file.with_name(file.name + name), before.with_name(before.name + name))
    sync_folder(file.parent)


@contextmanager
def _alone_with(file: Path) -> Iterator[sqlite3.Connection | None]:
    """Keep everybody else out of a ledger; yield None for a file that is no sound database."""
    connection = sqlite3.connect(file, isolation_level=None, timeout=1.0)
    with contextlib.closing(connection):
        try:
            # It leaves the mode only for someone who is alone, and takes the log in before.
            (mode,) = connection.execute("PRAGMA journal_mode=DELETE").fetchone()
            alone = mode != "wal"
            if alone:
                # Anyone who opens it from now on waits, and finds that the file was replaced. The
                # lock outlasts the transaction, within which it could not be copied.
                connection.execute("PRAGMA locking_mode=EXCLUSIVE")
                connection.execute("BEGIN EXCLUSIVE")
                connection.execute("COMMIT")
        except sqlite3.DatabaseError as error:
            if "locked" not in str(error):
                # No one can work with it: anyone who has it open keeps its log.
                yield None
                return
            alone = False
        if not alone:
            raise LedgerError(
                f"another program has {file} open; the ledger is as it was",
                remedy="stop the board, the receiver and every run, then restore again",
            )
        yield connection


def _keep(file: Path, before: Path, connection: sqlite3.Connection | None) -> None:
    """Give what is at `file` a second name, or copy it where a file has one name alone."""
    try:
        os.link(file, before)
    except FileExistsError as error:
        raise BadInput(f"{before} already exists; the ledger is as it was") from error
    except OSError:
        with temporary(before) as copy:
            if connection is None:
                shutil.copyfile(file, copy)
            else:
                # To open and close the file here would let go of the lock.
                target = sqlite3.connect(copy)
                with contextlib.closing(target):
                    connection.backup(target)
            sync_file(copy)
            give_name(copy, before)
