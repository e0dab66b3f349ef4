"""A place that must not be called: it answers anybody, and writes down what it was asked."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Listener:
    """Its address, and the requests it has heard."""

    url: str = ""
    heard: list[str] = field(default_factory=list)


@contextmanager
def listener() -> Iterator[Listener]:
    """Listen on a free port of this machine."""
    told = Listener()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            told.heard.append(self.requestline)
            self.send_response(200)
            self.end_headers()

        do_GET = do_POST

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    told.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield told
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
