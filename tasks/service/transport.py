"""The transport used unless another is given: aiohttp underneath httpx.

httpx's own pool collapses above some 32 requests at once and does not survive cancellations.
"""

from __future__ import annotations

from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import httpx
from httpx_aiohttp import AiohttpTransport


def default_transport(base_url: str, *, limit: int, reuse: bool = True) -> httpx.AsyncBaseTransport:
    """Return a transport for one service, through the proxy of the environment if it has one.

    Without `reuse` every request gets a new connection, closed after its answer.
    """
    parts = urlsplit(base_url)
    # Loading the certificate authorities takes time that a plain address need not spend.
    verify = httpx.create_ssl_context() if parts.scheme == "https" else False
    proxy = None if proxy_bypass(parts.hostname or "") else getproxies().get(parts.scheme)

    def session() -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            limit=limit,
            force_close=not reuse,
            keepalive_timeout=15 if reuse else None,
            ssl=transport.ssl_context,
        )
        return aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())

    transport = AiohttpTransport(
        verify=verify, client=session, proxy=httpx.Proxy(proxy) if proxy else None
    )
    return transport
