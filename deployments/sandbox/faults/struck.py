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
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from email.utils import formatdate
from functools import partial
from http import HTTPStatus
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from callsheet.deployments.sandbox.container import Container
from callsheet.deployments.sandbox.faults.planned import Fault, Framing

TRANSPORT = "sandbox.transport"
# Linger on, for no time: closing then sends RST at once in place of FIN.
LINGER = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)


@dataclass(frozen=True, kw_only=True)
class StruckCall:
    """A request, read to its end and not yet acted on."""

    fault: Fault
    app: ASGIApp
    scope: Scope
    body: bytes
    receive: Receive
    send: Send
    container: Container
    video: str | None

    @property
    def connection(self) -> ClientConnection:
        """The connection it came by."""
        return ClientConnection(self.scope, self.receive)

    async def act(self, **instead: object) -> Answer:
        """Let the service act in full; `instead` replaces parts of the request's scope."""
        return await held_back(self.app, {**self.scope, **instead}, again(self.body, self.receive))

    async def give(self, answer: Answer, framing: Framing = "length") -> None:
        """Answer; without a length in chunks, or until the connection closes."""
        if framing == "length":
            await give(answer, self.send)
        elif framing == "chunked":
            await give(answer.labelled(**{"content-length": None}), self.send)
        else:
            await self.give_raw(answer.labelled(**{"content-length": None}))

    async def give_raw(self, answer: Answer, *, clock_skew: float = 0.0) -> None:
        """Answer with exactly these headers and a clock of one's own, then close."""
        first = head(answer.status, answer.headers, clock=self.container.now() + clock_skew)
        self.connection.write(first + answer.body)
        await self.connection.drop()


def key_of(body: bytes) -> str | None:
    """Find the idempotency key in the body of a request."""
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        return None
    key = said.get("idempotency_key") if isinstance(said, dict) else None
    return key if isinstance(key, str) else None


