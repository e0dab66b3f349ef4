"""Owns one request that a fault strikes, with the service behind it and the connection under it.

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
from collections.abc import Iterable
from dataclasses import dataclass
from email.utils import formatdate
from http import HTTPStatus

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from callsheet.deployments.sandbox.container import Container
from callsheet.deployments.sandbox.faults.answer import Answer, again, give, held_back
from callsheet.deployments.sandbox.faults.kinds import Fault, Framing

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
