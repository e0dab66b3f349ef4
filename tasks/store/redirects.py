"""What leads to a file's bytes: one pool of connections, and redirects looked at one by one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from tasks.errors import StoreError
from tasks.store.address import check_address

if TYPE_CHECKING:
    import httpx

_REDIRECTS = 3
_REDIRECT = {301, 302, 303, 307, 308}


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
