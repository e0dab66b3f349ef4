"""Owns an answer held back: the one the service gave, or another put in its place."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
