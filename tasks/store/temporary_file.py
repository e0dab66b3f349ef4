"""A file on its way to its name: written beside it, on the disk before the name exists."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Self

from callsheet.tasks.crash import crashpoint
from callsheet.tasks.store.disk import lock, open_locked
from callsheet.tasks.store.measure import Measure, blocks, measure_blocks, open_source


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

    def write(self, source: Path | bytes) -> Measure:
        """Copy `source` onto the disk and return what was copied."""
        with open_source(source) as file:
            copied = measure_blocks(self._copied(blocks(file)), md5=False)
        crashpoint("store: the temporary file is written")
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
            os.rename(self.path, self._target)
            return True
        finally:
            guard.unlink(missing_ok=True)
            file.close()


def sync_and_measure(path: Path) -> Measure:
    """Return what a finished file holds, once that is on the disk."""
    with open_source(path) as file:
        os.fsync(file.fileno())
        return measure_blocks(blocks(file), md5=False)


def sweep(folder: Path) -> None:
    """Remove the temporary files in `folder` that nobody writes any more."""
    # One at a time: there may be a hundred thousand. What may not be listed is left alone.
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(".callsheet-") and entry.name.endswith(".part"):
                _remove_left(entry.path)


def _remove_left(path: str) -> None:
    with suppress(OSError):
        handle = os.open(path, os.O_RDWR)
        try:
            # One that somebody still writes is locked by them.
            if lock(handle):
                os.unlink(path)
        finally:
            os.close(handle)
