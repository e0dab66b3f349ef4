"""How long to wait before looking or trying again: pure functions, in seconds."""

from __future__ import annotations

POLL_MIN, POLL_MAX, POLL_DEFAULT = 1.0, 120.0, 10.0
BACKOFF_FIRST, BACKOFF_MAX = 1.0, 60.0


def first_poll(hint: float | None) -> float:
    """Return how long to wait for the first look; a hint of 0 means at once."""
    return POLL_DEFAULT if hint is None else min(POLL_MAX, max(0.0, hint))


def next_poll(hint: float | None) -> float:
    """Return how long to wait between looks: the service's hint, within bounds."""
    return POLL_DEFAULT if hint is None else min(POLL_MAX, max(POLL_MIN, hint))


def backoff(stumbles: int) -> float:
    """Return a wait that doubles with every stumble in a row."""
    doublings = min(16, max(0, stumbles - 1))
    return float(min(BACKOFF_MAX, BACKOFF_FIRST * 2**doublings))
