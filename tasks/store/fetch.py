"""Downloads a video to the spool until every byte is there; resumes and retries.

Owns resuming and trying again. Knows no service: a signed address comes from `fresh_url`, is
never stored, and appears in no error, log or repr.
"""

from __future__ import annotations

import asyncio
import random as chance
import re
import zlib
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

from callsheet.tasks.runtime.errors import StoreError, VideoError
from callsheet.tasks.runtime.process import Clock, Random, Sleep, utc_now
from callsheet.tasks.runtime.retry import RetryPolicy, retry_after, spread
from callsheet.tasks.store.spool import BLOCK, RESERVE, Part, Source, SpooledFile
from callsheet.tasks.store.video_file import check_boxes

if TYPE_CHECKING:
    from callsheet.tasks.runtime.connections import Answer
    from callsheet.tasks.store.redirects import Redirects

T = TypeVar("T")
FreshUrl = Callable[[], Awaitable[str]]

_POLICY = RetryPolicy(first=0.5, longest=30.0, jitter=0.5)
#: A download that got this much further has not failed in vain.
_PROGRESS = 1024 * 1024
#: A server that asks for a longer rest than this is left to a later run.
_LONGEST_WAIT = 300.0
_THREADS = 8


class Fetcher:
    """Downloads over one pool of connections, none of which has our credentials."""

    def __init__(
        self,
        *,
        spool: Path,
        allow_http: bool = False,
        attempts: int = 5,
        stall_seconds: float = 30.0,
        reserve: int = RESERVE,
        clock: Clock = utc_now,
        sleep: Sleep = asyncio.sleep,
        random: Random = chance.random,
    ) -> None:
        self._spool = spool
        self._allow_http = allow_http
        self._stall_seconds = stall_seconds
        self._policy = replace(_POLICY, attempts=attempts)
        self._reserve = reserve
        self._clock = clock
        self._sleep = sleep
        self._random = random

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if "_redirects" in self.__dict__:
            await self._redirects.aclose()
        if "_threads" in self.__dict__:
            self._threads.shutdown(wait=False)

    async def fetch(self, name: str, fresh_url: FreshUrl) -> SpooledFile:
        """Download what `fresh_url` leads to into the spool as `name`, going on after each cut.

        Raises VideoError for bytes that are no video, StoreError when the bytes or the room for
        them cannot be had, and whatever `fresh_url` raises.
        """
        part = Part(self._spool, name)
        try:
            await self._fill(part, fresh_url)
            return await self._run(part.finish)
        finally:
            part.close()

    async def _fill(self, part: Part, fresh_url: FreshUrl) -> None:
        trouble: Trouble | None = None
        failures = far = 0
        while True:
            if trouble is None or trouble.fresh:
                url = await fresh_url()
            trouble = await self._attempt(part, url)
            if trouble is None:
                return
            await self._run(part.flush)
            if part.size >= far + _PROGRESS:
                failures, far = 0, part.size
            failures += 1
            if failures >= self._policy.attempts or trouble.wait > _LONGEST_WAIT:
                message = f"the video could not be downloaded: {trouble.reason}; run it again later"
                raise StoreError(message)
            if trouble.restart:
                part.restart()
            # The first refusal is most likely an address grown old: no need to wait.
            if failures > 1 or not trouble.fresh:
                told = spread(trouble.wait, self._random)
                await self._sleep(max(told, self._policy.pause(failures, self._random)))

    async def _attempt(self, part: Part, url: str) -> Trouble | None:
        from callsheet.tasks.store.redirects import NETWORK_ERRORS

        # Errors become values here: the ones of the HTTP libraries may hold the signed address.
        try:
            answer = await self._redirects.answer(url, _resuming(part))
            try:
                trouble = await self._take(part, answer)
            finally:
                answer.close()
        except NETWORK_ERRORS as error:
            return Trouble(f"the connection broke ({type(error).__name__})")
        if trouble is None and part.source.total is None:
            # Only the video itself can tell whether it is whole. Others are written at the end.
            await self._run(part.flush)
        return trouble or await check_whole(part)

    async def _take(self, part: Part, answer: Answer) -> Trouble | None:
        meaning = judge(
            answer.status,
            answer.headers,
            had=part.size,
            source=part.source,
            now=self._clock(),
        )
        if isinstance(meaning, Trouble):
            return meaning
        if isinstance(meaning, Complete):
            return None
        if isinstance(meaning, Begin):
            part.begin(meaning.source)
        body = Body(part, meaning)
        part.require_room(self._reserve)
        while chunk := await answer.some():
            body.take(chunk)
            if part.pending >= BLOCK:
                # The next block is received meanwhile.
                await self._run(part.flush)
        return body.end()

    async def _run(self, work: Callable[[], T]) -> T:
        """Do in a thread what waits for the disk: names are made and changed there, too.

        It comes to its end also when this is cancelled: its file is about to be closed.
        """
        working = asyncio.get_running_loop().run_in_executor(self._threads, work)
        try:
            await asyncio.wait({working})
        except asyncio.CancelledError:
            await asyncio.wait({working})
            working.exception()  # what was cancelled has no use for it
            raise
        return working.result()

    @cached_property
    def _redirects(self) -> Redirects:
        # Not needed by anyone who only looks at the store, and slow to import.
        from callsheet.tasks.store.redirects import Redirects

        return Redirects(allow_http=self._allow_http, stall_seconds=self._stall_seconds)

    @cached_property
    def _threads(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(_THREADS, thread_name_prefix="callsheet-spool")


def _resuming(part: Part) -> dict[str, str]:
    """Return the headers that ask for what is missing; none where everything is."""
    if part.size and part.source.etag:
        return {"Range": f"bytes={part.size}-", "If-Range": part.source.etag}
    return {}


# What a server's answer to a download means, and whether all of its bytes came.


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
    # No one said how long it is, and a connection that closes early looks like one that is
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
