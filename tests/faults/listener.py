"""A place that must not be called: it answers anybody, and writes down what it was asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.web import Quiet, serving


@dataclass
class Listener:
    """Its address, and the requests it has heard."""

    url: str = ""
    heard: list[str] = field(default_factory=list)


@contextmanager
def listener() -> Iterator[Listener]:
    """Listen on a free port of this machine."""
    told = Listener()

    class Handler(Quiet):
        def do_POST(self) -> None:
            told.heard.append(self.requestline)
            self.send_response(200)
            self.end_headers()

        do_GET = do_POST

    with serving(Handler) as told.url:
        yield told
