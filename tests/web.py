"""A web server of this process, for tests of what is sent somewhere: it answers as it is told."""

from __future__ import annotations

import random
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Quiet(BaseHTTPRequestHandler):
    """Answers requests, and writes no line about any."""

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def free_port() -> int:
    """Return a port that nobody listens on, and that no outgoing connection is given."""
    for port in random.sample(range(15_000, 32_000), 100):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("a hundred ports are in use")


class _Server(ThreadingHTTPServer):
    request_queue_size = 128

    def handle_error(self, *_: object) -> None:
        """Whoever leaves early is nothing to report."""


@contextmanager
def serving(handler: Callable[..., BaseHTTPRequestHandler]) -> Iterator[str]:
    """Serve on a free port of this machine; yield the address, without a path."""
    with _Server(("127.0.0.1", 0), handler) as server:
        # Looked at often, so that it is left soon.
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@dataclass(frozen=True)
class Call:
    """One request."""

    path: str
    body: str


@dataclass
class Watcher:
    """What a web server was asked, and what it answers."""

    url: str = ""
    calls: list[Call] = field(default_factory=list)
    status: int = 200
    answer: bytes = b""

    @property
    def port(self) -> int:
        """The port of this machine that it listens on."""
        return int(self.url.rpartition(":")[2])


@contextmanager
def watcher(status: int = 200, answer: bytes = b"") -> Iterator[Watcher]:
    """Run a web server that answers everything alike."""
    seen = Watcher(status=status, answer=answer)

    class Handler(Quiet):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0)).decode()
            seen.calls.append(Call(self.path, body))
            self.send_response(seen.status)
            self.send_header("content-length", str(len(seen.answer)))
            self.end_headers()
            self.wfile.write(seen.answer)

        do_GET = do_POST

    with serving(Handler) as seen.url:
        yield seen
