"""Speaks to the auth server: one request, one whole answer, no redirect followed, no cookie.

Owns how often a request is repeated. What is sent here are codes and tokens, so no exception that
leaves this file carries a request, an address with a query, or a body.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from typing import Any, Self
from urllib.parse import urlencode, urlsplit

import httpx

from tasks.clock import Clock, Sleep, utc_now
from tasks.errors import CallsheetError, ConfigurationError, Parked
from tasks.retry_after import retry_after
from tasks.service.outcome import Outcome, of_exception
from tasks.service.response import Response
from tasks.service.transport import default_transport

Transports = Callable[[str], httpx.AsyncBaseTransport]

#: One exchange may take so long, in seconds, however its answer drips.
LONGEST = 60.0
#: Pauses before a request that made nothing yet is sent again, in seconds.
PAUSES = (1.0, 3.0)
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
        longest: float = LONGEST,
    ) -> None:
        self._transports = transports or partial(default_transport, limit=4)
        self._open: dict[str, httpx.AsyncBaseTransport] = {}
        self._longest = longest
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

    async def patiently(self, send: Callable[[], Any], *, only_unsent: bool = False) -> Response:
        """Return the answer of `send()`, sent up to three times while the service is in trouble.

        With `only_unsent`, for what works once, it is repeated only where it never left. Raises
        Parked when the trouble stays.
        """
        for pause in (*PAUSES, None):
            try:
                answer: Response = await send()
            except NoAnswer as silence:
                if pause is None or (only_unsent and silence.left):
                    raise self.trouble(str(silence)) from None
            else:
                if not in_trouble(answer):
                    return answer
                if pause is None or only_unsent:
                    raise self.trouble(f"it answered {answer.status}", answer)
            await self.sleep(pause)
        raise AssertionError("unreachable")

    def trouble(self, words: str, answer: Response | None = None) -> CallsheetError:
        """Return the error for an auth server that is in trouble: nothing is lost, come back."""
        now = self.clock()
        told = retry_after(answer.headers, now=now) if answer else None
        return Parked(
            f"the auth server is in trouble ({words}); nobody was logged in",
            until=now + timedelta(seconds=told or LATER),
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
                response = await self._transport(url).handle_async_request(request)
                try:
                    content = await response.aread()
                finally:
                    await response.aclose()
        except Exception as cause:
            outcome = Outcome.LOST if isinstance(cause, TimeoutError) else of_exception(cause)
            if outcome is None:
                raise
        else:
            return Response(response.status_code, response.headers, content)
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


def in_trouble(answer: Response) -> bool:
    """Return whether the same request may succeed later."""
    return answer.status in (408, 429) or answer.status >= 500
