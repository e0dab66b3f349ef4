"""Downloads a film to the spool and does not let go until every byte is there.

Owns resuming and trying again. Knows no service: a signed address comes from `fresh_url`, is
never stored, and appears in no error, log or repr.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from tasks.errors import FilmError, StoreError
from tasks.store.answer import Begin, Complete, Trouble, judge
from tasks.store.body import Body, check_whole
from tasks.store.redirects import Redirects
from tasks.store.retry_budget import RetryBudget
from tasks.store.spool import Part, SpooledFile

if TYPE_CHECKING:
    import httpx

FreshUrl = Callable[[], Awaitable[str]]

#: A server that asks for a longer rest than this is left to a later run.
_LONGEST_WAIT = 300.0


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
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._spool = spool
        self._redirects = Redirects(transport, allow_http=allow_http, stall_seconds=stall_seconds)
        self._attempts = attempts
        self._reserve = reserve
        self._clock = clock
        self._sleep = sleep
        self._jitter = jitter

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
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
        budget = RetryBudget(self._attempts, jitter=self._jitter)
        url = await fresh_url()
        while (trouble := await self._attempt(part, url)) is not None:
            part.flush()
            pause = budget.pause(part.size)
            if pause is None or trouble.wait > _LONGEST_WAIT:
                message = f"the film could not be downloaded: {trouble.reason}; run it again later"
                raise StoreError(message)
            if trouble.restart:
                part.restart()
            # The first refusal is most likely an address grown old: no need to wait.
            if not trouble.fresh or budget.failures > 1:
                await self._sleep(max(pause, trouble.wait))
            if trouble.fresh:
                url = await fresh_url()

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


def _headers(part: Part) -> dict[str, str]:
    headers = {"Accept": "*/*", "Accept-Encoding": "identity", "User-Agent": "callsheet"}
    if part.size and part.source.etag:
        return headers | {"Range": f"bytes={part.size}-", "If-Range": part.source.etag}
    return headers
