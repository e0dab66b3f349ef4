"""What a server's answer to a download means, and whether all of its bytes came."""

from __future__ import annotations

import asyncio
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from callsheet.tasks.errors import VideoError
from callsheet.tasks.retry_after import retry_after
from callsheet.tasks.store.spool import Part, Source
from callsheet.tasks.store.video_file import check_boxes

_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)")
_UNRANGED = re.compile(r"bytes \*/(\d+)")
_NOT_VIDEOS = ("text/", "application/xml", "application/json", "application/xhtml")
_COMPRESSED = {"gzip", "x-gzip", "deflate"}
#: Undo gzip or zlib, whichever the bytes say they are.
_ANY_HEADER = 47


@dataclass(frozen=True)
class Begin:
    """The whole file follows."""

    source: Source
    compressed: bool = False


@dataclass(frozen=True)
class Continue:
    """What was missing follows."""


@dataclass(frozen=True)
class Complete:
    """Nothing was missing."""


@dataclass(frozen=True)
class Trouble:
    """Not this time. `fresh`: another address is needed; `restart`: the bytes had are no use."""

    reason: str
    fresh: bool = False
    restart: bool = False
    wait: float = 0.0


Meaning = Begin | Continue | Complete | Trouble


def judge(
    status: int, headers: Mapping[str, str], *, had: int, source: Source, now: datetime
) -> Meaning:
    """Say what to do with an answer when `had` bytes of `source` are here already."""
    if status == 200:
        return _whole(headers)
    if status == 206:
        return _rest(headers, had, source)
    if status == 416:
        return _nothing_more(headers, had, source)
    if status in (408, 425, 429) or status >= 500:
        reason = f"the download server answered {status}"
        return Trouble(reason, wait=retry_after(headers, now=now) or 0.0)
    # 401, 403 and 410 mean an address that is no longer good; object stores say the same with
    # 400 and 404. A fresh address either helps or answers the same until the attempts are spent.
    return Trouble(f"the download address was refused ({status})", fresh=True)


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
        self._part.take(chunk)

    def end(self) -> Trouble | None:
        """Say what is wrong with what came, if anything is."""
        total = self._part.source.total
        if self._broken or (self._inflate is not None and not self._inflate.eof):
            return Trouble("the compressed video was cut or damaged", restart=True)
        if total is not None and self._part.size != total:
            beyond = self._part.size > total
            return Trouble(
                f"the video was cut at {self._part.size} of {total} bytes", restart=beyond
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
    """Make sure that a flushed part whose last byte came is whole."""
    if not part.size:
        raise VideoError("the download server sent an empty file instead of a video")
    if part.source.total is not None:
        return None
    # Nobody said how long it is, and a connection that closes early looks like one that is
    # done. Only the video itself can tell.
    try:
        await asyncio.to_thread(check_boxes, part.path, complete=True)
    except VideoError as error:
        return Trouble(f"it came without a length and {error}", restart=True)
    return None


def _refuse_text(chunk: bytes) -> None:
    if chunk.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"<", b"{"):
        raise VideoError("the download server sent a page of text instead of a video")


def _whole(headers: Mapping[str, str]) -> Meaning:
    kind = headers.get("content-type")
    if kind and kind.strip().lower().startswith(_NOT_VIDEOS):
        message = f"the download server sent {kind.split(';')[0].strip()} instead of a video"
        raise VideoError(message)
    length = _number(headers.get("content-length"))
    encoding = headers.get("content-encoding", "").strip().lower()
    if encoding in ("", "identity"):
        return Begin(Source(_strong(headers.get("etag")), length, kind))
    if encoding not in _COMPRESSED:
        raise VideoError(f'the download server compressed the video with "{encoding[:20]}"')
    # We asked for no compression. It can be undone, but not taken up in the middle.
    return Begin(Source(content_type=kind), compressed=True)


def _rest(headers: Mapping[str, str], had: int, source: Source) -> Meaning:
    found = _RANGE.fullmatch(headers.get("content-range", "").strip())
    if not had or not found or int(found[1]) != had:
        return Trouble("the download server sent another part than was asked for", restart=True)
    total = None if found[3] == "*" else int(found[3])
    if total is not None and source.total is not None and total != source.total:
        return Trouble("the video changed its length on the way", restart=True)
    if "etag" in headers and _strong(headers["etag"]) != source.etag:
        return Trouble("the video changed on the way", restart=True)
    return Continue()


def _nothing_more(headers: Mapping[str, str], had: int, source: Source) -> Meaning:
    found = _UNRANGED.fullmatch(headers.get("content-range", "").strip())
    if had and found and int(found[1]) == had and source.total in (None, had):
        return Complete()
    return Trouble("the video is shorter than what was downloaded of it", restart=True)


def _strong(etag: str | None) -> str | None:
    # A weak ETag (W/) promises the same meaning, not the same bytes. It is sent back: as text.
    usable = etag and etag.startswith('"') and etag.isascii() and etag.isprintable()
    return etag if usable else None


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() else None
