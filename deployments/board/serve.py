"""The board as a server: its socket, and a clean end."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from deployments.board.app import make_app
from deployments.board.attend import attending
from deployments.board.board import Board
from deployments.web_server import answering
from tasks.errors import ConfigurationError

#: Seconds that answers under way have at the end; a stream of events is cut off then.
GRACE = 2
#: Seconds for the head of a request to arrive.
HEAD_TIMEOUT = 10.0
#: Bytes of a head at most, and connections at once: one person has a few.
LONGEST_HEAD = 32 * 1024
MOST_CONNECTIONS = 512


@asynccontextmanager
async def serving(make: Callable[[str], Board], *, host: str, port: int) -> AsyncIterator[Board]:
    """Serve the board that `make` gives for an origin until left.

    Raises ConfigurationError when the address cannot be had.
    """
    with _listen(host, port) as listening:
        board = make(_origin(listening))
        app = make_app(board)
        try:
            async with answering(_config(app), listening), attending(board):
                yield board
        finally:
            await app.state.beside.aclose()


def _config(app: FastAPI) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=_Protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        # What a proxy says is read in `visit`, and only when there is one.
        proxy_headers=False,
        h11_max_incomplete_event_size=LONGEST_HEAD,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_graceful_shutdown=GRACE,
    )


class _Protocol(H11Protocol):
    """uvicorn's HTTP/1.1, which by itself waits for ever for the rest of a head."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._deadline = self.loop.call_later(HEAD_TIMEOUT, self.transport.abort)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        waits = self.cycle is None or self.cycle.response_complete
        if self._deadline is not None and not waits:
            self._deadline.cancel()
            self._deadline = None
        elif self._deadline is None and waits:
            self._deadline = self.loop.call_later(HEAD_TIMEOUT, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        super().connection_lost(exc)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named because asyncio turns off Nagle's delay, 40 ms an answer, only then.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(128)
    except (OSError, OverflowError) as error:
        listening.close()
        why = error.strerror if isinstance(error, OSError) else "there is no such port"
        raise ConfigurationError(
            f"the board cannot listen on {host}:{port}: {why}",
            remedy="is one at work there already? --port 0 takes a port that is free",
        ) from error
    return listening


def _origin(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
