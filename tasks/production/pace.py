"""How long to wait before looking or trying again: pure functions, in seconds.

A look should come soon after a render is finished, and hardly any before. What is known of it is
first the service's hint, then what such renders have taken so far (`lengths`); a render is noticed
within a tenth of its length. Where webhooks tell of it, looks are a safety net.
"""

from __future__ import annotations

POLL_MIN, POLL_MAX, POLL_DEFAULT = 1.0, 300.0, 10.0
BACKOFF_FIRST, BACKOFF_MAX = 1.0, 60.0

#: Of its length so far: how much later than its end a render may be noticed.
LAG = 0.1
#: The first look comes so much before the shortest render of the kind so far.
EARLY = 0.95
#: Between two looks at a render of a kind that nothing is known of, at least.
UNKNOWN_MIN = 3.0
#: Between two looks at a render whose end a webhook tells of.
SAFETY_NET = 300.0
#: Looks after a hint that came before the film could be fetched; then the usual pace goes on.
AFTER_HINT = 6


def first_poll(told: float | None) -> float:
    """Return how long to wait for the first look; a hint of 0 means at once."""
    return POLL_DEFAULT if told is None else min(POLL_MAX, max(0.0, told))


def next_poll(told: float | None) -> float:
    """Return how long to wait between looks: the service's hint, within bounds."""
    return POLL_DEFAULT if told is None else min(POLL_MAX, max(POLL_MIN, told))


def first_look(told: float | None, shortest: float | None) -> float:
    """Return how long after its create a render is looked at: never before the service says."""
    wait = first_poll(told)
    return wait if shortest is None else min(POLL_MAX, max(wait if told else 0.0, EARLY * shortest))


def next_look(
    elapsed: float, shortest: float | None, *, told: float | None = None, scout: bool = False
) -> float:
    """Return how long to wait after a look at a render that has been under way for `elapsed`.

    `shortest` is the shortest render of its kind so far. Until there is one, a few scouts are
    looked at often, and the others, whose turn comes with the first that is finished, seldom.
    """
    if shortest is None:
        least = UNKNOWN_MIN if told is None else next_poll(told)
        return min(POLL_MAX, max(least, LAG * elapsed if scout else elapsed))
    early = EARLY * shortest - elapsed
    return min(POLL_MAX, max(POLL_MIN, early, LAG * elapsed))


def after_hint(looks: int) -> float:
    """Return how long to wait after the `looks`-th look that followed a hint, from 1."""
    return float(2 ** (looks - 1))


def backoff(stumbles: int) -> float:
    """Return a wait that doubles with every stumble in a row."""
    doublings = min(16, max(0, stumbles - 1))
    return float(min(BACKOFF_MAX, BACKOFF_FIRST * 2**doublings))
