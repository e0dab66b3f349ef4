"""uvicorn in our own event loop, and `/metrics` at a separate address.

uvicorn itself waits forever for the rest of a request's head; the protocol of each server here
limits how long a connection may take.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from callsheet.deployments.process import origin_of
from callsheet.deployments.receiver.endpoint import listen
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.metrics import CONTENT_TYPE, Exposition
from callsheet.tasks.runtime.errors import CallsheetError


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
        # What a proxy says is believed if there is known to be one.
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
    """uvicorn whose signals are someone else's business."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets=sockets)
        self.ready.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


# `/metrics` at an address of its own: the receiver's is known to the world, and tells nothing.


Message = MutableMapping[str, Any]
#: Connections at once: anyone who scrapes has one.
MOST = 16
#: Seconds that a connection may take in all.
LONGEST = 15.0


@asynccontextmanager
async def telling_metrics(ledger: Ledger, address: str) -> AsyncIterator[str]:
    """Answer Prometheus at `host:port` until left; yield where that is, as a URL.

    Raises ConfigurationError when the address cannot be had. Anyone who reaches it may ask.
    """
    listening = await listen(address, ledger="", setting="CALLSHEET_METRICS")
    try:
        app = _Metrics(Exposition(ledger))
        config = config_for(app, _Short, limit_concurrency=MOST, timeout_graceful_shutdown=1)
        async with answering(config, listening):
            yield f"{origin_of(listening)}/metrics"
    finally:
        listening.close()


class _Short(TimedProtocol):
    """One request a connection, and not for long."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.limit(LONGEST)


class _Metrics:
    """The ASGI application: one path."""

    def __init__(self, exposition: Exposition) -> None:
        self._exposition = exposition

    async def __call__(
        self, scope: Message, receive: object, send: Callable[[Message], Awaitable[None]]
    ) -> None:
        status, body = 404, b"only /metrics is here\n"
        if scope["path"] == "/metrics" and scope["method"] in ("GET", "HEAD"):
            try:
                status, body = 200, await self._exposition.text()
            except CallsheetError:
                # Why is in the log of anyone who works with the ledger, and no business of a
                # reader's.
                status, body = 503, b"the ledger cannot be read\n"
        headers = [
            (b"content-type", CONTENT_TYPE.encode()),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send(
            {"type": "http.response.body", "body": body if scope["method"] != "HEAD" else b""}
        )
