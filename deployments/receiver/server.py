"""The receiver of webhooks: signed deliveries become hints in the ledger, each once.

It answers 200 only after the commit, so that whatever is lost here is sent again. It does no work
of its own: a hint shortens a wait and is never believed. Knows no run and no flow. How long a
connection may take, and how many may wait, is said here.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from callsheet.deployments.process import inherited, origin_of
from callsheet.deployments.receiver.acceptance import (
    BODY_TIMEOUT,
    COMMIT_TIMEOUT,
    Acceptance,
    Application,
    Clock,
    OnHint,
    Receiver,
)
from callsheet.deployments.receiver.endpoint import BACKLOG, listen, name_of
from callsheet.deployments.web_server import TimedProtocol, answering, config_for
from callsheet.tasks.credentials import LiveSecrets
from callsheet.tasks.ledger.gauges import keeping_counts
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.process import raise_file_limit

#: Seconds for the head of a request to arrive.
HEAD_TIMEOUT = 10.0
#: Seconds for everything after it: the body, the commit, and someone to read the answer.
REST_TIMEOUT = BODY_TIMEOUT + 10.0
#: Connections that may wait at once, where the system has room for so many.
MOST_WAITING = 256
#: Bytes looked at in one go. Bodies may come in chunks of a byte: what is most of the wire then is
#: framing, which costs the time of everybody else; no one honest sends so.
PIECE = 2 * 1024
FRAMING = 4 * 1024


@asynccontextmanager
async def receiving(
    ledger: Ledger,
    settings: Settings,
    *,
    on_hint: OnHint | None = None,
    clock: Clock = time.time,
    fd: int | None = None,
) -> AsyncIterator[Receiver]:
    """Receive deliveries on `settings.receiver` until left; `on_hint` is told each new one.

    `fd` is a socket on which the parent process listens, instead of that address.

    Raises ConfigurationError when the address cannot be had.
    """
    name = name_of(ledger.address)
    listening = await listen(settings.receiver, ledger=name) if fd is None else inherited(fd)
    try:
        receiver = Receiver(origin_of(listening))
        secrets = LiveSecrets(settings.webhook_secrets, settings.webhook_secret, clock=clock)
        acceptance = Acceptance(ledger, receiver, on_hint, clock)
        application = Application(acceptance, secrets, settings.webhook_vendor, name, clock)
        waiting, at_once = _limits()
        queue = WaitingConnections(waiting)
        config = config_for(
            application,
            _protocol_with(queue),
            backlog=at_once,
            timeout_graceful_shutdown=round(COMMIT_TIMEOUT) + 1,
        )
        dropping = asyncio.create_task(acceptance.drop_old_hints())
        try:
            async with keeping_counts(ledger), answering(config, listening):
                # Accepted are few in one go; the system may hold more of them.
                listening.listen(BACKLOG)
                try:
                    yield receiver
                finally:
                    queue.close()
        finally:
            dropping.cancel()
            await asyncio.gather(dropping, return_exceptions=True)
            await acceptance.finish()
    finally:
        listening.close()


class WaitingConnections:
    """The connections whose request is not whole yet, the oldest first, `most` of them at most."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._waiting: dict[ReceivingProtocol, None] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def join(self, one: ReceivingProtocol) -> None:
        """Wait at the end; when there are too many, the first goes without an answer."""
        self._waiting[one] = None
        if len(self._waiting) > self._most:
            next(iter(self._waiting)).give_up()

    def leave(self, one: ReceivingProtocol) -> None:
        """Wait no more; does nothing for one that does not wait."""
        self._waiting.pop(one, None)

    def close(self) -> None:
        """Send everybody away, and anyone who comes yet."""
        self._most = 0
        for one in list(self._waiting):
            one.give_up()


class ReceivingProtocol(TimedProtocol):
    """A limit for the head of a request, and one for everything after it."""

    queue: WaitingConnections
    _wire = _body = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.limit(HEAD_TIMEOUT)
        self.queue.join(self)

    def data_received(self, data: bytes) -> None:
        for start in range(0, len(data), PIECE):
            if self.transport.is_closing():
                return
            self._take(data[start : start + PIECE])
        if self.cycle is not None and not self.cycle.more_body:
            self.queue.leave(self)

    def _take(self, piece: bytes) -> None:
        if self.cycle is None:
            super().data_received(piece)
            if self.cycle is not None:
                self.limit(REST_TIMEOUT)
            return
        before = len(self.cycle.body)
        super().data_received(piece)
        self._wire += len(piece)
        self._body += len(self.cycle.body) - before
        if self._wire > 2 * self._body + FRAMING:
            self.give_up()

    def connection_lost(self, exc: Exception | None) -> None:
        self.queue.leave(self)
        super().connection_lost(exc)

    def give_up(self) -> None:
        self.queue.leave(self)
        super().give_up()


def _protocol_with(queue: WaitingConnections) -> type[ReceivingProtocol]:
    """Return the protocol whose connections wait in `queue`; uvicorn makes them by itself."""
    waiting = queue

    class Waiting(ReceivingProtocol):
        queue = waiting

    return Waiting


def _limits() -> tuple[int, int]:
    """Return how many connections may wait, and how many are accepted in one go.

    Each takes a file descriptor, and one that is sent away keeps its own for a few turns of the
    event loop, in which more are accepted.
    """
    files = raise_file_limit() or MOST_WAITING * 16
    return max(8, min(MOST_WAITING, files // 8)), max(4, min(MOST_WAITING, files // 16))
