"""How downloads leave this machine: aiohttp underneath, addresses untouched.

httpx-aiohttp hands addresses to aiohttp as text, and aiohttp then rewrites them: `%2F` in a
query becomes `/`, `%7E` becomes `~`. A signature made over the exact text would no longer fit.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

import aiohttp
import httpx
from httpx_aiohttp import AiohttpTransport
from yarl import URL

#: Whatever may go wrong on the way. OSError and aiohttp's own errors are here because
#: httpx-aiohttp does not translate all of them.
NETWORK_ERRORS = (
    httpx.HTTPError,
    httpx.InvalidURL,
    httpx.StreamError,
    aiohttp.ClientError,
    OSError,
    ValueError,
)


class ExactTransport(AiohttpTransport):
    """An AiohttpTransport that sends every address exactly as it was given, and no cookies."""

    def __init__(self) -> None:
        super().__init__()
        self._session: aiohttp.ClientSession | None = None

    def get_client(self) -> Any:
        """Return what the base class may call `request` on."""
        if self._session is None:
            connector = aiohttp.TCPConnector(ssl=self.ssl_context, limit=0)
            jar = aiohttp.DummyCookieJar()
            self._session = aiohttp.ClientSession(connector=connector, cookie_jar=jar)
        return _ExactSession(self._session)

    async def aclose(self) -> None:
        """Close every connection."""
        if self._session is not None:
            await self._session.close()


class _ExactSession:
    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    def request(self, *, url: str, **rest: Any) -> Awaitable[aiohttp.ClientResponse]:
        return self._session.request(url=URL(url, encoded=True), **rest)
