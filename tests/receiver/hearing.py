"""A receiver at work in a thread of its own, what it wrote down, and clients of it."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import itertools
import json
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import create_engine, text

from callsheet.deployments.receiver.server import Receiver, receiving
from callsheet.tasks.credentials import WebhookSecret, keep_webhook_secret
from callsheet.tasks.ledger.ledger import open_ledger
from callsheet.tasks.ledger.webhook_events import Hint
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.settings import load_settings

SECRET = "said-in-tests-alone"
WITHIN = 20.0


@dataclass
class Hearing:
    """A receiver, its settings, and the hints it passed on."""

    settings: Settings
    receiver: Receiver
    passed_on: list[Hint] = field(default_factory=list)

    @property
    def address(self) -> tuple[str, int]:
        host, _, port = self.receiver.address.removeprefix("http://").rpartition(":")
        return host, int(port)

    def inbox(self, video: str | None = None) -> list[dict[str, Any]]:
        """Return the hints in the ledger that name a video, or all."""
        return read_inbox(self.settings.ledger, video)

    def waits_for(self, happened: Callable[[], object]) -> None:
        until = time.monotonic() + WITHIN
        while not happened():
            assert time.monotonic() < until
            time.sleep(0.02)


def read_inbox(address: str, video: str | None = None) -> list[dict[str, Any]]:
    """Read a ledger's inbox without the program's own queries; `videos` are sorted."""
    engine = create_engine(address.replace("postgresql:", "postgresql+psycopg:"))
    with engine.connect() as connection:
        found = [dict(row) for row in connection.execute(text(_HINTS)).mappings()]
        named = connection.execute(text(_NAMED)).all()
    engine.dispose()
    for hint in found:
        hint["videos"] = [one for this, one in named if this == hint["id"]]
    return [hint for hint in found if video is None or video in hint["videos"]]


_HINTS = "SELECT * FROM hints ORDER BY id"
_NAMED = "SELECT hint_id, video_id FROM hinted ORDER BY video_id"


def body_about(video: str, **members: Any) -> bytes:
    """Return the body of an event, as some service might write it."""
    return json.dumps({"event": "video.ready", "data": {"id": video}, **members}).encode()


@contextmanager
def hearing(
    folder: Path,
    *,
    on_hint: Callable[[Hint], None] | None = None,
    clock: Callable[[], float] = time.time,
    **environ: str,
) -> Iterator[Hearing]:
    """Run a receiver on a free port, with a ledger in `folder` unless the settings name one."""
    given = {"CALLSHEET_RECEIVER": "127.0.0.1:0", "CALLSHEET_WEBHOOK_SECRET": SECRET}
    settings = load_settings(environ=given | environ, folder=folder)
    passed_on: list[Hint] = []
    started = threading.Event()
    running: dict[str, Any] = {}

    async def serve() -> None:
        stop = running["stop"] = asyncio.Event()
        running["loop"] = asyncio.get_running_loop()
        async with (
            await open_ledger(settings.ledger) as ledger,
            receiving(ledger, settings, on_hint=on_hint or passed_on.append, clock=clock) as one,
        ):
            running["receiver"] = one
            started.set()
            await stop.wait()

    def work() -> None:
        try:
            asyncio.run(serve())
        except BaseException as error:
            running["error"] = error
        started.set()

    thread = threading.Thread(target=work)
    thread.start()
    started.wait(WITHIN)
    try:
        if "error" in running:
            raise running["error"]
        yield Hearing(settings, running["receiver"], passed_on)
    finally:
        if "receiver" in running:
            running["loop"].call_soon_threadsafe(running["stop"].set)
        thread.join()
    if "error" in running:
        raise running["error"]


_FRESH = itertools.count(1)


@dataclass(frozen=True)
class Answer:
    """The answer as bytes; status 0 where the connection ended without one."""

    raw: bytes

    @property
    def status(self) -> int:
        return int(self.raw.split()[1]) if self.raw else 0

    @property
    def body(self) -> bytes:
        return self.raw.partition(b"\r\n\r\n")[2]


def fresh(prefix: str = "vid_t") -> str:
    """Return an id that no other test has."""
    return f"{prefix}{next(_FRESH)}"


def signature(body: bytes, secret: str = SECRET) -> bytes:
    """Sign as section 6 of the specification says."""
    return b"sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest().encode()


def head(
    body: bytes,
    *,
    signed: bytes | None = None,
    event: str | None = None,
    more: Iterable[tuple[bytes, bytes]] = (),
    length: bool = True,
    method: bytes = b"POST",
    path: bytes = b"/hooks/nonce",
    vendor: bytes = b"Service",
) -> bytes:
    """Return the head of a delivery; `signed` is its signature header, b"" for none."""
    lines = [method + b" " + path + b" HTTP/1.1", b"Host: receiver"]
    signed = signature(body) if signed is None else signed
    if signed:
        lines.append(b"X-" + vendor + b"-Signature: " + signed)
    lines.append(b"X-" + vendor + b"-Event-Id: " + (event or fresh("evt_")).encode())
    lines.append(b"X-" + vendor + b"-Event: video.ready")
    lines += [name + b": " + value for name, value in more]
    lines.append(b"Content-Length: %d" % len(body) if length else b"Transfer-Encoding: chunked")
    return b"\r\n".join([*lines, b"", b""])


def post(address: tuple[str, int], body: bytes, **said: object) -> Answer:
    """Deliver a body and return the answer."""
    return send(address, head(body, **said) + body)  # type: ignore[arg-type]


def send(address: tuple[str, int], *pieces: bytes, timeout: float = 20) -> Answer:
    """Write bytes onto a new connection, and read until it is closed."""
    with socket.create_connection(address, timeout=timeout) as connection:
        with contextlib.suppress(ConnectionError):
            for piece in pieces:
                connection.sendall(piece)
        return read(connection)


def read(connection: socket.socket) -> Answer:
    """Read until the other side closes; what came before a reset counts."""
    said = b""
    with contextlib.suppress(ConnectionError):
        while more := connection.recv(65536):
            said += more
    return Answer(said)


def keep(
    folder: Path, nonce: str, secret: str, at: float, *, retired_at: float | None = None
) -> None:
    """Keep the secret of a subscription that was made `at` a moment."""
    url = f"https://hooks.example.com/{nonce}"
    kept = WebhookSecret(
        nonce=nonce, organisation="ours", url=url, secret=secret, made_at=at, retired_at=retired_at
    )
    keep_webhook_secret(folder, kept)
