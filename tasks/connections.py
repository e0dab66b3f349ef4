"""Connections to HTTP servers: one request out, one answer in, on aiohttp's pool and parser.

Owns the way (proxy, TLS), the bytes of a request's head, the limits in time, and letting go. It
stays below aiohttp's session, which quotes addresses anew, repeats a GET or DELETE in silence
where a connection has gone stale, and costs twice as much as all of this. Follows no redirect,
keeps no cookie. Knows no service and no store.
"""

from __future__ import annotations

import asyncio
import re
import ssl
import string
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from urllib.request import getproxies, proxy_bypass

import aiohttp
from aiohttp.helpers import TimerNoop
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.streams import EMPTY_PAYLOAD, EofStream, StreamReader
from multidict import CIMultiDict
from yarl import URL

from tasks.errors import ConfigurationError

if TYPE_CHECKING:
    from aiohttp.connector import Connection

#: Whatever a request may end in. aiohttp's parser has errors that are not its ClientError.
ERRORS = (aiohttp.ClientError, HttpProcessingError, EofStream, OSError)

#: So many bytes of a body wait to be read, then the server is made to wait.
READ_AHEAD = 256 * 1024
#: Routes are few where addresses are many; those of a long run's many hosts are not kept for ever.
_ROUTES = 64
#: So many connections are tried, should each be of no use before anything was sent on it.
_TRIES = 3
_NO_TIMER = TimerNoop()
_PLAIN = re.compile(r"[!-~]+")
_VALUE = re.compile(r"[ -~]*")


class Lines(str):
    """Lines of a request's head. They may hold a key: their repr shows none."""

    def __repr__(self) -> str:
        return "Lines(***)"


def lines_of(headers: Mapping[str, str]) -> Lines:
    """Return headers as they are sent; raise ValueError for what no header may hold."""
    for name, value in headers.items():
        if not _PLAIN.fullmatch(name) or not _VALUE.fullmatch(value):
            raise ValueError(f"the value of the header {name} cannot be sent")
    return Lines("".join(f"{name}: {value}\r\n" for name, value in headers.items()))


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


@dataclass(frozen=True)
class Route:
    """The way to one server: what the connector asks of a request, and what each request says."""

    request: aiohttp.ClientRequest
    before: str  # a plain proxy is told the whole address
    lines: Lines


class Answer:
    """Status and headers of an answer, and its body, still to come."""

    __slots__ = ("_body", "_connection", "headers", "status")

    def __init__(
        self, status: int, headers: Mapping[str, str], body: StreamReader, connection: Connection
    ) -> None:
        self.status = status
        self.headers = headers
        self._body = body
        self._connection = connection

    async def read(self) -> bytes:
        """Return the whole body."""
        try:
            content = await self._body.read()
        except BaseException:
            self.close()
            raise
        self._connection.release()
        return content

    async def some(self) -> bytes:
        """Return the bytes of the body that are there, at least one; none at its end."""
        return await self._body.readany()

    def close(self) -> None:
        """Let go of the connection; it is kept where every byte of the body was read."""
        if self._body.at_eof():
            self._connection.release()
        else:
            self._connection.close()


