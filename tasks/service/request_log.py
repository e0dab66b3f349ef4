"""What is told of a request that was made: a line in the log, an entry for counting, a span.

No address, body or key is in any of them.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from callsheet.tasks import traces
from callsheet.tasks.service.failures import Failure
from callsheet.tasks.service.operations import Money, Operation
from callsheet.tasks.service.outcome import Outcome
from callsheet.tasks.service.response import Response

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
    level = logging.DEBUG if _is_fine(operation, failure) else logging.INFO
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


def trace_request(
    operation: Operation,
    response: Response | None,
    failure: Failure | None,
    number: int,
    since: int,
) -> None:
    """Make the span of a request that began at `since`; no address or body is in it."""
    traces.request_made(
        f"{operation.method} {operation.path}",
        since=since,
        facts=lambda: {
            "http.request.method": operation.method,
            "url.template": operation.path,
            "http.response.status_code": response.status if response else None,
            "http.request.resend_count": number - 1 or None,
            "callsheet.operation": operation.name,
            "callsheet.request_id": response.request_id if response else None,
        },
        trouble=None if _is_fine(operation, failure) else str(failure and failure.outcome.value),
    )


def _is_fine(operation: Operation, failure: Failure | None) -> bool:
    # A look at what is not ready yet is answered with a conflict, and nothing is wrong.
    waits = failure is not None and failure.outcome is Outcome.CONFLICT
    return failure is None or (waits and operation.money is Money.READ)
