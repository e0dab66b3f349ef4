"""Owns one request that a fault strikes, with the service behind it and its connection."""

from __future__ import annotations

import json
from dataclasses import dataclass

from starlette.types import ASGIApp, Receive, Scope, Send

from deployments.sandbox.faults.answer import Answer, again, give, held_back
from deployments.sandbox.faults.connection import Connection, head
from deployments.sandbox.faults.fault import Fault, Framing
from deployments.sandbox.house import House


@dataclass(frozen=True, kw_only=True)
class Call:
    """A request, read to its end and not yet acted on."""

    fault: Fault
    app: ASGIApp
    scope: Scope
    body: bytes
    receive: Receive
    send: Send
    house: House
    video: str | None

    @property
    def connection(self) -> Connection:
        """The connection it came by."""
        return Connection(self.scope, self.receive)

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
        first = head(answer.status, answer.headers, clock=self.house.now() + clock_skew)
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
