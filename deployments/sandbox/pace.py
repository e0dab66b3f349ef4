"""Owns the rate limit on creates: so many in a window, then 429 with the moment to come back."""

from __future__ import annotations

import math
from email.utils import formatdate

from deployments.sandbox.envelope import Refusal


class Pace:
    """Counts creates in fixed windows. Retry-After comes by turns as seconds and as a date."""

    def __init__(self, rate: int | None, window: float) -> None:
        self._rate = rate
        self._window = window
        self._began = -math.inf
        self._taken = 0
        self._refused = 0

    def take(self, *, now: float) -> None:
        """Count one create, or refuse it."""
        if self._rate is None:
            return
        if now >= self._began + self._window:
            self._began, self._taken = now, 0
        if self._taken < self._rate:
            self._taken += 1
            return
        self._refused += 1
        raise Refusal(
            429,
            "rate_limited",
            f"More than {self._rate} creates in {self._window:g} s; come back after Retry-After.",
            headers={"retry-after": self._retry_after(now)},
        )

    def _retry_after(self, now: float) -> str:
        again = self._began + self._window
        if self._refused % 2:
            return str(max(1, math.ceil(again - now)))
        # A date has whole seconds: rounded up, so that coming back then is never too early.
        return formatdate(math.ceil(again), usegmt=True)
