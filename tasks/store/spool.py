"""The spool: a download on its way, with its digests, able to go on after a cut.

Owns `<name>.part`: what a killed process left in one, the next download of that name throws away.
Knows no HTTP.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from callsheet.tasks.runtime.crash_points import crashpoint
from callsheet.tasks.runtime.errors import StoreError
from callsheet.tasks.runtime.files import let_go_for_rename
from callsheet.tasks.store.disk import disk_trouble, make_private, require_room, try_open_locked

#: So much is hashed and written at a time.
BLOCK = 1024 * 1024
_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}")
_DISK = "the spool disk"
#: What a download leaves free of that, in bytes: others write there as well.
RESERVE = 32 * 1024 * 1024


@dataclass(frozen=True)
class Source:
    """What is being downloaded: with the same strong `etag`, more of the same bytes."""

    etag: str | None = None
    total: int | None = None
    content_type: str | None = None


@dataclass(frozen=True)
class SpooledFile:
    """A whole file in the spool. Anyone who asked for it removes it when it is delivered."""

    path: Path
    bytes: int
    sha256: str
    content_type: str | None


class Part:
    """One unfinished download, with a file from its first `flush` on.

    Only one process has that file at a time. What is small is written once, when all of it is here.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        # Texts and no Paths: half of what a small video costs here would be the making of them.
        self._final = os.path.join(folder, spool_name(name))
        self._part = f"{self._final}.part"
        self._file: io.FileIO | None = None
        self._busy = threading.Lock()
        self._pending: list[bytes] = []
        #: Bytes taken in all, and those of them not yet handed on.
        self.size = self.pending = 0
        self._start_over(Source())
        with disk_trouble(_DISK, folder):
            make_private(folder)

    @property
    def path(self) -> Path:
        """Where the bytes are that were flushed."""
        return Path(self._part)

    def begin(self, source: Source) -> None:
        """Forget every byte and expect `source` from its first one."""
        if self._file is not None:
            with disk_trouble(_DISK, self.folder):
                self._file.truncate(0)
                self._file.seek(0)
        self._start_over(source)

    def restart(self) -> None:
        """Forget every byte; the next answer says what to expect."""
        self.begin(Source())

    def require_room(self, reserve: int) -> None:
        """Raise StoreError when what is still to come will not fit."""
        needed = max(0, (self.source.total or 0) - self.size)
        require_room(_DISK, self.folder, needed, reserve=reserve)

    def take(self, data: bytes) -> None:
        """Take the next bytes; `flush` hands them to the digest and the disk."""
        self._pending.append(data)
        self.pending += len(data)
        self.size += len(data)

    def flush(self) -> None:
        """Hand what was taken to the digest and the disk; to be run in a thread.

        Raises StoreError where another process has the file.
        """
        with self._busy:
            if not self._pending:
                return
            file = self._file = self._file or self._opened()
            # One piece: for each the interpreter would be let go of twice, and waited for.
            data = b"".join(self._pending)
            self._pending, self.pending = [], 0
            self._sha256.update(data)
            with disk_trouble(_DISK, self.folder):
                written = file.write(data)
                while written < len(data):
                    written += file.write(data[written:])
            crashpoint("spool: a block is written")

    def finish(self) -> SpooledFile:
        """Close the whole file under its own name; there is something in it."""
        self.flush()
        crashpoint("spool: every byte is there")
        with self._busy:
            assert self._file is not None, "an empty file is no video"
            with disk_trouble(_DISK, self.folder):
                let_go_for_rename(self._file)
                os.replace(self._part, self._final)
            crashpoint("spool: the video has its name")
            self._file.close()
            self._file = None
        digest = self._sha256.hexdigest()
        return SpooledFile(Path(self._final), self.size, digest, self.source.content_type)

    def close(self) -> None:
        """Let go of a file that is not finished, and of the lock with it; the file goes."""
        # Not under a thread that writes: its bytes could end in a file that is opened meanwhile.
        with self._busy:
            if self._file is None:
                return
            let_go_for_rename(self._file)
            with suppress(OSError):
                os.unlink(self._part)
            self._file.close()
            self._file = None

    def _opened(self) -> io.FileIO:
        with disk_trouble(_DISK, self.folder):
            file = try_open_locked(self._part)
            if file is None:
                name = os.path.basename(self._final)
                message = f"another run is downloading {name}; it is left to that run"
                raise StoreError(message)
            # What a killed process left: nothing tells whether all of it reached the disk.
            if os.fstat(file.fileno()).st_size:
                file.truncate(0)
        crashpoint("spool: the part is open")
        return file

    def _start_over(self, source: Source) -> None:
        self.source = source
        self.size = self.pending = 0
        self._pending = []
        self._sha256 = hashlib.sha256()


def spool_name(name: str) -> str:
    """Return a file name for `name`: itself when it is plain, else a digest of it."""
    if _PLAIN_NAME.fullmatch(name):
        return name
    return hashlib.sha256(name.encode()).hexdigest()
