"""Metrics at the end of a run, for who is not there to be asked: a file, a push gateway.

Both have what the board's `/metrics` has. Neither fails a run.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

from callsheet.tasks.errors import CallsheetError
from callsheet.tasks.ledger import Ledger, keep_counts
from callsheet.tasks.metrics.exposition import Exposition
from callsheet.tasks.redact import redact

log = logging.getLogger("callsheet.metrics")

#: The job under which it is pushed, and how long the gateway may take, in seconds.
JOB, WITHIN = "callsheet", 5.0


async def publish(ledger: Ledger, *, file: str | None, push: str | None) -> None:
    """Write the ledger's metrics to a file and push them, where either is named."""
    if not (file or push):
        return
    await keep_counts(ledger)
    try:
        registry = await Exposition(ledger).registry()
        await asyncio.to_thread(_send, registry, file, push)
    except (OSError, ValueError, CallsheetError) as error:
        log.warning("metrics are not published: %s", redact(str(error)))


def _send(registry: Any, file: str | None, push: str | None) -> None:
    from prometheus_client import push_to_gateway, write_to_textfile

    if file:
        # Beside it first, then in its place: a collector never reads half of it.
        write_to_textfile(file, registry)
    if push:
        address, handler = _gateway(push)
        push_to_gateway(address, JOB, registry, timeout=WITHIN, handler=handler)


def _gateway(push: str) -> tuple[str, Any]:
    """Return a gateway's address without user and password, and what sends both along."""
    from prometheus_client.exposition import basic_auth_handler, default_handler

    parts = urlsplit(push)
    if parts.username is None:
        return push, default_handler
    host = parts.netloc.rpartition("@")[2]
    user, password = unquote(parts.username), unquote(parts.password or "")

    def handler(url: str, method: str, timeout: float, headers: Any, data: bytes) -> Any:
        return basic_auth_handler(url, method, timeout, headers, data, user, password)

    return urlunsplit(parts._replace(netloc=host)), handler
