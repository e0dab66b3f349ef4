"""Files that get their name once they are whole, and replace nothing that came there meanwhile.

Owns how that is done on file systems of every kind. Knows no table.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tasks.errors import BadInput, LedgerError

#: What SQLite keeps beside a database, under its name with this behind it.
LOGS = ("-wal", "-shm", "-journal")


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
        raise BadInput(f"{path} is there already; nothing was written") from error
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
