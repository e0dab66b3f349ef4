"""One request to the receiver: its body, read within bounds, and the answer to it. ASGI alone."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

#: A delivery has some hundred bytes; beyond this, nothing is read.
LARGEST = 256 * 1024
#: Seconds for a whole body to arrive.
BODY_WAIT = 10.0


@dataclass(frozen=True)
class Answer:
    """A status and a word for whoever reads logs at the other end."""

    status: int
    words: str
    document: bytes | None = None

    async def give(self, send: Send) -> None:
        """Send it. Every connection serves one request: nobody keeps one to sit on."""
        body = self.document or f"{self.words}\n".encode()
        kind = b"application/json" if self.document else b"text/plain; charset=utf-8"
        headers = [
            (b"content-type", kind),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        if self.status == 405:
            headers.append((b"allow", b"POST"))
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


class Refused(Exception):
    """The request has no body that could be a delivery; `answer` says why, None if nobody waits."""

    def __init__(self, answer: Answer | None) -> None:
        super().__init__()
        self.answer = answer


async def read_body(headers: list[tuple[bytes, bytes]], receive: Receive) -> bytes:
    """Return the whole body; raise Refused when it is too large, too slow, or cut off."""
    # The server has checked that it is a number; without one the bytes are counted as they come.
    said = next((value for name, value in headers if name == b"content-length"), b"0")
    if int(said) > LARGEST:
        raise Refused(TOO_LARGE)
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_WAIT):
            while (message := await receive())["type"] == "http.request":
                body += message.get("body", b"")
                if len(body) > LARGEST:
                    raise Refused(TOO_LARGE)
                if not message.get("more_body", False):
                    return bytes(body)
    except TimeoutError:
        raise Refused(TOO_SLOW) from None
    raise Refused(None)


TOO_LARGE = Answer(413, f"a delivery has {LARGEST} bytes at most")
TOO_SLOW = Answer(408, "the body did not arrive in time")
