"""The receiver of webhooks: signed deliveries become hints in the ledger, each once.

It answers 200 only after the commit, so that whatever is lost here is sent again. It does no work
of its own: a hint shortens a wait and is never believed. Knows no run and no flow.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn

from deployments.receiver.desk import Desk
from deployments.receiver.intake import COMMIT_WAIT, Clock, Intake, OnHint, Receiver
from deployments.receiver.listening import BACKLOG, address_of, listen, name_of
from deployments.receiver.patience import Queue, protocol_with, room
from tasks.credentials import LiveSecrets
from tasks.ledger import Ledger
from tasks.settings import Settings

__all__ = ["Receiver", "receiving"]


@asynccontextmanager
async def receiving(
    ledger: Ledger,
    settings: Settings,
    *,
    on_hint: OnHint | None = None,
    clock: Clock = time.time,
) -> AsyncIterator[Receiver]:
    """Hear deliveries on `settings.receiver` until left; `on_hint` is told each new one.

    Raises ConfigurationError when the address cannot be had.
    """
    name = name_of(ledger.address)
    listening = await listen(settings.receiver, ledger=name)
    try:
        receiver = Receiver(address_of(listening))
        secrets = LiveSecrets(settings.webhook_secrets, settings.webhook_secret, clock=clock)
        intake = Intake(ledger, receiver, on_hint, clock)
        desk = Desk(intake, secrets, settings.webhook_vendor, name, clock)
        waiting, at_once = room()
        queue = Queue(waiting)
        server = _Server(_config(desk, queue, backlog=at_once))
        sweep = asyncio.create_task(intake.sweep())
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        try:
            serving.add_done_callback(lambda _: server.ready.set())
            await server.ready.wait()
            if serving.done():
                serving.result()
            # Accepted are few in one go; the system may hold more of them.
            listening.listen(BACKLOG)
            yield receiver
        finally:
            queue.close()
            server.should_exit = True
            sweep.cancel()
            await asyncio.gather(serving, sweep, return_exceptions=True)
            await intake.settle()
    finally:
        listening.close()


class _Server(uvicorn.Server):
    """uvicorn inside an event loop of ours, whose signals are not its business."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets=sockets)
        self.ready.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _config(desk: Desk, queue: Queue, *, backlog: int) -> uvicorn.Config:
    return uvicorn.Config(
        desk,
        http=protocol_with(queue),
        ws="none",
        lifespan="off",
        log_config=None,
        # What strangers send is their trouble, and no line of ours.
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        backlog=backlog,
        timeout_graceful_shutdown=round(COMMIT_WAIT) + 1,
    )
