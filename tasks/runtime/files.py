"""Files that are written as a whole, and locks and syncs as far as the system has them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import IO

from callsheet.tasks.runtime.errors import BadInput


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
    with _replacing(path, mode=0o600) as file:
        file.write(content)


def check_not_sheet(output: str, sheet: str | None) -> None:
    """Raise BadInput if a file to write is the sheet of a campaign: its rows would be lost."""
    if sheet and Path(output).is_file() and Path(output).resolve() == Path(sheet).resolve():
        raise BadInput(
            f"{output} is the sheet itself, and would be replaced; nothing was written",
            remedy="name another file",
        )


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that gets its name when it is complete; raise BadInput if that fails.

    Write directly to an existing device or pipe, and never replace it.
    """
    if path.is_dir():
        raise BadInput(f"{path} is a folder", remedy="name a file in it")
    if not path.parent.is_dir():
        raise BadInput(f"there is no folder {path.parent}", remedy="make it, or name another")
    try:
        if path.exists() and not path.is_file():
            with path.open("wb") as file:
                yield file
            return
        # Other people may read this file, so the user decides.
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask()
        # What a link leads to is replaced, not the link.
        with _replacing(path.resolve(), mode=mode) as file:
            yield file
    except OSError as error:
        raise BadInput(
            f"{path} cannot be written: {error.strerror}",
            remedy="make room there, or name a file in a folder that you may write to",
        ) from error


@contextmanager
def _replacing(path: Path, *, mode: int) -> Iterator[IO[bytes]]:
    # Half of the commands write no such file.
    import tempfile

    number, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:60]}.")
    try:
        with open(number, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    sync_folder(path.parent)


def _umask() -> int:
    # The system tells it only to those who change it.
    umask = os.umask(0o077)
    os.umask(umask)
    return umask


def sync_folder(folder: Path) -> None:
    """Make a name that was just written in `folder` survive a power cut."""
    # Not every system lets a folder be opened or synced (Windows, some network mounts).
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
