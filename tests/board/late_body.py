"""A request whose head is let in, and whose body is sent when a test says so: for what happens in
between.

    async with late_body(board, "POST", "/api/v1/people", headers, body) as late:
        await board.admin.delete("/api/v1/people/Ann")
        assert await late.answer() == 401
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

from tests.board.conftest import OpenBoard


@dataclass(frozen=True)
class LateBody:
    """A request that the board has let in and waits for."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    body: bytes

    async def answer(self) -> int:
        """Send the body; return the status of the answer."""
        self.writer.write(self.body)
        return int((await self.reader.readline()).split()[1])


@asynccontextmanager
async def late_body(
    board: OpenBoard, method: str, path: str, headers: Mapping[str, str], body: bytes
) -> AsyncIterator[LateBody]:
    """Send the head of a request, and wait until the board asks for the body."""
    where = urlsplit(board.origin)
    head = {
        "host": where.netloc,
        "content-length": str(len(body)),
        # A server answers this once the application wants to read: the guard is done by then.
        "expect": "100-continue",
        "connection": "close",
        **headers,
    }
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    try:
        lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
        writer.write(f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode())
        async with asyncio.timeout(30):
            assert b" 100 " in await reader.readuntil(b"\r\n\r\n")
            yield LateBody(reader, writer, body)
    finally:
        writer.close()
