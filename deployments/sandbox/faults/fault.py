"""Owns the two values of the plan: a fault, and which calls it strikes."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Framing = Literal["length", "chunked", "close"]


@dataclass(frozen=True, kw_only=True)
class Which:
    """Which calls a fault strikes, counted from 1 since it was planned; all when nothing is said.

    What is said must hold together. `nth` holds spans, both ends included. With `per_video` each
    video is counted by itself; a create, which has no video yet, is told by its idempotency key.
    """

    nth: tuple[tuple[int, int], ...] = ()
    every: int | None = None
    chance: float | None = None
    seed: int = 0
    per_video: bool = False

    def holds(self, call: int, subject: str) -> bool:
        """Say whether this call is struck; the same seed gives the same answers every time."""
        if self.nth and not any(first <= call <= last for first, last in self.nth):
            return False
        if self.every is not None and call % self.every:
            return False
        if self.chance is None:
            return True
        drawn = zlib.crc32(f"{self.seed}:{subject}:{call}".encode()) / 0x1_0000_0000
        return drawn < self.chance


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One planned fault: `on` what it happens, `do` what goes wrong, and how.

    `on` is the name of an operation, `*` for any of them, `render` or `webhook`; `do` and the
    members it takes are in `kinds`. Times are in seconds of the real clock.
    """

    on: str
    do: str
    which: Which = field(default_factory=Which)
    seconds: float = 0.0
    status: int = 500
    code: str | None = None
    message: str | None = None
    retryable: bool | None = None
    html: bool = False
    retry_after: str | None = None
    retry_after_date: float | None = None
    clock_skew: float | None = None
    framing: Framing = "length"
    close: bool = False
    bytes: int = 1
    location: str | None = None
    set: Mapping[str, Any] = field(default_factory=dict)
    remove: tuple[str, ...] = ()
