"""Owns what a paid call is made under: who calls and when, the rate limit and the spend limit, and
how long a render takes, which is minutes divided by the time scale."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass
from email.utils import formatdate

from callsheet.deployments.sandbox.envelope import Refusal
from callsheet.deployments.sandbox.options import Options

SPREAD = 0.3


class Timing:
    """How long a render lasts in this sandbox."""

    def __init__(self, time_scale: float, *, instant: bool) -> None:
        self._time_scale = time_scale
        self._instant = instant

    def render_seconds(self, video_id: str, duration: float) -> float:
        """Say how long it takes to make so many seconds of video; a video always takes the same."""
        if self._instant:
            return 0.0
        share = zlib.crc32(video_id.encode()) / 0xFFFFFFFF
        factor = 1 - SPREAD + 2 * SPREAD * share
        return (60 + 3 * duration) * factor / self._time_scale


class Limits:
    """Counts calls and credits, each in a window of its own; None is no limit."""

    def __init__(self, options: Options) -> None:
        self._calls = _Window(options.rate, options.rate_window)
        self._credits = _Window(options.spend_limit, options.spend_window)
        self._form = options.retry_after
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


@dataclass(frozen=True, kw_only=True)
class CallTerms:
    """What one call is made under: `operation`, its name in the charge log, the id of the caller's
    key, and the limits."""

    operation: str
    key: str
    now: float
    timing: Timing
    limits: Limits

    def count(self) -> None:
        """Count this call against the rate limit, or refuse it with 429."""
        self.limits.count(now=self.now)

    def spend(self, credits: int) -> None:
        """Count credits against the spend limit, or refuse with 429."""
        self.limits.spend(credits, now=self.now)
