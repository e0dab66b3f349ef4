"""One address on this machine that a browser comes back to, once (RFC 8252, section 7.3).

It is bound before it is registered, so that the exact address, port and all, can be; its path is
random, so that no other page can find it. The browser gets a small page; nothing is kept open.
"""

from __future__ import annotations

import asyncio
import html
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Generic, TypeVar
from urllib.parse import parse_qsl, urlsplit

from callsheet.tasks.errors import LoginError

T = TypeVar("T")

#: A connection that sends no request is dropped, in seconds; browsers open some to be ready.
REQUEST_WAIT = 10.0
_HEAD = 16 * 1024


class Landing(Generic[T]):
    """The address, and what the browser brought there. Made by `Landing.open`."""

    def __init__(self, path: str, judge: Callable[[Mapping[str, str]], T]) -> None:
        self.address = ""
        self._path = path
        self._judge = judge
        self._brought: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._talks: set[asyncio.Task[None]] = set()
        self._answering: set[asyncio.Task[None]] = set()

    @classmethod
    @asynccontextmanager
    async def open(
        cls, path: str, judge: Callable[[Mapping[str, str]], T]
    ) -> AsyncIterator[Landing[T]]:
        """Listen on a free port of 127.0.0.1 for one visit to `path`; stop however this ends.

        `judge` turns the visit's query into what is wanted of it, or raises LoginError.
        """
        made = cls(path, judge)
        server = await asyncio.start_server(made._talk, "127.0.0.1", 0, limit=_HEAD)
        made.address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}{path}"
        try:
            yield made
        finally:
            server.close()
            await made._hang_up()

    async def brought(self, *, limit: float) -> T:
        """Return what `judge` makes of the one visit, or raise what it raised.

        Raises LoginError when nobody came within `limit` seconds.
        """
        try:
            async with asyncio.timeout(limit):
                return await self._brought
        except TimeoutError:
            raise LoginError(
                f"the login was not approved within {limit:g} s",
                remedy="run `callsheet login` again, or `callsheet login --device`",
            ) from None

    async def _hang_up(self) -> None:
        # The page may still be on its way; a connection without a request is not waited for.
        if self._answering:
            await asyncio.wait(self._answering, timeout=1.0)
        for talk in self._talks:
            talk.cancel()
        if self._brought.done() and not self._brought.cancelled():
            # Looked at, so that asyncio does not report an error nobody asked for.
            self._brought.exception()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._talks.add(task)
        try:
            with suppress(OSError, ValueError, TimeoutError, EOFError, asyncio.LimitOverrunError):
                async with asyncio.timeout(REQUEST_WAIT):
                    head = await reader.readuntil(b"\r\n\r\n")
                    self._answering.add(task)
                    writer.write(self._answer(head))
                    await writer.drain()
        finally:
            self._talks.discard(task)
            self._answering.discard(task)
            writer.close()

    def _answer(self, head: bytes) -> bytes:
        method, target, *_ = head.split(b"\r\n")[0].decode("ascii").split(" ")
        parts = urlsplit(target)
        if parts.path != self._path:
            return _page(404, "Nothing is here", "This address belongs to a login of Callsheet.")
        if method != "GET":
            return _page(405, "Not like this", "Go back to the page you came from.")
        if self._brought.done():
            return _page(410, "Used before", "This login has been dealt with.")
        try:
            self._brought.set_result(self._judge(dict(parse_qsl(parts.query))))
        except LoginError as error:
            self._brought.set_exception(error)
            return _page(400, "Not logged in", f"{error}.")
        words = "Callsheet continues in your terminal. You can close this page."
        return _page(200, "Approved", words)


_STATUS = {200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed", 410: "Gone"}
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Callsheet: {title}</title>
<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">
<style>body{{font:1.1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:20vh auto;padding:0 1rem;
color:#222;background:#fff}}@media(prefers-color-scheme:dark){{body{{color:#eee;background:#181818}}}}
</style></head><body><main><h1>{title}</h1><p>{words}</p></main></body></html>
"""


def _page(status: int, title: str, words: str) -> bytes:
    body = _PAGE.format(title=html.escape(title), words=html.escape(words)).encode()
    head = (
        f"HTTP/1.1 {status} {_STATUS[status]}",
        "Content-Type: text/html; charset=utf-8",
        f"Content-Length: {len(body)}",
        # The address of this page holds the code: nobody is told of it, nothing is loaded.
        "Cache-Control: no-store",
        "Referrer-Policy: no-referrer",
        "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; img-src data:",
        "X-Content-Type-Options: nosniff",
        "Connection: close",
    )
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body
