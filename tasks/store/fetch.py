"""Downloads a film to the spool and does not let go until every byte is there.

Owns resuming, trying again and redirects, which are looked at one by one. Knows no service: a
signed address comes from `fresh_url`, is never stored, and appears in no error, log or repr.
"""

from __future__ import annotations

import asyncio
import random as chance
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from tasks.clock import Clock, Random, Sleep, utc_now
from tasks.errors import FilmError, StoreError
from tasks.retry import RetryPolicy, retry
from tasks.store.answer import Begin, Body, Complete, Trouble, check_whole, judge
from tasks.store.spool import Part, SpooledFile

if TYPE_CHECKING:
    import httpx

FreshUrl = Callable[[], Awaitable[str]]

_POLICY = RetryPolicy(first=0.5, longest=30.0, jitter=0.5)
#: A download that got this much further has not failed in vain.
_PROGRESS = 1024 * 1024
#: A server that asks for a longer rest than this is left to a later run.
_LONGEST_WAIT = 300.0
_REDIRECTS = 3
_REDIRECT = {301, 302, 303, 307, 308}


class Fetcher:
    """Downloads over one pool of connections, none of which carries our credentials."""

    def __init__(
        self,
        *,
        spool: Path,
        allow_http: bool = False,
        transport: httpx.AsyncBaseTransport | None = None,
        attempts: int = 5,
        stall_seconds: float = 30.0,
        reserve: int = 32 * 1024 * 1024,
        clock: Clock = utc_now,
        sleep: Sleep = asyncio.sleep,
        random: Random = chance.random,
    ) -> None:
        self._spool = spool
        self._redirects = Redirects(transport, allow_http=allow_http, stall_seconds=stall_seconds)
        self._attempts = attempts
        self._reserve = reserve
        self._clock = clock
        self._sleep = sleep
        self._random = random

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._redirects.aclose()

    async def fetch(self, name: str, fresh_url: FreshUrl) -> SpooledFile:
        """Download what `fresh_url` leads to into the spool as `name`, going on where it ended.

        Raises FilmError for bytes that are no film, StoreError when the bytes or the room for
        them cannot be had, and whatever `fresh_url` raises.
        """
        part = Part(self._spool, name)
        try:
            if part.left:
                await asyncio.to_thread(part.resume)
            await self._fill(part, fresh_url)
            return part.finish()
        except FilmError:
            part.discard()
            raise
        finally:
            part.close()

    async def _fill(self, part: Part, fresh_url: FreshUrl) -> None:
        download = _Download(part, fresh_url, self._attempt)

        async def pause(seconds: float) -> None:
            # The first refusal is most likely an address grown old: no need to wait.
            if not (download.wants_address and download.failures == 1):
                await self._sleep(seconds)

        trouble = await retry(
            download.attempt,
            replace(_POLICY, attempts=self._attempts),
            again=lambda trouble: trouble is not None and trouble.wait <= _LONGEST_WAIT,
            at_least=lambda trouble: trouble.wait if trouble else 0.0,
            failures=lambda: download.failures,
            sleep=pause,
            random=self._random,
        )
        if trouble is not None:
            message = f"the film could not be downloaded: {trouble.reason}; run it again later"
            raise StoreError(message)

    async def _attempt(self, part: Part, url: str) -> Trouble | None:
        from tasks.store.transport import NETWORK_ERRORS

        # Errors become values here: the ones of the HTTP libraries may hold the signed address.
        try:
            async with self._redirects.answer(url, _headers(part)) as answer:
                trouble = await self._take(part, answer)
        except NETWORK_ERRORS as error:
            return Trouble(f"the connection broke ({type(error).__name__})")
        return trouble or await check_whole(part)

    async def _take(self, part: Part, answer: httpx.Response) -> Trouble | None:
        meaning = judge(
            answer.status_code,
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
        async for chunk in answer.aiter_raw():
            body.take(chunk)
        return body.end()


class _Download:
    """The attempts at one file: where it is asked for now, and how many failed in vain."""

    def __init__(
        self,
        part: Part,
        fresh_url: FreshUrl,
        attempt: Callable[[Part, str], Awaitable[Trouble | None]],
    ) -> None:
        self._part = part
        self._fresh_url = fresh_url
        self._attempt = attempt
        self._url = ""
        self._trouble: Trouble | None = None
        self._far = 0
        self.failures = 0

    @property
    def wants_address(self) -> bool:
        """Whether the next attempt is at another address."""
        return self._trouble is None or self._trouble.fresh

    async def attempt(self) -> Trouble | None:
        """Ask for what is missing; return what went wrong."""
        if self._trouble is not None and self._trouble.restart:
            self._part.restart()
        if self.wants_address:
            self._url = await self._fresh_url()
        self._trouble = await self._attempt(self._part, self._url)
        if self._trouble is not None:
            self._part.flush()
            if self._part.size >= self._far + _PROGRESS:
                self.failures, self._far = 0, self._part.size
            self.failures += 1
        return self._trouble


def _headers(part: Part) -> dict[str, str]:
    headers = {"Accept": "*/*", "Accept-Encoding": "identity", "User-Agent": "callsheet"}
    if part.size and part.source.etag:
        return headers | {"Range": f"bytes={part.size}-", "If-Range": part.source.etag}
    return headers


class Redirects:
    """Asks for files without credentials, cookies or compression."""

    def __init__(
        self,
        transport: httpx.AsyncBaseTransport | None = None,
        *,
        allow_http: bool,
        stall_seconds: float,
    ) -> None:
        self._transport = transport
        self._allow_http = allow_http
        self._timeouts = dict.fromkeys(("connect", "read", "write", "pool"), stall_seconds)

    @asynccontextmanager
    async def answer(self, address: str, headers: dict[str, str]) -> AsyncIterator[httpx.Response]:
        """Yield the first answer that is no redirect; raise StoreError for a bad one."""
        url = check_address(address, allow_http=self._allow_http)
        for _ in range(_REDIRECTS + 1):
            answer = await self._send(url, headers)
            try:
                if answer.status_code not in _REDIRECT:
                    yield answer
                    return
            finally:
                await answer.aclose()
            location = answer.headers.get("location", "")
            url = check_address(location, allow_http=self._allow_http, base=url)
        raise StoreError("the download address led from one place to the next more than 3 times")

    async def aclose(self) -> None:
        """Close every connection."""
        if self._transport is not None:
            await self._transport.aclose()

    async def _send(self, url: httpx.URL, headers: dict[str, str]) -> httpx.Response:
        import httpx

        if self._transport is None:
            from tasks.store.transport import ExactTransport

            self._transport = ExactTransport()
        # The transport itself, not an httpx client: a client logs every address at INFO.
        request = httpx.Request("GET", url, headers=headers, extensions={"timeout": self._timeouts})
        return await self._transport.handle_async_request(request)


def check_address(text: str, *, allow_http: bool, base: httpx.URL | None = None) -> httpx.URL:
    """Return the address `text` (a redirect's, seen from `base`) or raise StoreError."""
    url = _parse(text, base)
    if url is None or not url.host:
        raise StoreError("the service gave a download address that cannot be read")
    if url.userinfo:
        message = f"the download address at {url.host} holds a user name; it was not used"
        raise StoreError(message, permanent=True)
    # Even where plain http is allowed, nothing may lead from a private road to a public one.
    downgraded = base is not None and base.scheme == "https"
    if url.scheme != "https" and (url.scheme != "http" or downgraded or not allow_http):
        message = f"the download address at {url.host} is not https; it was not used"
        raise StoreError(message, permanent=True)
    return url


def _parse(text: str, base: httpx.URL | None) -> httpx.URL | None:
    import httpx

    try:
        return base.join(text) if base is not None else httpx.URL(text)
    except (httpx.InvalidURL, ValueError, TypeError):
        return None
