"""Owns what a call that may spend credits is made under: who calls, when, and which limits."""

from __future__ import annotations

from dataclasses import dataclass

from deployments.sandbox.pace import Pace
from deployments.sandbox.timing import Timing


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call. `operation` is its name in the charge log; `key` the id of the caller's key."""

    operation: str
    key: str
    now: float
    timing: Timing
    pace: Pace

    def count(self) -> None:
        """Count this call against the rate limit, or refuse it with 429."""
        self.pace.count(now=self.now)

    def spend(self, credits: int) -> None:
        """Count credits against the spend limit, or refuse with 429."""
        self.pace.spend(credits, now=self.now)
