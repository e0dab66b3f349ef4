"""Owns the rate limit and the spend limit: so much in a window, then 429 and when to come back."""

from __future__ import annotations

import math
from email.utils import formatdate

from deployments.sandbox.envelope import Refusal
from deployments.sandbox.options import RetryAfter


class Pace:
    """Counts calls and credits, each in a window of its own; None is no limit.

    `retry_after` is the form of that header: seconds, a date, or both by turns.
    """

    def __init__(
        self,
        rate: int | None,
        window: float,
        *,
        spend_limit: int | None = None,
        spend_window: float = 60.0,
        retry_after: RetryAfter = "turns",
    ) -> None:
        self._calls = _Window(rate, window)
        self._credits = _Window(spend_limit, spend_window)
        self._form = retry_after
        self._refused = 0

    def count(self, *, now: float) -> None:
        """Count one call, or refuse it."""
        if not self._calls.take(1, now):
            told = f"More than {self._calls.limit} calls in {self._calls.length:g} s"
            raise self._refusal("rate_limited", told, self._calls.again, now)

    def spend(self, credits: int, *, now: float) -> None:
        """Count credits, or refuse all of them."""
        if not self._credits.take(credits, now):
            told = f"More than {self._credits.limit} credits in {self._credits.length:g} s"
            raise self._refusal("spend_limited", told, self._credits.again, now)

    def _refusal(self, code: str, told: str, again: float, now: float) -> Refusal:
        self._refused += 1
        by_turns = "seconds" if self._refused % 2 else "date"
        form = by_turns if self._form == "turns" else self._form
        # A date has whole seconds: rounded up, so that coming back then is never too early.
        after = max(1, math.ceil(again - now)) if form == "seconds" else None
        header = str(after) if after else formatdate(math.ceil(again), usegmt=True)
        message = f"{told}; come back after Retry-After."
        return Refusal(429, code, message, headers={"retry-after": header})


class _Window:
    def __init__(self, limit: int | None, length: float) -> None:
        self.limit = limit
        self.length = length
        self._began = -math.inf
        self._taken = 0

    @property
    def again(self) -> float:
        """The moment when the next window begins."""
        return self._began + self.length

    def take(self, amount: int, now: float) -> bool:
        """Take an amount whole, or nothing of it."""
        if self.limit is None:
            return True
        if now >= self.again:
            self._began, self._taken = now, 0
        if self._taken + amount > self.limit:
            return False
        self._taken += amount
        return True
