"""A push gateway, as far as it is sent things."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Sent:
    """Where it is, and what came: method, path, authorization, body."""

    url: str
    requests: list[tuple[str, str, str | None, bytes]] = field(default_factory=list)


@contextmanager
def gateway() -> Iterator[Sent]:
    """Take whatever is sent, while this lasts."""

    class Handler(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            authorization = self.headers.get("authorization")
            sent.requests.append((self.command, self.path, authorization, body))
            self.send_response(202)
            self.end_headers()

        do_POST = do_PUT

        def log_message(self, *_: object) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        sent = Sent(f"http://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield sent
        finally:
            server.shutdown()
            thread.join()
