"""The disk under spool and store: locked files, synced folders, and its troubles in sentences."""

from __future__ import annotations

import errno
import io
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from callsheet.tasks.errors import StoreError
from callsheet.tasks.plural import say_bytes

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
            f"{what} is full: {say_bytes(needed)} are needed in {folder}, {say_bytes(reserve)} "
            f"stay in reserve, and {say_bytes(free)} are free; make room and run the same command "
            "again"
        )
        raise StoreError(message)


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


class SharedSync:
    """Syncs folders that many threads write names in: one sync serves all who asked before it."""

    def __init__(self) -> None:
        self._asking = Lock()
        self._turns: dict[Path, _Turns] = {}

    def sync(self, folder: Path) -> None:
        """Return once a sync of `folder` is over that began after this was called."""
        with self._asking:
            turns = self._turns.setdefault(folder, _Turns())
            turns.users += 1
            begun = turns.begun
        try:
            with turns.one_at_a_time:
                if turns.begun == begun:
                    turns.begun += 1
                    sync_folder(folder)
        finally:
            with self._asking:
                turns.users -= 1
                if not turns.users:
                    del self._turns[folder]

    def asking(self, folder: Path) -> int:
        """Return how many threads wait for a sync of `folder` or are at it."""
        with self._asking:
            return self._turns[folder].users if folder in self._turns else 0


@dataclass
class _Turns:
    """The syncs of one folder: how many have begun, and how many threads care."""

    begun: int = 0
    users: int = 0
    one_at_a_time: Lock = field(default_factory=Lock)


def open_locked(path: str | Path, *, mode: int = 0o600) -> io.FileIO:
    """Open (or make) `path` for us alone, after whoever has it now."""
    while (file := try_open_locked(path, mode=mode, wait=True)) is None:
        continue
    return file


def try_open_locked(path: str | Path, *, mode: int = 0o600, wait: bool = False) -> io.FileIO | None:
    """Open (or make) `path` for us alone; None when somebody else has it."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, mode)
        file = io.FileIO(handle, "r+")
        if not lock(handle, wait=wait):
            file.close()
            return None
        # Its last holder may have renamed or removed it while we waited: then open anew.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle), os.stat(path)):
                return file
        file.close()


def lock(handle: int, *, wait: bool = False) -> bool:
    """Lock an open file; False when somebody else holds it."""
    try:
        import fcntl
    except ImportError:  # Windows has no flock, and refuses to rename or remove open files.
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError:  # A network mount without locks: nothing better is to be had there.
        return True
    return True
