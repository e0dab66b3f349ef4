"""Files that get their name once they are whole, and replace nothing that came there meanwhile.

Owns how that is done on file systems of every kind. Knows no table.
"""

from __future__ import annotations

import os
import re
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from callsheet.tasks.errors import BadInput, LedgerError

#: What SQLite keeps beside a database, under its name with this behind it.
LOGS = ("-wal", "-shm", "-journal")

#: How a file is called before it has its name.
_PART = re.compile(r"\..+\.[0-9a-f]{8}\.part")
#: What is written to is younger, in seconds: whoever began a part that is older is gone.
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

    Only a ledger, or nothing, under a name of ours, that nobody has written to for a day before
    `at` (Unix seconds) and that nobody has locked. What cannot be removed stays.
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
        # What is cut short is damaged, and nobody's.
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
    with path.open("rb") as written:
        os.fsync(written.fileno())


def sync_folder(folder: Path) -> None:
    """Have the names in a folder on the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
