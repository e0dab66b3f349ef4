"""Files that one process (and one task) at a time may write, released by the system on a crash."""

from __future__ import annotations

import io
import os
from contextlib import suppress
from pathlib import Path


def open_locked(path: Path, *, mode: int = 0o600) -> io.FileIO:
    """Open (or make) `path` for us alone, after whoever has it now."""
    while (file := try_open_locked(path, mode=mode, wait=True)) is None:
        continue
    return file


def try_open_locked(path: Path, *, mode: int = 0o600, wait: bool = False) -> io.FileIO | None:
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
