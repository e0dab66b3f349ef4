"""Connections to HTTP servers: one request out, one answer in, over aiohttp.

Owns the way there (proxy, certificates), the limits in time, and letting go. Sends an address as
it is written and each request once, follows no redirect, keeps no cookie. Knows no service and no
store.
"""

from __future__ import annotations

import re
import ssl
import string
from collections.abc import Mapping
from functools import cached_property
from urllib.parse import quote
from urllib.request import getproxies, proxy_bypass

import aiohttp
from aiohttp.http import HttpProcessingError
from multidict import CIMultiDict
from yarl import URL

from callsheet.tasks.runtime.errors import ConfigurationError

#: Whatever a request may end in. aiohttp's parser has errors that are not its ClientError.
ERRORS = (aiohttp.ClientError, HttpProcessingError, aiohttp.EofStream, OSError)

#: So many bytes of a body wait to be read, then the server is made to wait.
READ_AHEAD = 256 * 1024
#: Proxies are asked for once a host; those of a long run's many hosts are not kept for ever.
_HOSTS = 64
_PLAIN = re.compile(r"[!-~]+")


def address(text: str) -> URL:
    """Return an address exactly as it is written; only what cannot be sent so is quoted.

    Raises ValueError for what is no address.
    """
    url = URL(text, encoded=_PLAIN.fullmatch(text) is not None)
    _ = url.port  # looked at here, where a number that is no port is still a ValueError
    return url


def sendable(target: str) -> str:
    """Return a path and query as they are; only what cannot be sent so is quoted."""
    return target if _PLAIN.fullmatch(target) else quote(target, safe=string.punctuation)


class Answer:
    """Status and headers of an answer, and its body, still to come."""

    __slots__ = ("_response", "headers", "status")

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.status = response.status
        self.headers = _readable(response)
        self._response = response

    async def read(self) -> bytes:
        """Return the whole body; whether it can or not, the connection is let go."""
        if self.status == 101:
            # No one asked for another protocol; what follows is nothing that could be read.
            self._response.close()
            return b""
        return await self._response.read()

    async def some(self) -> bytes:
        """Return the bytes of the body that are there, at least one; none at its end."""
        return await self._response.content.readany()

    def close(self) -> None:
        """Let go of the connection; it is kept where every byte of the body was read."""
        self._response.release()


class Connections:
    """At most `limit` connections (0: as many as wanted), kept for later unless not to `reuse`.

    `connect` and `pool` are seconds: for a new connection, and for a free one. `headers` go with
    every request. Closed by `aclose`.
    """

    def __init__(
        self,
        headers: Mapping[str, str],
        *,
        limit: int,
        connect: float,
        pool: float,
        reuse: bool = True,
    ) -> None:
        self._headers = headers
        self._limit = limit
        self._reuse = reuse
        self._connect = connect
        self._pool = pool
        self._proxies: dict[tuple[str, str | None], URL | None] = {}
        self._timeouts: dict[float, aiohttp.ClientTimeout] = {}

    async def exchange(
        self,
        url: URL,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        read: float,
        decompress: bool,
    ) -> Answer:
        """Send one request and return its answer once its head is there; never sends it twice.

        `read` is how many seconds may pass without a byte; `decompress` undoes what the server
        compressed although no one asked for it. Raises one of `ERRORS`.
        """
        response = await self._session.request(
            method,
            url,
            headers=headers,
            data=body,
            # Of a body that is not there nothing needs to be said.
            skip_auto_headers=_NO_BODY if body is None and method != "GET" else None,
            proxy=self._proxy(url),
            ssl=self._trust if url.scheme == "https" else True,
            timeout=self._timeouts.get(read) or self._timeout(read),
            auto_decompress=decompress,
            allow_redirects=False,
            read_bufsize=READ_AHEAD,
        )
        return Answer(response)

    async def aclose(self) -> None:
        """Close every connection."""
        if "_session" in self.__dict__:
            await self._session.close()

    def _timeout(self, read: float) -> aiohttp.ClientTimeout:
        made = aiohttp.ClientTimeout(
            total=None, connect=self._pool, sock_connect=self._connect, sock_read=read
        )
        self._timeouts[read] = made
        return made

    def _proxy(self, url: URL) -> URL | None:
        at = (url.scheme, url.raw_host)
        if at not in self._proxies:
            if len(self._proxies) >= _HOSTS:
                self._proxies.pop(next(iter(self._proxies)))
            self._proxies[at] = _proxy_of(url)
        return self._proxies[at]

    @cached_property
    def _session(self) -> aiohttp.ClientSession:
        keep = 15 if self._reuse else None
        connector = aiohttp.TCPConnector(
            limit=self._limit, force_close=not self._reuse, keepalive_timeout=keep
        )
        return aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=self._headers,
            middlewares=(_sent_once,),
        )

    @cached_property
    def _trust(self) -> ssl.SSLContext:
        # Loading the certificate authorities takes time that a plain address need not spend.
        import httpx

        return httpx.create_ssl_context()


_NO_BODY = ("Content-Type",)


async def _sent_once(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    """Tell of a connection that was lost in a way that the session does not repair in silence.

    It would send a GET or DELETE again over another one: whatever is sent is to be counted.
    """
    try:
        return await handler(request)
    except aiohttp.ClientConnectorError:
        raise  # never left, and never repeated
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise aiohttp.ClientConnectionError(str(error)) from error


def _proxy_of(url: URL) -> URL | None:
    """Return the proxy that the environment wants for an address, if it wants one."""
    named = None if proxy_bypass(url.host or "") else getproxies().get(url.scheme)
    if not named:
        return None
    try:
        proxy = URL(named if "://" in named else f"http://{named}")
        usable = proxy.scheme in ("http", "https") and proxy.host
    except ValueError:
        usable = None
    if not usable:
        raise ConfigurationError(
            "the proxy that the environment names cannot be used",
            remedy=f"write {url.scheme.upper()}_PROXY like http://proxy.example.com:3128",
        )
    return proxy


def _readable(response: aiohttp.ClientResponse) -> Mapping[str, str]:
    # aiohttp gives bytes that are not text back as halves of characters, which no database takes.
    if b"".join([value for _, value in response.raw_headers]).isascii():
        return response.headers
    return CIMultiDict(
        (name.decode("ascii", "replace"), value.decode("utf-8", "replace"))
        for name, value in response.raw_headers
    )
