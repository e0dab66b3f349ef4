"""Speaks to the auth server: one request, one whole answer, no redirect followed, no cookie.

Owns how often a request is repeated. What is sent here are codes and tokens, so no exception that
leaves this file carries a request, an address with a query, or a body.
"""

from __future__ import annotations

import asyncio
import random as chance
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from functools import partial
from typing import Any, Self
from urllib.parse import urlencode, urlsplit

import httpx

from callsheet.tasks.clock import Clock, Random, Sleep, utc_now
from callsheet.tasks.errors import CallsheetError, ConfigurationError, Parked
from callsheet.tasks.retry import RetryPolicy, retry
from callsheet.tasks.retry_after import retry_after
from callsheet.tasks.service.outcome import Outcome, of_exception
from callsheet.tasks.service.response import Response
from callsheet.tasks.service.transport import default_transport

Transports = Callable[[str], httpx.AsyncBaseTransport]

#: One exchange may take so long, in seconds, however its answer drips.
LONGEST = 60.0
#: For a request that made nothing yet.
POLICY = RetryPolicy(attempts=3, first=1.0, factor=3.0, jitter=0.0)
#: What asks to be left alone for longer, in seconds, is told to a person instead of waited for.
LONGEST_WAIT = 30.0
#: Where the service does not say when to come back, in seconds.
LATER = 60.0
_TIMEOUTS = {"connect": 10.0, "read": 30.0, "write": 30.0, "pool": 30.0}


class NoAnswer(Exception):
    """No whole answer came back; `left` is False where the request is proved not to have left."""

    def __init__(self, host: str, *, left: bool) -> None:
        super().__init__(f"{host} {'did not answer' if left else 'could not be reached'}")
        self.left = left


class Exchange:
    """The connections of one login, and its time. Use it as `async with`."""

    def __init__(
        self,
        *,
        transports: Transports | None = None,
        sleep: Sleep = asyncio.sleep,
        clock: Clock = utc_now,
        monotonic: Callable[[], float] = time.monotonic,
        random: Random = chance.random,
        longest: float = LONGEST,
    ) -> None:
        self._transports = transports or partial(default_transport, limit=4)
        self._open: dict[str, httpx.AsyncBaseTransport] = {}
        self._longest = longest
        self.random = random
        self.sleep = sleep
        self.clock = clock
        self.monotonic = monotonic

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for transport in self._open.values():
            await transport.aclose()

    async def get(self, url: str) -> Response:
        """Read a public document; raise NoAnswer."""
        return await self._send("GET", url, None, {})

    async def post_form(self, url: str, members: Mapping[str, str]) -> Response:
        """Send a form; raise NoAnswer."""
        body = urlencode(members).encode()
        return await self._send("POST", url, body, _FORM)

    async def post_json(self, url: str, members: Mapping[str, Any]) -> Response:
        """Send a JSON document; raise NoAnswer."""
        return await self._send("POST", url, httpx.Request("POST", url, json=members).read(), _JSON)

    async def with_retries(
        self, send: Callable[[], Awaitable[Response]], *, only_unsent: bool = False
    ) -> Response:
        """Return the response to `send()`, sent up to three times while the service is in trouble.

        With `only_unsent`, for what works once, it is repeated only where it never left. Raises
        Parked when the trouble stays, or is to stay for long.
        """

        async def attempt() -> Response | NoAnswer:
            try:
                return await send()
            except NoAnswer as silence:
                return silence

        def again(result: Response | NoAnswer) -> bool:
            if isinstance(result, NoAnswer):
                return not (only_unsent and result.left)
            return in_trouble(result) and not only_unsent and self.told(result) <= LONGEST_WAIT

        result = await retry(
            attempt,
            POLICY,
            again=again,
            at_least=lambda result: self.told(result) if isinstance(result, Response) else 0.0,
            sleep=self.sleep,
            random=self.random,
        )
        if isinstance(result, NoAnswer):
            raise self.trouble(str(result))
        if in_trouble(result):
            raise self.trouble(f"it answered {result.status}", result)
        return result

    def told(self, response: Response) -> float:
        """Return how many seconds the server asks to be left alone."""
        return retry_after(response.headers, now=self.clock()) or 0.0

    def trouble(self, words: str, response: Response | None = None) -> CallsheetError:
        """Return the error for an auth server that is in trouble: nothing is lost, come back."""
        told = self.told(response) if response else 0.0
        return Parked(
            f"the auth server is in trouble ({words}); you were not logged in",
            until=self.clock() + timedelta(seconds=told or LATER),
            remedy="run the same command again then; if this stays so, check CALLSHEET_AUTH_URL",
        )

    async def _send(
        self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]
    ) -> Response:
        host = urlsplit(url).netloc
        request = httpx.Request(
            method,
            url,
            content=body,
            headers={**_HEADERS, **headers},
            extensions={"timeout": _TIMEOUTS},
        )
        try:
            async with asyncio.timeout(self._longest):
                came = await self._transport(url).handle_async_request(request)
                try:
                    content = await came.aread()
                finally:
                    await came.aclose()
        except Exception as cause:
            outcome = Outcome.LOST if isinstance(cause, TimeoutError) else of_exception(cause)
            if outcome is None:
                raise
        else:
            return Response(came.status_code, came.headers, content)
        if outcome is Outcome.UNSENDABLE:
            raise ConfigurationError(
                f"{host} cannot be spoken to: its address or its certificate is not right",
                remedy="check CALLSHEET_AUTH_URL",
            )
        raise NoAnswer(host, left=outcome is not Outcome.UNREACHED)

    def _transport(self, url: str) -> httpx.AsyncBaseTransport:
        # One an origin: whether certificates are looked at is settled when a transport is made.
        parts = urlsplit(url)
        origin = f"{parts.scheme}://{parts.netloc}"
        if origin not in self._open:
            self._open[origin] = self._transports(origin)
        return self._open[origin]


_FORM = {"content-type": "application/x-www-form-urlencoded"}
_JSON = {"content-type": "application/json"}
_HEADERS = {"accept": "application/json", "accept-encoding": "identity", "user-agent": "callsheet"}


def in_trouble(response: Response) -> bool:
    """Return whether the same request may succeed later."""
    return response.status in (408, 429) or response.status >= 500