class Connections:
    """At most `limit` connections (0: as many as wanted), kept for later unless not to `reuse`.

    `connect` and `pool` are seconds: for a new connection, and for a free one. Closed by `aclose`.
    """

    def __init__(self, *, limit: int, connect: float, pool: float, reuse: bool = True) -> None:
        self._limit = limit
        self._reuse = reuse
        self._timeout = aiohttp.ClientTimeout(sock_connect=connect, connect=pool)
        self._routes: dict[tuple[str, str | None, int | None], Route] = {}

    async def exchange(
        self,
        url: URL,
        *,
        method: str = "GET",
        target: str | None = None,
        headers: Lines,
        body: bytes = b"",
        read: float,
        decompress: bool,
    ) -> Answer:
        """Send one request and return its answer once its head is there; never sends it twice.

        `target` is the path and query, where they are not those of `url`; `read` is how many
        seconds may pass without a byte; `decompress` undoes what the server compressed although
        nobody asked for it. Raises one of `ERRORS`.
        """
        route = self._route(url)
        target = url.raw_path_qs if target is None else target
        if not _PLAIN.fullmatch(target):
            raise aiohttp.InvalidURL("what cannot stand in a request")
        length = f"Content-Length: {len(body)}\r\n" if body or method != "GET" else ""
        lines = f"{route.lines}{headers}{length}"
        head = f"{method} {route.before}{target} HTTP/1.1\r\n{lines}\r\n"
        connection = await self._connect(route)
        try:
            _prepare(connection, read=read, decompress=decompress)
            message, content = await _carry(connection, head.encode("ascii") + body)
        except BaseException:
            connection.close()
            raise
        return Answer(message.code, _readable(message), content, connection)

    async def aclose(self) -> None:
        """Close every connection."""
        if "_connector" in self.__dict__:
            await self._connector.close()

    async def _connect(self, route: Route) -> Connection:
        for _ in range(_TRIES):
            try:
                connection = await self._connector.connect(route.request, [], self._timeout)
            except TimeoutError as error:
                raise aiohttp.ConnectionTimeoutError("no connection in time") from error
            # One that was kept and has heard something since would answer before it is asked.
            protocol = connection.protocol
            if protocol is not None and protocol.is_connected() and not protocol.should_close:
                return connection
            connection.close()
        early = OSError("the server spoke or hung up before it was asked anything")
        raise aiohttp.ClientConnectorError(route.request.connection_key, early)

    def _route(self, url: URL) -> Route:
        at = (url.scheme, url.raw_host, url.port)
        route = self._routes.get(at)
        if route is None:
            route = self._made_route(url)
            if len(self._routes) >= _ROUTES:
                self._routes.pop(next(iter(self._routes)))
            self._routes[at] = route
        return route

    def _made_route(self, url: URL) -> Route:
        origin, proxy = url.origin(), _proxy_of(url)
        request = aiohttp.ClientRequest(
            "GET",
            origin,
            proxy=proxy,
            ssl=self._trust if url.scheme == "https" else True,
            loop=asyncio.get_running_loop(),
        )
        lines = {"Host": request.headers["Host"]}
        if not self._reuse:
            lines["Connection"] = "close"
        if proxy is None or url.scheme == "https":
            return Route(request, "", lines_of(lines))
        if proxy.raw_user is not None:
            who = f"{proxy.user or ''}:{proxy.password or ''}".encode()
            lines["Proxy-Authorization"] = f"Basic {b64encode(who).decode()}"
        return Route(request, str(origin), lines_of(lines))

    @cached_property
    def _connector(self) -> aiohttp.TCPConnector:
        keep = 15 if self._reuse else None
        return aiohttp.TCPConnector(
            limit=self._limit, force_close=not self._reuse, keepalive_timeout=keep
        )

    @cached_property
    def _trust(self) -> ssl.SSLContext:
        # Loading the certificate authorities takes time that a plain address need not spend.
        import httpx

        return httpx.create_ssl_context()


def _prepare(connection: Connection, *, read: float, decompress: bool) -> None:
    protocol: Any = connection.protocol
    protocol.set_response_params(
        timer=_NO_TIMER,
        read_until_eof=True,
        auto_decompress=decompress,
        read_timeout=read,
        read_bufsize=READ_AHEAD,
    )


async def _carry(connection: Connection, request: bytes) -> tuple[Any, StreamReader]:
    protocol: Any = connection.protocol
    protocol.transport.write(request)
    protocol.start_timeout()
    message, content = await protocol.read()
    while 100 <= message.code < 200 and message.code != 101:
        message, content = await protocol.read()
    if message.code == 101:
        # Nobody asked for another protocol; what follows is nothing that could be read.
        connection.close()
        content = EMPTY_PAYLOAD
    return message, content


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


def _readable(message: Any) -> Mapping[str, str]:
    # aiohttp gives bytes that are not text back as halves of characters, which no database takes.
    if all(value.isascii() for _, value in message.raw_headers):
        headers: Mapping[str, str] = message.headers
        return headers
    return CIMultiDict(
        (name.decode("ascii", "replace"), value.decode("utf-8", "replace"))
        for name, value in message.raw_headers
    )
