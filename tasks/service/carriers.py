"""What sends a request to the service and returns its answer; also over a given transport.

The other, over connections of our own, is the one that is used: `direct.py`. Both send what they
are given once, and let what goes wrong through as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from callsheet.tasks.service.operations import Operation

if TYPE_CHECKING:
    import httpx

#: Seconds for a connection to be made, and for a free one to be had.
CONNECT, POOL = 10.0, 30.0
JSON = {"content-type": "application/json"}


class Incoming(Protocol):
    """An answer whose body is still to come."""

    @property
    def status(self) -> int:
        """The status."""

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers; their names are found in whatever case."""

    async def read(self) -> bytes:
        """Return the whole body; whether it can or not, the connection is let go."""


class Carrier(Protocol):
    """One base address, one key."""

    async def carry(
        self, operation: Operation[object], target: str, body: bytes | None
    ) -> Incoming:
        """Send one request; `target` is path and query below the base address."""

    async def aclose(self) -> None:
        """Close the connections."""


class GivenTransport:
    """Over an httpx transport that someone brings: tests, mostly.

    The transport itself and no `httpx.AsyncClient`: that one would keep cookies, merge addresses
    and headers for every call, and log whole addresses.
    """

    def __init__(
        self, base_url: str, headers: Mapping[str, str], transport: httpx.AsyncBaseTransport
    ) -> None:
        import httpx

        self._base = base_url
        # httpx's own kind, because its repr hides `authorization`.
        self._headers = httpx.Headers(headers)
        self._headers_of_json = httpx.Headers({**headers, **JSON})
        self._transport = transport

    async def carry(
        self, operation: Operation[object], target: str, body: bytes | None
    ) -> Incoming:
        """Send one request."""
        import httpx

        timeouts = {"connect": CONNECT, "read": operation.read_timeout, "write": 60.0, "pool": POOL}
        request = httpx.Request(
            operation.method,
            self._base + target,
            headers=self._headers if body is None else self._headers_of_json,
            content=body,
            extensions={"timeout": timeouts},
        )
        return _GivenAnswer(await self._transport.handle_async_request(request))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._transport.aclose()


class _GivenAnswer:
    def __init__(self, answer: httpx.Response) -> None:
        self._answer = answer
        self.status = answer.status_code
        self.headers: Mapping[str, str] = answer.headers

    async def read(self) -> bytes:
        try:
            return await self._answer.aread()
        except BaseException:
            await self._answer.aclose()
            raise
