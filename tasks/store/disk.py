"""What a full or broken disk means, in sentences."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tasks.errors import StoreError

#: No space, over the quota, and larger than this process may write: one meaning for people.
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@contextmanager
def disk_trouble(what: str, folder: Path) -> Iterator[None]:
    """Turn an OSError of the block into a StoreError about `what` (such as "the spool disk")."""
    try:
        yield
    except OSError as error:
        trouble = _store_error(error, what, folder)
    else:
        return
    raise trouble


def _store_error(error: OSError, what: str, folder: Path) -> StoreError:
    if error.errno in _FULL:
        return StoreError(f"{what} is full; make room in {folder} and run the same command again")
    return StoreError(f"{what} cannot be used at {folder}: {os_reason(error)}")


def os_reason(error: OSError) -> str:
    """Return the system's own words for an error, without paths."""
    return os.strerror(error.errno) if error.errno else type(error).__name__


def require_room(what: str, folder: Path, needed: int, *, reserve: int) -> None:
    """Raise StoreError unless `needed` bytes fit in `folder` and leave `reserve` free."""
    with disk_trouble(what, folder):
        free = shutil.disk_usage(folder).free
    if free < needed + reserve:
        message = (
            f"{what} is full: {say_bytes(needed)} are needed in {folder} and {say_bytes(free)} "
            "are free; make room and run the same command again"
        )
        raise StoreError(message)


def say_bytes(count: int) -> str:
    """Return a size in the unit a person would use: `812 bytes`, `4.2 MB`."""
    amount = float(count)
    for unit in ("bytes", "kB", "MB"):
        if amount < 1000:
            return f"{count} bytes" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"


def make_private(folder: Path) -> None:
    """Make `folder` for this user alone; one that exists is left as its owner wants it."""
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)


def sync_folder(folder: Path) -> None:
    """Make a name that was just written in `folder` survive a power cut."""
    # Not every system lets a folder be opened or synced (Windows, some network mounts).
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        return
    finally:
        os.close(handle)
