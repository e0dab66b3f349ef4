"""uvicorn in our own event loop, and `/metrics` at a separate address.

uvicorn waits forever for the head of a request, and counts connections that send none toward
`limit_concurrency`. So these are closed here: otherwise they would shut a server for everyone.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import uvicorn

from callsheet.deployments.process import origin_of
from callsheet.deployments.receiver.endpoint import listen
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.metrics import CONTENT_TYPE, Exposition
from callsheet.tasks.runtime.errors import CallsheetError

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

#: Seconds for the head of a request to arrive.
HEAD_TIMEOUT = 10.0
#: Connections without a request at most, and how often they are looked at, in seconds.
MOST_SILENT, LOOK_INTERVAL = 256, 0.5


def config_for(application: Any, **more: Any) -> uvicorn.Config:
    """Return the configuration of a server that says nothing by itself; `more` is uvicorn's."""
    return uvicorn.Config(
        application,
        http="h11",
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


@asynccontextmanager
async def answering(config: uvicorn.Config, listening: socket.socket) -> AsyncIterator[None]:
    """Answer on a socket until left; raises what kept it from beginning."""
    server = _Server(config)
    task = asyncio.create_task(server.serve(sockets=[listening]))
    closing = asyncio.create_task(_close_silent(server))
    try:
        task.add_done_callback(lambda _: server.ready.set())
        await server.ready.wait()
        if task.done():
            task.result()
        yield
    finally:
        server.should_exit = True
        await asyncio.gather(task, return_exceptions=True)
        closing.cancel()
        await asyncio.gather(closing, return_exceptions=True)


async def _close_silent(server: uvicorn.Server) -> None:
    """Close connections that send no request for too long, and the oldest where they are many."""
    since: dict[tuple[Any, Any], float] = {}
    while True:
        now = asyncio.get_running_loop().time()
        connections: set[Any] = server.server_state.connections
        # A connection that has had a request meanwhile has another cycle.
        silent = [
            (one, one.cycle)
            for one in connections
            if one.cycle is None or one.cycle.response_complete
        ]
        since = {key: since.get(key, now) for key in silent}
        newest_first = sorted(since, key=since.__getitem__, reverse=True)
        for number, key in enumerate(newest_first):
            # One that came since the last look may have sent its head already.
            waits = now - since[key]
            if waits > HEAD_TIMEOUT or (number >= MOST_SILENT and waits > 0):
                key[0].transport.abort()
        await asyncio.sleep(LOOK_INTERVAL)


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


#: Connections at once: anyone who scrapes has one.
MOST = 16


@asynccontextmanager
async def telling_metrics(ledger: Ledger, address: str) -> AsyncIterator[str]:
    """Answer Prometheus at `host:port` until left; yield where that is, as a URL.

    Raises ConfigurationError when the address cannot be had. Anyone who reaches it may ask.
    """
    # Most receivers need not pay for it.
    from starlette.responses import PlainTextResponse, Response

    exposition = Exposition(ledger)

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        said: Response
        if scope["path"] != "/metrics" or scope["method"] not in ("GET", "HEAD"):
            said = PlainTextResponse("only /metrics is here\n", 404)
        else:
            try:
                said = Response(await exposition.text(), headers={"content-type": CONTENT_TYPE})
            except CallsheetError:
                # Why is in the log of anyone who works with the ledger, and no business of a
                # reader's.
                said = PlainTextResponse("the ledger cannot be read\n", 503)
        said.headers["connection"] = "close"
        await said(scope, receive, send)

    listening = await listen(address, ledger="", setting="CALLSHEET_METRICS")
    try:
        config = config_for(answer, limit_concurrency=MOST, timeout_graceful_shutdown=1)
        async with answering(config, listening):
            yield f"{origin_of(listening)}/metrics"
    finally:
        listening.close()
