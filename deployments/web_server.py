"""uvicorn inside an event loop of ours: ready once it answers, stopped without a signal.

What is served, and how a connection is to behave, is said in the configuration that it is given.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn


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
