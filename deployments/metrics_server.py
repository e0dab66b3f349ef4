"""`/metrics` at an address of its own: the receiver's is known to the world, and tells nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

from callsheet.deployments.listening import origin_of
from callsheet.deployments.receiver.endpoint import listen
from callsheet.deployments.web_server import TimedProtocol, answering, config_for
from callsheet.tasks.errors import CallsheetError
from callsheet.tasks.ledger import Ledger
from callsheet.tasks.metrics import CONTENT_TYPE, Exposition

Message = MutableMapping[str, Any]
#: Connections at once: whoever scrapes has one.
MOST = 16
#: Seconds that a connection may take in all.
LONGEST = 15.0


@asynccontextmanager
async def telling_metrics(ledger: Ledger, address: str) -> AsyncIterator[str]:
    """Answer Prometheus at `host:port` until left; yield where that is, as a URL.

    Raises ConfigurationError when the address cannot be had. Whoever reaches it may ask.
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
                # Why is in the log of whoever works with the ledger, and no business of a reader's.
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
