"""A push gateway, as far as it is sent things."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.web import Quiet, serving


@dataclass
class Sent:
    """Where it is, and what came: method, path, authorization, body."""

    url: str
    requests: list[tuple[str, str, str | None, bytes]] = field(default_factory=list)


@contextmanager
def gateway() -> Iterator[Sent]:
    """Take whatever is sent, while this lasts."""

    class Handler(Quiet):
        def do_PUT(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            authorization = self.headers.get("authorization")
            sent.requests.append((self.command, self.path, authorization, body))
            self.send_response(202)
            self.end_headers()

        do_POST = do_PUT

    with serving(Handler) as url:
        sent = Sent(url)
        yield sent
