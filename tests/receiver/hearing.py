"""A receiver at work in a thread of its own, and what it wrote down, read by other hands."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import create_engine, text

from callsheet.deployments.receiver.server import Receiver, receiving
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
