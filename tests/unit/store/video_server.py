"""A download server on a real socket that misbehaves as a test's plan says."""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

#: In the query of every address: must turn up in no error, log, repr or file.
CANARY = "X-Amz-Signature=canary%2Fsecret%7E1"


@dataclass(frozen=True)
class Request:
    """What a client asked for."""

    target: str
    headers: dict[str, str]


@dataclass(frozen=True)
class Answer:
    """Raw bytes to send before the connection is closed; `stall` keeps it open in silence."""

    raw: bytes
    stall: bool = False


Behaviour = Callable[["VideoServer", Request], Answer]


@dataclass
class VideoServer:
    """Answers by `plan`, then honestly."""

    data: bytes
    etag: str | None = '"one"'
    plan: deque[Behaviour] = field(default_factory=deque)
    requests: list[Request] = field(default_factory=list)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/video%2F1.mp4?{CANARY}"

    async def fresh_url(self) -> str:
        """What the service would be asked for."""
        return self.url

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {
            name.lower(): value for name, _, value in (h.partition(": ") for h in head[1:] if h)
        }
        request = Request(head[0].split(" ")[1], headers)
        self.requests.append(request)
        behaviour = self.plan.popleft() if self.plan else honest
        answer = behaviour(self, request)
        try:
            writer.write(answer.raw)
            await writer.drain()
            if answer.stall:
                await reader.read()
        except ConnectionError:
            pass
        finally:
            writer.close()


def answer(
    status: int,
    body: bytes = b"",
    *,
    length: int | None = -1,
    stall: bool = False,
    **headers: str | None,
) -> Answer:
    """An answer whose Content-Length is true unless `length` says otherwise (None: absent)."""
    lines = [f"HTTP/1.1 {status} As Planned", "Connection: close"]
    length = len(body) if length == -1 else length
    if length is not None:
        lines.append(f"Content-Length: {length}")
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items() if value]
    return Answer("\r\n".join(lines).encode() + b"\r\n\r\n" + body, stall)


def honest(server: VideoServer, request: Request) -> Answer:
    """What a good object store does."""
    data, etag = server.data, server.etag
    wanted = re.fullmatch(r"bytes=(\d+)-", request.headers.get("range", ""))
    if not wanted or request.headers.get("if-range", etag) != etag:
        return answer(200, data, ETag=etag, Content_Type="video/mp4", Accept_Ranges="bytes")
    start = int(wanted[1])
    if start >= len(data):
        return answer(416, Content_Range=f"bytes */{len(data)}")
    span = f"bytes {start}-{len(data) - 1}/{len(data)}"
    return answer(206, data[start:], ETag=etag, Content_Type="video/mp4", Content_Range=span)


def cut(at: int) -> Behaviour:
    """Answer honestly but hang up after `at` bytes of the body."""

    def behave(server: VideoServer, request: Request) -> Answer:
        whole = honest(server, request).raw
        head, _, body = whole.partition(b"\r\n\r\n")
        return Answer(head + b"\r\n\r\n" + body[:at])

    return behave


def always(fixed: Answer) -> Behaviour:
    """Answer the same whatever is asked."""
    return lambda server, request: fixed
