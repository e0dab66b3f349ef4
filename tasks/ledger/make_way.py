"""Has an SQLite ledger make way for another: kept beside it, whole, and used by nobody meanwhile.

SQLite takes a log for that of whatever file has its name. So nobody may open the ledger between
the last look and the replacement, and no log of the old one may stay: its lines would become the
new one's.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from callsheet.tasks.errors import BadInput, LedgerError
from callsheet.tasks.ledger.new_file import LOGS, give_name, sync_file, sync_folder, temporary


@contextmanager
def made_way(file: Path, before: Path) -> Iterator[None]:
    """Keep what is at `file`, and its logs, as `before`; nobody gets at it until the end.

    Raises LedgerError where another program has it open, BadInput where `before` is there.
    """
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
            # It leaves the mode only for somebody who is alone, and takes the log in before.
            (mode,) = connection.execute("PRAGMA journal_mode=DELETE").fetchone()
            alone = mode != "wal"
            if alone:
                # Whoever opens it from now on waits, and finds that the file was replaced. The lock
                # outlasts the transaction, within which it could not be copied.
                connection.execute("PRAGMA locking_mode=EXCLUSIVE")
                connection.execute("BEGIN EXCLUSIVE")
                connection.execute("COMMIT")
        except sqlite3.DatabaseError as error:
            if "locked" not in str(error):
                # Nobody can work with it: whoever has it open keeps its log.
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
