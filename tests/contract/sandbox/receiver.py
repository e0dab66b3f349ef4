"""A receiver of webhooks: keeps every request as it came, and answers as a test tells it to.

Everything here is the standard library's, so that a signature is checked by other hands than
those that made it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import Message
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.web import Quiet, serving

WITHIN = 30.0


@dataclass(frozen=True)
class Got:
    """One request as it came in; `at` is the receiver's own clock."""

    method: str
    path: str
    headers: Message
    body: bytes
    at: float

    def header(self, name: str) -> str:
        return str(self.headers[f"X-Service-{name}"])

    @property
    def said(self) -> dict[str, Any]:
        return dict(json.loads(self.body))

    def is_signed_with(self, secret: str) -> bool:
        """Check the signature over the raw bytes, as section 6 of the specification says."""
        given = self.headers.get("X-Service-Signature", "")
        wanted = "sha256=" + hmac.new(secret.encode(), self.body, hashlib.sha256).hexdigest()
        return len(given) == len(wanted) and hmac.compare_digest(given, wanted)


Handler = BaseHTTPRequestHandler
Answer = Callable[[Handler, Got], None]


def status(number: int, **headers: str) -> Answer:
    """Answer with a status and nothing else."""

    def answer(handler: Handler, got: Got) -> None:
        handler.send_response(number)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return answer


class Receiver:
    """`answer` is what it does with the next request; `got` is what came, in order."""

    def __init__(self) -> None:
        self.url = ""
        self.got: list[Got] = []
        self.answer: Answer = status(200)
        self.arrived = threading.Condition()

    def take(self, handler: Handler) -> None:
        body = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
        came = Got(handler.command, handler.path, handler.headers, body, time.time())
        with self.arrived:
            self.got.append(came)
            self.arrived.notify_all()
        self.answer(handler, came)

    def wait(self, number: int) -> list[Got]:
        """Wait until so many requests came in, and give them all."""
        with self.arrived:
            enough = self.arrived.wait_for(lambda: len(self.got) >= number, WITHIN)
            assert enough, f"{len(self.got)} of {number} came in"
            return list(self.got)


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Run a receiver on a free port of this machine."""

    receiver = Receiver()

    class Door(Quiet):
        def do_POST(self) -> None:
            receiver.take(self)

        do_GET = do_PUT = do_POST

    with serving(Door) as receiver.url:
        yield receiver
