"""uvicorn inside an event loop of ours: ready once it answers, stopped without a signal.

By itself it waits for ever for the rest of a head: how long a connection may take is said in the
protocol of whoever serves.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol


def config_for(application: Any, protocol: type[TimedProtocol], **more: Any) -> uvicorn.Config:
    """Return the configuration of a server that says nothing by itself; `more` is uvicorn's."""
    return uvicorn.Config(
        application,
        http=protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        # What strangers send is their trouble, and no line of ours.
        log_level="critical",
        access_log=False,
        server_header=False,
        # What a proxy says is believed by whoever knows that there is one.
        proxy_headers=False,
        **more,
    )


class TimedProtocol(H11Protocol):
    """uvicorn's HTTP/1.1, with a limit to how long a connection may take for what comes next."""

    _deadline: asyncio.TimerHandle | None = None

    @property
    def is_timed(self) -> bool:
        """Whether there is a limit at the moment."""
        return self._deadline is not None

    def limit(self, seconds: float | None) -> None:
        """Give it so many seconds from now, instead of what it had; None takes the limit away."""
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = None if seconds is None else self.loop.call_later(seconds, self.give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        self.limit(None)
        super().connection_lost(exc)

    def give_up(self) -> None:
        """Close the connection, whatever was to be said on it."""
        self.transport.abort()


@asynccontextmanager
async def answering(config: uvicorn.Config, listening: socket.socket) -> AsyncIterator[None]:
    """Answer on a socket until left; raises what kept it from beginning."""
    server = _Server(config)
    task = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        task.add_done_callback(lambda _: server.ready.set())
        await server.ready.wait()
        if task.done():
            task.result()
        yield
    finally:
        server.should_exit = True
        await asyncio.gather(task, return_exceptions=True)


class _Server(uvicorn.Server):
    """uvicorn whose signals are somebody else's business."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets=sockets)
        self.ready.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
