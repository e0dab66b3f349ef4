"""The gate of an organization key: no request leaves before the moment that the service named.

A limit of the service is the key's limit, so there is one gate for each key. It knows no HTTP.
"""

from __future__ import annotations

import asyncio
import random as chance
from collections.abc import Callable
from datetime import datetime

from callsheet.tasks.runtime.errors import RateLimited
from callsheet.tasks.runtime.process import Clock, Random, Sleep, utc_now
from callsheet.tasks.runtime.retry import spread


class Gate:
    """Opens at `closed_until`; give it the moment kept from an earlier run to restore it."""

    def __init__(
        self,
        *,
        closed_until: datetime | None = None,
        longest_wait: float = 60.0,
        on_close: Callable[[datetime], None] | None = None,
        clock: Clock = utc_now,
        sleep: Sleep = asyncio.sleep,
        random: Random = chance.random,
    ) -> None:
        self.closed_until = closed_until
        self.longest_wait = longest_wait
        self._on_close = on_close
        self._clock = clock
        self._sleep = sleep
        self._random = random

    @property
    def is_open(self) -> bool:
        """Whether a request may leave now."""
        return self.closed_until is None or self._clock() >= self.closed_until

    def close(self, until: datetime) -> None:
        """Close until a moment; a gate already closed for longer stays so."""
        if self.closed_until is not None and until <= self.closed_until:
            return
        self.closed_until = until
        if self._on_close is not None:
            self._on_close(until)

    async def wait(self, *, operation: str = "call", latest: datetime | None = None) -> None:
        """Return when a request may leave; raise RateLimited when that is too far off.

        Too far is more than `longest_wait` seconds from now, or later than `latest`.
        """
        # A loop, because the gate may have been closed again while this call slept.
        while self.closed_until is not None:
            now = self._clock()
            left = (self.closed_until - now).total_seconds()
            if left <= 0:
                return
            if left > self.longest_wait or (latest is not None and self.closed_until > latest):
                raise closed(self.closed_until, operation=operation)
            # Spread, so that rows do not all wake together.
            await self._sleep(spread(left, self._random))


def closed(until: datetime, *, operation: str) -> RateLimited:
    """Return the error of a call that is not made before `until`."""
    error = RateLimited(
        f"{operation}: the service accepts no requests before {until:%Y-%m-%d %H:%M:%S %Z}",
        operation=operation,
        retry_at=until,
        remedy="run the same command again after that moment; nothing is lost",
    )
    error.sent = "no"
    return error
