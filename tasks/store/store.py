"""What a store is, as a protocol and values, and what stands next to a video."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Literal, Protocol


@dataclass(frozen=True, slots=True)
class Listed:
    """A file that is there, and how large it is."""

    uri: str
    bytes: int


@dataclass(frozen=True)
class StoredFile:
    """A file in the store, as the store has it."""

    uri: str
    bytes: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class File:
    """A file to be stored: its bytes or where they are, and the digest they must have.

    A store on the same disk may take the file over instead of copying it: its owner removes it
    afterwards, and never writes to it again.
    """

    kind: FileKind
    name: str
    source: Path | bytes
    sha256: str

    @property
    def content_type(self) -> str:
        """What HTTP calls its kind."""
        return CONTENT_TYPES[self.kind]


class Store(Protocol):
    """A place for videos. A name is never given to two different files.

    A file goes by its name in the store, or by its whole address as deliveries have it: a path, or
    `s3://bucket/key`. What a file is asked for and the store cannot say raises StoreError.
    """

    @property
    def address(self) -> str:
        """The store as people write it."""

    async def check(self) -> Sequence[str]:
        """Raise StoreUnusable, with a remedy, unless videos can be written and read here.

        Return in words what it lacks that videos can do without.
        """

    async def put(self, *files: File, metadata: Mapping[str, str]) -> list[StoredFile]:
        """Store files whose names are free, or have these same bytes already.

        Together they cost less than one by one. Raises StoreError; with `conflict` when a name
        belongs to other bytes.
        """

    async def replace(self, name: str, source: Path | bytes, *, content_type: str) -> StoredFile:
        """Store `source` whatever the name held before; no one ever reads half of it."""

    async def keep(self, name: str, data: bytes, *, content_type: str) -> str | None:
        """Keep what can be made again, tried once; return its address.

        None where it was not to be had, or the name is someone else's: nothing is raised.
        """

    async def head(self, name: str) -> StoredFile | None:
        """Return what the store has under `name`, its sha256 proved, or None."""

    async def size(self, name: str) -> int | None:
        """Return how many bytes a file has, without reading it; None where there is none."""

    async def vouched(self, name: str) -> str | None:
        """Return the sha256 that the store itself has checked and keeps, if it does."""

    async def read(self, name: str) -> bytes | None:
        """Return the whole of a small file, or None where there is none."""

    def opened(self, name: str, spool: Path) -> AbstractAsyncContextManager[Path | None]:
        """Open a file to read it, fetched to `spool` where need be; None where there is none."""

    async def below(self, name: str) -> list[Listed]:
        """Return every file below a folder."""

    async def set_aside(self, name: str, mark: str) -> str:
        """Give a file another name, which holds `mark`, next to its own; return its new address.

        What has that name already is left alone: raises StoreError.
        """

    async def delete(self, name: str) -> None:
        """Delete a file; one that is not there is deleted."""

    def sign(
        self, name: str, *, lasting: int, content_type: str = "", disposition: str = ""
    ) -> str | None:
        """Return an address at which a browser reads a file for `lasting` seconds.

        None where only paths lead to files. May block, for credentials; StoreError without them.
        """

    def origin(self) -> str | None:
        """Return the origin that signed addresses have (`https://host`), where that can be said."""

    async def aclose(self) -> None:
        """Let go of connections and threads."""


def name_below(address: str, uri: str) -> str | None:
    """Return a file's name in the store at `address`, None where it is not in that store."""
    prefix = address.rstrip("/") + "/"
    return uri.removeprefix(prefix) if uri.startswith(prefix) else None


def marked(name: str, mark: str) -> str:
    """Return a name with a mark before its suffix: `video.mp4` becomes `video.<mark>.mp4`."""
    path = PurePath(name)
    return f"{name.removesuffix(path.suffix)}.{mark}{path.suffix}"


# The kinds of files of a delivery, and what stands next to a video.


FileKind = Literal["mp4", "srt", "vtt"]
CONTENT_TYPES: Mapping[FileKind, str] = {
    "mp4": "video/mp4",
    "srt": "application/x-subrip",
    "vtt": "text/vtt",
}

_SUFFIX = re.compile(r"\.(?:mp4|srt|vtt)$", re.I)


def name_beside(video: str, ending: str) -> str:
    """Return the name of a file next to a video: of `a/b/c.mp4`, `a/b/c.jpg`."""
    return f"{_SUFFIX.sub('', video)}{ending}"
