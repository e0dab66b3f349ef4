"""The logs of what is kept up: each part writes into a file of its own, which is read from here.

Files, not pipes: a part goes on whatever becomes of whoever reads it, and what it said last is
there when it is asked for. A file that has grown large begins anew, and the one before it is kept.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

#: Bytes of a log until it begins anew.
LARGEST = 10_000_000
#: Bytes of it that are read in one go, and in which its last words are looked for.
PIECE = 64 * 1024
#: Lines that count as last words.
LAST = 5


class Log:
    """The log of one part; what was there before is not read again."""

    def __init__(self, path: Path, *, largest: int = LARGEST) -> None:
        self.path = path
        self._largest = largest
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
        self._read = self.size()

    def size(self) -> int:
        """Return how many bytes it has; none where somebody has taken it away."""
        with contextlib.suppress(FileNotFoundError):
            return self.path.stat().st_size
        return 0

    def new_lines(self) -> Iterator[str]:
        """Yield the whole lines that came since the last time."""
        with self.path.open("rb") as file:
            # Somebody may have taken it away, and whoever writes has begun another.
            self._read = self._read if self._read <= self.size() else 0
            file.seek(self._read)
            while piece := file.read(PIECE):
                # Half a line waits for its other half, unless it is longer than a piece.
                whole = piece.rfind(b"\n") + 1 or (len(piece) if len(piece) == PIECE else 0)
                if not whole:
                    break
                self._read += whole
                file.seek(self._read)
                yield from piece[:whole].decode(errors="replace").splitlines()
        if self._read > self._largest:
            self._begin_anew()

    def _begin_anew(self) -> None:
        # Whoever writes appends, wherever the end is.
        with contextlib.suppress(OSError):
            shutil.copyfile(self.path, self.path.with_suffix(".log.1"))
            with self.path.open("r+b") as file:
                file.truncate(0)
            self._read = 0


def last_words(path: Path, count: int = LAST, *, since: int = 0) -> list[str]:
    """Return the last lines of a log that say anything, of those `since` so many bytes."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            # It may have begun anew since.
            file.seek(max(since if since <= size else 0, size - PIECE))
            lines = file.read().decode(errors="replace").splitlines()
    except OSError:
        return []
    return [line.rstrip() for line in lines if line.strip()][-count:]
