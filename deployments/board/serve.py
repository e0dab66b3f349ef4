"""The board as a server: its socket, and a clean end."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from callsheet.deployments.board.app import make_app
from callsheet.deployments.board.attend import attending
from callsheet.deployments.board.board import Board
from callsheet.deployments.listening import inherited, listen_on, origin_of
from callsheet.deployments.web_server import TimedProtocol, answering, config_for
from callsheet.tasks.errors import ConfigurationError

#: Seconds that answers under way have at the end; a stream of events is cut off then.
GRACE = 2
#: Seconds for the head of a request to arrive.
HEAD_TIMEOUT = 10.0
#: Bytes of a head at most, and connections at once: one person has a few.
LONGEST_HEAD = 32 * 1024
MOST_CONNECTIONS = 512


@asynccontextmanager
async def serving(
    make: Callable[[str], Board], *, host: str, port: int, fd: int | None = None
) -> AsyncIterator[Board]:
    """Serve the board that `make` gives for an origin until left.

    `fd` is a socket that whoever started this process listens on. Raises ConfigurationError when
    the address cannot be had.
    """
    with _listen(host, port) if fd is None else inherited(fd) as listening:
        board = make(origin_of(listening))
        app = make_app(board)
        config = config_for(
            app,
            _Protocol,
            h11_max_incomplete_event_size=LONGEST_HEAD,
            limit_concurrency=MOST_CONNECTIONS,
            timeout_graceful_shutdown=GRACE,
        )
        try:
            async with answering(config, listening), attending(board):
                yield board
        finally:
            await app.state.beside.aclose()


class _Protocol(TimedProtocol):
    """A limit for the head of every request; what is answered takes the time it takes."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.limit(HEAD_TIMEOUT)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        waits = self.cycle is None or self.cycle.response_complete
        if not waits:
            self.limit(None)
        elif not self.is_timed:
            self.limit(HEAD_TIMEOUT)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return listen_on(family, (host, port), backlog=128)
    except (OSError, OverflowError) as error:
        why = error.strerror if isinstance(error, OSError) else "there is no such port"
        raise ConfigurationError(
            f"the board cannot listen on {host}:{port}: {why}",
            remedy="is another program using it? --port 0 picks a free port",
        ) from error
