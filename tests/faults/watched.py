"""Between the programs under test and a service: writes down when each create came, and its end."""

from __future__ import annotations

import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from urllib.error import HTTPError

from tests.web import Quiet, serving


@dataclass(frozen=True)
class Seen:
    """A create: when it came, when it was answered and how, and until when it was refused."""

    came: float
    answered: float
    status: int
    until: float


@dataclass
class Watched:
    """Its address, and the creates it has passed on."""

    url: str = ""
    creates: list[Seen] = field(default_factory=list)


@contextmanager
def watched(base_url: str) -> Iterator[Watched]:
    """Pass everything on to the service at `base_url`, which ends in /api/v1."""
    told = Watched()
    origin = base_url.removesuffix("/api/v1")

    class Handler(Quiet):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            came = time.time()
            body = self.rfile.read(int(self.headers.get("content-length") or 0)) or None
            headers = {
                name: self.headers[name]
                for name in ("authorization", "content-type")
                if name in self.headers
            }
            request = urllib.request.Request(
                origin + self.path, data=body, headers=headers, method=self.command
            )
            try:
                answer = urllib.request.urlopen(request, timeout=60)
            except HTTPError as error:
                answer = error
            with answer:
                content, after = answer.read(), answer.headers.get("retry-after")
            if self.command == "POST" and self.path == "/api/v1/videos":
                now = time.time()
                told.creates.append(Seen(came, now, answer.status, _until(after, now)))
            self.send_response(answer.status)
            for name in ("content-type", "retry-after"):
                if name in answer.headers:
                    self.send_header(name, answer.headers[name])
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST

    with serving(Handler) as url:
        told.url = f"{url}/api/v1"
        yield told


def _until(after: str | None, now: float) -> float:
    """Return the moment that a Retry-After names."""
    if after is None:
        return 0.0
    return now + float(after) if after.isdigit() else parsedate_to_datetime(after).timestamp()
