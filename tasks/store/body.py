"""The bytes of an answer on their way into the spool, and whether all of them came."""

from __future__ import annotations

import asyncio
import zlib
from typing import TYPE_CHECKING

from tasks.errors import FilmError
from tasks.store.answer import Begin, Continue, Trouble
from tasks.store.film import check_boxes

if TYPE_CHECKING:
    from tasks.store.spool import Part

#: Undo gzip or zlib, whichever the bytes say they are.
_ANY_HEADER = 47


class Body:
    """Undoes compression, looks at the first bytes and counts to the end."""

    def __init__(self, part: Part, meaning: Begin | Continue) -> None:
        self._part = part
        compressed = isinstance(meaning, Begin) and meaning.compressed
        self._inflate = zlib.decompressobj(_ANY_HEADER) if compressed else None
        self._unseen = isinstance(meaning, Begin)
        self._broken = False

    def take(self, chunk: bytes) -> None:
        """Write the next bytes as they came from the server."""
        if self._inflate is not None:
            chunk = self._inflated(chunk)
        if self._unseen and chunk.strip():
            self._unseen = False
            _refuse_text(chunk)
        self._part.write(chunk)

    def end(self) -> Trouble | None:
        """Say what is wrong with what came, if anything is."""
        total = self._part.source.total
        if self._broken or (self._inflate is not None and not self._inflate.eof):
            return Trouble("the compressed film was cut or damaged", restart=True)
        if total is not None and self._part.size != total:
            beyond = self._part.size > total
            return Trouble(
                f"the film was cut at {self._part.size} of {total} bytes", restart=beyond
            )
        return None

    def _inflated(self, chunk: bytes) -> bytes:
        assert self._inflate is not None
        try:
            return self._inflate.decompress(chunk)
        except zlib.error:
            self._broken = True
            return b""


async def check_whole(part: Part) -> Trouble | None:
    """Make sure that a part whose last byte came is whole."""
    part.flush()
    if not part.size:
        raise FilmError("the download server sent an empty file instead of a film")
    if part.source.total is not None:
        return None
    # Nobody said how long it is, and a connection that closes early looks like one that is
    # done. Only the film itself can tell.
    try:
        await asyncio.to_thread(check_boxes, part.path, complete=True)
    except FilmError as error:
        return Trouble(f"it came without a length and {error}", restart=True)
    return None


def _refuse_text(chunk: bytes) -> None:
    if chunk.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"<", b"{"):
        raise FilmError("the download server sent a page of text instead of a film")
