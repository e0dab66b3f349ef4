"""A request that a fault strikes: its connection, and the answer that is held back or broken.

ASGI has no word for hanging up, so the transport is asked. Raising after the answer began would
close it too, but only then, never with a reset, and by way of a logged exception. The transport
is shown to the application in the state of its scope, which ASGI has for such things; keep-alive
connections end as surely as any other.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import struct
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from email.utils import formatdate
from http import HTTPStatus
from typing import Any, Protocol

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from callsheet.deployments.sandbox.faults.fault import Fault, Framing
from callsheet.deployments.sandbox.files import Links

TRANSPORT = "sandbox.transport"
# Linger on, for no time: closing then sends RST at once in place of FIN.
LINGER = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)


@dataclass(frozen=True)
class Answer:
    """An answer held back: the one the service gave, or another put in its place."""

    status: int
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    body: bytes = b""

    @classmethod
    def of(cls, response: Response) -> Answer:
        """Take what a response would send."""
        return cls(response.status_code, response.raw_headers, bytes(response.body))

    def json(self) -> Any:
        """Read the body; None where it is not JSON."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None

    def saying(self, body: object) -> Answer:
        """Give the same answer with another body, in JSON."""
        return self.holding(json.dumps(body).encode(), **{"content-type": "application/json"})

    def holding(self, body: bytes, **headers: str) -> Answer:
        """Give the same answer with another body and its length."""
        return replace(self, body=body).labelled(**headers, **{"content-length": str(len(body))})

    def labelled(self, **headers: str | None) -> Answer:
        """Give the same answer with these headers; None takes one away."""
        changed = MutableHeaders(raw=list(self.headers))
        for name, value in headers.items():
            if value is not None:
                changed[name] = value
            elif name in changed:
                del changed[name]
        return replace(self, headers=changed.raw)

    def half(self) -> bytes:
        """Give the first half of the body."""
        return self.body[: len(self.body) // 2]

    def header(self, name: str) -> str:
        """Read one header; empty where there is none."""
        return Headers(raw=self.headers).get(name, "")

    def head(self, *, clock: float) -> bytes:
        """Give the first bytes of the answer, after which the connection is closed."""
        phrase = next((known.phrase for known in HTTPStatus if known == self.status), "")
        lines = [f"HTTP/1.1 {self.status} {phrase}".encode()]
        lines += [name + b": " + value for name, value in self.headers]
        lines += [f"date: {formatdate(clock, usegmt=True)}".encode(), b"connection: close"]
        return b"\r\n".join([*lines, b"", b""])

    async def begin(self, send: Send) -> None:
        """Send status and headers alone."""
        start = {"type": "http.response.start", "status": self.status, "headers": self.headers}
        await send(start)

    async def give(self, send: Send) -> None:
        """Send it as it is; without a Content-Length it goes out in chunks."""
        await self.begin(send)
        await send({"type": "http.response.body", "body": self.body})


class Service(Protocol):
    """What faults need of the service that they strike."""

    links: Links

    async def forget_key(self, key: str | None) -> None:
        """Forget that this idempotency key ever came."""


@dataclass(frozen=True, kw_only=True)
class StruckCall:
    """A request, read to its end and not yet acted on."""

    fault: Fault
    app: ASGIApp
    scope: Scope
    body: bytes
    receive: Receive
    send: Send
    service: Service
    video: str | None

    async def act(self, **instead: object) -> Answer:
        """Let the service act in full; `instead` replaces parts of the request's scope."""
        return await held_back(self.app, {**self.scope, **instead}, again(self.body, self.receive))

    async def give(self, answer: Answer, framing: Framing = "length") -> None:
        """Answer; without a length in chunks, or until the connection closes."""
        if framing != "length":
            answer = answer.labelled(**{"content-length": None})
        if framing == "close":
            await self.give_raw(answer)
        else:
            await answer.give(self.send)

    async def give_raw(self, answer: Answer, *, clock_skew: float = 0.0) -> None:
        """Answer with exactly these headers and a clock of one's own, then close."""
        self.write(answer.head(clock=time.time() + clock_skew) + answer.body)
        await self.drop()

    @property
    def transport(self) -> asyncio.Transport:
        """The connection that it came by."""
        shown: asyncio.Transport = self.scope["state"][TRANSPORT]
        return shown

    def write(self, data: bytes) -> None:
        """Write bytes as they are, past everything that would see to their form."""
        if not self.transport.is_closing():
            self.transport.write(data)

    async def drop(self) -> None:
        """Close the connection; what was written is still sent."""
        self.transport.close()
        await self.gone()

    async def reset(self) -> None:
        """Reset the connection, once what was written has left this process."""
        # A transport says when its buffer is low, but not when it is empty.
        while self.transport.get_write_buffer_size() and not self.transport.is_closing():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        under: socket.socket = self.transport.get_extra_info("socket")
        under.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER)
        self.transport.abort()
        await self.gone()

    async def gone(self) -> None:
        """Wait until the connection is no more; the server then asks for no answer."""
        while (await self.receive())["type"] != "http.disconnect":
            pass


class ShowingProtocol(H11Protocol):
    """uvicorn's HTTP/1.1, where the application can reach the transport."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.app_state = {**self.app_state, TRANSPORT: transport}


async def whole_body(receive: Receive) -> bytes | None:
    """Read a request to its end; None when its sender left before that."""
    parts = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


def again(body: bytes, receive: Receive) -> Receive:
    """Make a stand-in for `receive` that gives a body read before, then whatever comes next."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


async def held_back(app: ASGIApp, scope: Scope, receive: Receive) -> Answer:
    """Let the application act in full and keep its answer."""
    start: Mapping[str, Any] = {}
    parts: list[bytes] = []

    async def keep(message: Message) -> None:
        nonlocal start
        if message["type"] == "http.response.start":
            start = message
        else:
            parts.append(message.get("body", b""))

    await app(scope, receive, keep)
    return Answer(start["status"], list(start["headers"]), b"".join(parts))


def key_of(body: bytes) -> str | None:
    """Find the idempotency key in the body of a request."""
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        return None
    key = said.get("idempotency_key") if isinstance(said, dict) else None
    return key if isinstance(key, str) else None
