"""Files on disk: locks, syncs, temporary files, sizes and digests."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Self

from callsheet.tasks.runtime.crash_points import crashpoint
from callsheet.tasks.runtime.errors import StoreError
from callsheet.tasks.runtime.files import let_go_for_rename, lock
from callsheet.tasks.values.amounts import say_bytes

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
        message = f"{what} is full; make room in {folder} and run the same command again"
        return StoreError(message, full=True)
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
        raise StoreError(message, full=True)


def make_private(folder: Path) -> None:
    """Make `folder` for this user alone; one that exists is left as its owner wants it."""
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)


def open_locked(path: str | Path, *, mode: int = 0o600) -> io.FileIO:
    """Open (or make) `path` for us alone, after anyone who has it now."""
    while (file := try_open_locked(path, mode=mode, wait=True)) is None:
        continue
    return file


def try_open_locked(path: str | Path, *, mode: int = 0o600, wait: bool = False) -> io.FileIO | None:
    """Open (or make) `path` for us alone; None when someone else has it."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, mode)
        file = io.FileIO(handle, "r+")
        if not lock(handle, wait=wait):
            file.close()
            return None
        # Its last holder may have renamed or removed it while we waited: then open again.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle), os.stat(path)):
                return file
        file.close()


# A file on its way to its name: written beside it, on the disk before the name exists.


class TemporaryFile:
    """Becomes `target` or leaves nothing behind; what a killed process left, `sweep` removes."""

    def __init__(self, target: Path) -> None:
        self._target = target
        self.path = target.with_name(f".callsheet-{secrets.token_hex(8)}.part")

    def __enter__(self) -> Self:
        # Videos are for others to read: the user's umask decides, as with any file they make.
        self._file = open_locked(self.path, mode=0o666)
        crashpoint("store: the temporary file is open")
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        with suppress(OSError):
            self.path.unlink(missing_ok=True)

    def write(self, source: Path | bytes, *, sync: bool = True) -> Measure:
        """Copy `source`, onto the disk if it is to `sync`, and return what was copied."""
        with open_source(source) as file:
            copied = measure_blocks(self._copied(blocks(file)), md5=False)
        crashpoint("store: the temporary file is written")
        if sync:
            os.fsync(self._file.fileno())
            crashpoint("store: the temporary file is on the disk")
        return copied

    def read_back(self) -> Measure:
        """Return what the file holds, read from its first byte."""
        self._file.seek(0)
        return measure_blocks(blocks(self._file), md5=False)

    def publish(self) -> bool:
        """Give the file its name; False when the name is taken."""
        try:
            # Unlike a rename, a link never replaces what is there.
            os.link(self.path, self._target)
            crashpoint("store: the temporary file has its name too")
        except FileExistsError:
            return False
        except OSError:
            return self._rename_if_free()
        return True

    def overwrite(self) -> None:
        """Give the file its name, taking it from whatever had it."""
        let_go_for_rename(self._file)
        os.replace(self.path, self._target)
        crashpoint("store: the temporary file took the name")

    def _copied(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        for piece in pieces:
            left = memoryview(piece)
            while left:
                left = left[self._file.write(left) :]
            yield piece

    def _rename_if_free(self) -> bool:
        # FAT, exFAT and many network mounts have no hard links. There, one of us at a time
        # looks and renames; a crash lets go of the lock.
        mark = hashlib.sha256(self._target.name.encode()).hexdigest()[:16]
        guard = self._target.with_name(f".callsheet-{mark}.lock")
        file = open_locked(guard)
        try:
            if os.path.lexists(self._target):
                return False
            let_go_for_rename(self._file)
            os.rename(self.path, self._target)
            return True
        finally:
            let_go_for_rename(file)
            guard.unlink(missing_ok=True)
            file.close()


def sync_and_measure(path: Path) -> Measure:
    """Return what a finished file holds, once that is on the disk."""
    # Windows syncs no file that is open to be read alone.
    with path.open("r+b") as file:
        os.fsync(file.fileno())
        return measure_blocks(blocks(file), md5=False)


def sweep(folder: Path) -> None:
    """Remove the temporary files in `folder` that no one writes any more."""
    # One at a time: there may be a hundred thousand. What may not be listed is left alone.
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(".callsheet-") and entry.name.endswith(".part"):
                _remove_left(entry.path)


def _remove_left(path: str) -> None:
    with suppress(OSError):
        handle = os.open(path, os.O_RDWR)
        try:
            # One that someone still writes is locked by them.
            if lock(handle):
                os.unlink(path)
        finally:
            os.close(handle)


# How large some bytes are, and their digests.


#: So much is read or written at a time.
BLOCK = 1024 * 1024


@dataclass(frozen=True)
class Measure:
    """A size and the digests, in hex; `md5` is empty when no one asked for it."""

    bytes: int
    sha256: str
    md5: str


def measure(source: Path | bytes, *, md5: bool = True) -> Measure:
    """Return the size and digests of a file or of bytes."""
    with open_source(source) as file:
        return measure_blocks(blocks(file), md5=md5)


def measure_blocks(pieces: Iterator[bytes], *, md5: bool = True) -> Measure:
    """Return the size and digests of what `pieces` add up to."""
    size, sha256 = 0, hashlib.sha256()
    other = hashlib.md5(usedforsecurity=False) if md5 else None
    for piece in pieces:
        size += len(piece)
        sha256.update(piece)
        if other is not None:
            other.update(piece)
    return Measure(size, sha256.hexdigest(), other.hexdigest() if other is not None else "")


def open_source(source: Path | bytes) -> BinaryIO:
    """Open a file, or bytes as if they were one."""
    return io.BytesIO(source) if isinstance(source, bytes) else source.open("rb")


def blocks(file: BinaryIO) -> Iterator[bytes]:
    """Yield what is left of `file`."""
    while block := file.read(BLOCK):
        yield block
