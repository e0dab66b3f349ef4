"""The log of every request: a line of our own, and the caller's `on_request`.

Holds the path template and never an address, a body or a token.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from tasks.service.failures import Failure
from tasks.service.operations import Operation
from tasks.service.response import Response

log = logging.getLogger("callsheet.service")


@dataclass(frozen=True, kw_only=True)
class LogEntry:
    """One request and how it went, for counting and measuring; holds nothing secret."""

    operation: str
    method: str
    path: str
    number: int
    status: int | None
    outcome: str
    seconds: float
    request_id: str | None

    def __str__(self) -> str:
        return (
            f"{self.operation} {self.method} {self.path} {self.status or '-'} {self.outcome} "
            f"attempt {self.number} {self.seconds * 1000:.0f} ms"
        )


OnRequest = Callable[[LogEntry], None]


def log_request(
    operation: Operation,
    response: Response | None,
    failure: Failure | None,
    *,
    number: int,
    started: float,
    on_request: OnRequest | None,
) -> None:
    """Log one request that began at `started` (perf_counter); make nothing if nobody listens."""
    level = logging.DEBUG if failure is None else logging.INFO
    if on_request is None and not log.isEnabledFor(level):
        return
    entry = LogEntry(
        operation=operation.name,
        method=operation.method,
        path=operation.path,
        number=number,
        status=response.status if response else None,
        outcome=failure.outcome.value if failure else "ok",
        seconds=time.perf_counter() - started,
        request_id=response.request_id if response else None,
    )
    log.log(level, "%s", entry)
    if on_request is not None:
        on_request(entry)
