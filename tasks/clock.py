"""The clock, sleep and chance that code is given, so that tests need not wait."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

#: Says the present moment, aware.
Clock = Callable[[], datetime]
#: Says it in Unix seconds, as the ledger keeps it.
UnixClock = Callable[[], float]
Sleep = Callable[[float], Awaitable[Any]]
Random = Callable[[], float]


def utc_now() -> datetime:
    """Return the present moment, aware."""
    return datetime.now(UTC)
