"""Tells of every request: a log line of our own, and the caller's `on_attempt`.

Holds the path template and never an address, a body or a token.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from tasks.service.answer import Answer
from tasks.service.failure import Failure
from tasks.service.operations import Operation
from tasks.service.values import Attempt

log = logging.getLogger("callsheet.service")


class Teller:
    """Where the news of a request goes; nothing is made of it when nobody listens."""

    def __init__(self, on_attempt: Callable[[Attempt], None] | None) -> None:
        self._on_attempt = on_attempt

    def tell(
        self,
        operation: Operation,
        number: int,
        answer: Answer | None,
        failure: Failure | None,
        started: float,
    ) -> None:
        """Tell of one request that began at `started` (perf_counter)."""
        level = logging.DEBUG if failure is None else logging.INFO
        if self._on_attempt is None and not log.isEnabledFor(level):
            return
        attempt = Attempt(
            operation=operation.name,
            method=operation.method,
            path=operation.path,
            number=number,
            status=answer.status if answer else None,
            outcome=failure.outcome.value if failure else "ok",
            seconds=time.perf_counter() - started,
            request_id=answer.request_id if answer else None,
        )
        log.log(level, "%s", attempt)
        if self._on_attempt is not None:
            self._on_attempt(attempt)
