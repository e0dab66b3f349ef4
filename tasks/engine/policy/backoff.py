"""How long to wait before trying again what has failed: a pure function, in seconds."""

from __future__ import annotations

FIRST, LONGEST = 1.0, 60.0


def backoff(failures: int) -> float:
    """Return a wait that doubles with every failure in a row."""
    doublings = min(16, max(0, failures - 1))
    return float(min(LONGEST, FIRST * 2**doublings))
