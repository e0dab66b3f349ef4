"""Files that are written as a whole, and locks and syncs as far as the system has them."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from io import FileIO
from pathlib import Path


def lock(handle: int, *, wait: bool = False) -> bool:
    """Lock an open file until it is closed; False when somebody else holds it.

    The kernel takes the lock back from a process that was killed. Windows has none, and refuses to
    rename or remove open files: there it is always free.
    """
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError:  # A network mount without locks: nothing better is to be had there.
        return True
    return True


def let_go_for_rename(file: FileIO) -> None:
    """Close a file that gets another name or goes, on Windows: it does so to no open file."""
    if sys.platform == "win32":
        file.close()


def write_whole(path: Path, content: bytes) -> None:
    """Put content in place of a file, readable by its owner alone: all of it or nothing.

    The folder has to be there.
    """
    # Half of the commands write no such file.
    import tempfile

    number, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:60]}.")
    try:
        with open(number, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make a name that was just written in `folder` survive a power cut."""
    # Not every system lets a folder be opened or synced (Windows, some network mounts).
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
