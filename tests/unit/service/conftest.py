"""A scripted server on a real socket, a clock that only moves when told, and clients of both."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from callsheet.tasks.service import VideoService
from tests.lent import lent

KEY = "mav_canary0secret"


@dataclass
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


def reply(
    status: int, body: Any = b"", *, headers: dict[str, str] | None = None, cut: int = 0
) -> bytes:
    """Return the bytes of an answer; `cut` takes so many off its end."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    kind = {} if isinstance(body, bytes) else {"Content-Type": "application/json"}
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(content)}"]
    lines += [f"{name}: {value}" for name, value in (kind | (headers or {})).items()]
    raw = "\r\n".join(lines).encode() + b"\r\n\r\n" + content
    return raw[: len(raw) - cut]


@dataclass
class Script:
    """Answers the nth request with the nth step; the last one for ever after.

    A step is the bytes of an answer, or `close`, `reset`, `hang` or `drip`; `then_close` ends the
    connection after an answer without having said so.
    """

    steps: list[bytes | str]
    then_close: bool = False
    seen: list[Request] = field(default_factory=list)
    connections: int = 0
    base_url: str = ""
    heard: asyncio.Event = field(default_factory=asyncio.Event)

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while await self._one(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = re.search(r"(?im)^content-length: (\d+)", head)
        body = await reader.readexactly(int(length[1])) if length else b""
        first, *lines = head.strip().split("\r\n")
        headers = {n.lower(): v for n, v in (line.split(": ", 1) for line in lines)}
        self.seen.append(Request(*first.split(" ")[:2], headers, body))
        self.heard.set()
        step = self.steps[min(len(self.seen), len(self.steps)) - 1]
        if step == "hang":
            await asyncio.sleep(60)
        while step == "drip":
            writer.write(b"H")
            await writer.drain()
            await asyncio.sleep(0.05)
        if step == "reset":
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            writer.transport.abort()
        if isinstance(step, str):
            return False
        writer.write(step)
        await writer.drain()
        whole = b"\r\n\r\n" in step and len(step.split(b"\r\n\r\n", 1)[1]) >= _length(step)
        return whole and not self.then_close


def _length(step: bytes) -> int:
    found = re.search(rb"Content-Length: (\d+)", step)
    return int(found[1]) if found else 1 << 30


@dataclass
class Time:
    """A clock that only `sleep` moves, and what was slept; `chance` is every random number."""

    now: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    slept: list[float] = field(default_factory=list)
    chance: float = 0.0

    def clock(self) -> datetime:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += timedelta(seconds=seconds)
        await asyncio.sleep(0)

    def random(self) -> float:
        return self.chance


@pytest.fixture
def answer() -> Callable[..., bytes]:
    return reply


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
async def serve() -> AsyncIterator[Callable[..., Any]]:
    """Start scripted servers; they end with the test."""
    servers: list[asyncio.Server] = []

    async def start(
        *steps: bytes | str, then_close: bool = False, certificate: Path | None = None
    ) -> Script:
        script = Script(list(steps), then_close=then_close)
        context = None
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
        server = await asyncio.start_server(script.handle, "127.0.0.1", 0, ssl=context)
        servers.append(server)
        port = server.sockets[0].getsockname()[1]
        script.base_url = f"http{'s' if context else ''}://127.0.0.1:{port}/api/v1"
        return script

    yield start
    for server in servers:
        server.close()


class Told(logging.Handler):
    """Tells a test of every request that the log is told of."""

    def __init__(self, tell: Callable[[Any], None]) -> None:
        super().__init__()
        self.tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        (entry,) = record.args or ()
        self.tell(entry)


@pytest.fixture
async def connect(time: Time) -> AsyncIterator[Callable[..., VideoService]]:
    """Build clients on the test's clock; they are closed with the test."""
    services: list[VideoService] = []
    log = logging.getLogger("callsheet.service")
    level, handlers = log.level, []

    def build(base_url: str = "http://service.test/api/v1", **options: Any) -> VideoService:
        defaults: dict[str, Any] = {"clock": time.clock, "sleep": time.sleep}
        defaults["random"] = time.random
        if (told := options.pop("on_request", None)) is not None:
            log.setLevel(logging.DEBUG)
            handlers.append(Told(told))
            log.addHandler(handlers[-1])
        service = VideoService(base_url=base_url, api_key=KEY, **(defaults | options))
        services.append(service)
        return service

    yield build
    for service in services:
        await service.aclose()
    for handler in handlers:
        log.removeHandler(handler)
    log.setLevel(level)


@pytest.fixture
def talk(connect: Callable[..., VideoService]) -> Callable[..., Any]:
    """Build a client whose connections play answers and exceptions one after another."""

    def build(*steps: Any, **options: Any) -> tuple[VideoService, list[httpx.Request]]:
        seen: list[httpx.Request] = []

        def handler(request: httpx.Request) -> httpx.Response:
            seen.append(request)
            step = steps[min(len(seen), len(steps)) - 1]
            if isinstance(step, BaseException):
                raise step
            status, body, headers = (*step, None, None)[:3]
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            return httpx.Response(status, content=content, headers=headers)

        return connect(connections=lent(httpx.MockTransport(handler)), **options), seen

    return build