class ShowingProtocol(H11Protocol):
    """uvicorn's HTTP/1.1, where the application can reach the transport."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.app_state = {**self.app_state, TRANSPORT: transport}


class ClientConnection:
    """The connection of one request."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self._transport: asyncio.Transport = scope["state"][TRANSPORT]
        self._receive = receive

    @property
    def closing(self) -> bool:
        """Say whether it is gone or going."""
        return self._transport.is_closing()

    async def drop(self) -> None:
        """Close it; what was written is still sent."""
        self._transport.close()
        await self.gone()

    async def reset(self) -> None:
        """Reset it, once what was written has left this process."""
        # A transport says when its buffer is low, but not when it is empty.
        while self._transport.get_write_buffer_size() and not self.closing:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        under: socket.socket = self._transport.get_extra_info("socket")
        under.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER)
        self._transport.abort()
        await self.gone()

    async def gone(self) -> None:
        """Wait until it is no more; the server then asks for no answer."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    def write(self, data: bytes) -> None:
        """Write bytes as they are, past everything that would see to their form."""
        if not self.closing:
            self._transport.write(data)


def head(status: int, headers: Iterable[tuple[bytes, bytes]], *, clock: float) -> bytes:
    """Give the first bytes of an answer after which the connection is closed."""
    phrase = next((known.phrase for known in HTTPStatus if known == status), "")
    lines = [f"HTTP/1.1 {status} {phrase}".encode()]
    lines += [name + b": " + value for name, value in headers]
    lines += [f"date: {formatdate(clock, usegmt=True)}".encode(), b"connection: close"]
    return b"\r\n".join([*lines, b"", b""])


# Owns what happens to the connection: closed, reset, silent, slow, or gone with the service.


#: What a shell says of a process ended by SIGKILL.
KILLED = 137
How = Callable[[ClientConnection], Awaitable[None]]


async def _end(call: StruckCall, how: How, *, acts: bool = False) -> None:
    if acts:
        await call.act()
    await how(call.connection)


async def _crash(call: StruckCall, *, acts: bool) -> None:
    if acts:
        await call.act()
    os._exit(KILLED)


async def _slow_before(call: StruckCall) -> None:
    await asyncio.sleep(call.fault.seconds)
    await call.give(await call.act())


async def _slow(call: StruckCall) -> None:
    answer = await call.act()
    await asyncio.sleep(call.fault.seconds)
    await call.give(answer)


async def _drip(call: StruckCall) -> None:
    answer = await call.act()
    await begin(answer, call.send)
    async for drop in _drops(call, answer.body):
        await call.send({"type": "http.response.body", "body": drop, "more_body": True})
    await call.send({"type": "http.response.body", "body": b""})


async def _drip_headers(call: StruckCall) -> None:
    answer = await call.act()
    whole = head(answer.status, answer.headers, clock=call.container.now()) + answer.body
    async for drop in _drops(call, whole):
        call.connection.write(drop)
    await call.connection.drop()


async def _drops(call: StruckCall, body: bytes) -> AsyncIterator[bytes]:
    for at in range(0, len(body), call.fault.bytes):
        if call.connection.closing:
            return
        yield body[at : at + call.fault.bytes]
        await asyncio.sleep(call.fault.seconds)


async def _close_idle(call: StruckCall) -> None:
    await call.give(await call.act())
    await asyncio.sleep(call.fault.seconds)
    await call.connection.drop()


async def _cut_body(call: StruckCall) -> None:
    answer = await call.act()
    if call.fault.framing == "close":
        await call.give(replace(answer, body=_half(answer)), "close")
        return
    if call.fault.framing == "chunked":
        answer = answer.labelled(**{"content-length": None})
    await _begin_half(call, answer)
    await call.connection.drop()


async def _reset_midway(call: StruckCall) -> None:
    await _begin_half(call, await call.act())
    await call.connection.reset()


async def _begin_half(call: StruckCall, answer: Answer) -> None:
    await begin(answer, call.send)
    await call.send({"type": "http.response.body", "body": _half(answer), "more_body": True})


def _half(answer: Answer) -> bytes:
    return answer.body[: len(answer.body) // 2]


BREAKS: Mapping[str, Callable[[StruckCall], Awaitable[None]]] = {
    "drop-before": partial(_end, how=ClientConnection.drop),
    "drop-after": partial(_end, how=ClientConnection.drop, acts=True),
    "reset-before": partial(_end, how=ClientConnection.reset),
    "reset-after": partial(_end, how=ClientConnection.reset, acts=True),
    "hang-before": partial(_end, how=ClientConnection.gone),
    "hang": partial(_end, how=ClientConnection.gone, acts=True),
    "crash-before": partial(_crash, acts=False),
    "crash-after": partial(_crash, acts=True),
    "slow-before": _slow_before,
    "slow": _slow,
    "drip": _drip,
    "drip-headers": _drip_headers,
    "close-idle": _close_idle,
    "cut-body": _cut_body,
    "reset-midway": _reset_midway,
}


# Owns an answer held back: the one the service gave, or another put in its place.


JSON = "application/json"


@dataclass(frozen=True)
class Answer:
    """Status, headers and the whole body."""

    status: int
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    body: bytes = b""

    def json(self) -> Any:
        """Read the body; None where it is not JSON."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None

    def saying(self, body: object) -> Answer:
        """Give the same answer with another body, in JSON."""
        return self.holding(json.dumps(body).encode(), **{"content-type": JSON})

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

    def header(self, name: str) -> str:
        """Read one header; empty where there is none."""
        return Headers(raw=self.headers).get(name, "")


def answer_of(response: Response) -> Answer:
    """Take what a response would send."""
    return Answer(response.status_code, response.raw_headers, bytes(response.body))


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


async def give(answer: Answer, send: Send) -> None:
    """Send an answer as it is; without a Content-Length it goes out in chunks."""
    await begin(answer, send)
    await send({"type": "http.response.body", "body": answer.body})


async def begin(answer: Answer, send: Send) -> None:
    """Send status and headers alone."""
    await send({"type": "http.response.start", "status": answer.status, "headers": answer.headers})
