"""How long the receiver waits for those who send nothing, and for how many of them.

Owns the connection below a request. uvicorn waits for ever for the rest of a head, and ASGI sees
a request only once its head is whole.
"""

from __future__ import annotations

import asyncio
import sys

from uvicorn.protocols.http.h11_impl import H11Protocol

from deployments.receiver.request import BODY_WAIT

#: Seconds for the head of a request to arrive.
HEAD_WAIT = 10.0
#: Seconds for everything after it: the body, the commit, and somebody to read the answer.
REST_WAIT = BODY_WAIT + 10.0
#: Connections that may wait at once, where the system has room for so many.
MOST = 256
#: Bytes looked at in one go. Bodies may come in chunks of a byte: what is most of the wire then is
#: framing, which costs the time of everybody else; nobody honest sends so.
PIECE = 2 * 1024
FRAMING = 4 * 1024


class Queue:
    """The connections whose request is not whole yet, the oldest first, `most` of them at most."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._waiting: dict[PatientProtocol, None] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def join(self, one: PatientProtocol) -> None:
        """Wait at the end; when there are too many, the first goes without an answer."""
        self._waiting[one] = None
        if len(self._waiting) > self._most:
            next(iter(self._waiting)).give_up()

    def leave(self, one: PatientProtocol) -> None:
        """Wait no more; does nothing for one that does not wait."""
        self._waiting.pop(one, None)

    def close(self) -> None:
        """Send everybody away, and whoever comes yet."""
        self._most = 0
        for one in list(self._waiting):
            one.give_up()


class PatientProtocol(H11Protocol):
    """uvicorn's HTTP/1.1 with an end to its patience."""

    queue: Queue
    _deadline: asyncio.TimerHandle | None = None
    _wire = _body = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._deadline = self.loop.call_later(HEAD_WAIT, self.give_up)
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
                self._begin_rest()
            return
        before = len(self.cycle.body)
        super().data_received(piece)
        self._wire += len(piece)
        self._body += len(self.cycle.body) - before
        if self._wire > 2 * self._body + FRAMING:
            self.give_up()

    def _begin_rest(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = self.loop.call_later(REST_WAIT, self.give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        self.queue.leave(self)
        if self._deadline is not None:
            self._deadline.cancel()
        super().connection_lost(exc)

    def give_up(self) -> None:
        """Close the connection, whatever was to be said on it."""
        self.queue.leave(self)
        self.transport.abort()


def protocol_with(queue: Queue) -> type[PatientProtocol]:
    """Return the protocol whose connections wait in `queue`; uvicorn makes them by itself."""
    waiting = queue

    class Waiting(PatientProtocol):
        queue = waiting

    return Waiting


def room() -> tuple[int, int]:
    """Return how many connections may wait, and how many are accepted in one go.

    Each takes a file descriptor, and one that is sent away keeps its own for a few turns of the
    event loop, in which more are accepted.
    """
    if sys.platform == "win32":
        return MOST, MOST
    import resource

    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    descriptors = MOST * 16 if soft == resource.RLIM_INFINITY else soft
    return max(8, min(MOST, descriptors // 8)), max(4, min(MOST, descriptors // 16))
