"""How long to wait before looking or trying again: pure functions, in seconds.

A look should come soon after a render is finished, and hardly any before. What is known of it is
first the service's hint, then what such renders have taken so far (`lengths`); a render is noticed
within a tenth of its length. Where webhooks tell of it, looks are a safety net.
"""

from __future__ import annotations

POLL_MIN, POLL_MAX, POLL_DEFAULT = 1.0, 300.0, 10.0
BACKOFF_FIRST, BACKOFF_MAX = 1.0, 60.0

#: Of its length so far: how much later than its end a render may be noticed.
LAG = 0.08
#: The first look comes so much before the shortest render of the kind so far.
EARLY = 0.95
#: Between two looks at a render of a kind that nothing is known of, at least.
UNKNOWN_MIN = 3.0
#: Between two looks at a render whose end a webhook tells of.
SAFETY_NET = 300.0
#: Looks after a hint that came before the film could be fetched; then the usual pace goes on.
AFTER_HINT = 6
#: Multiples of it are spread evenly over the unit interval, however many are taken.
_GOLDEN = 0.6180339887498949


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
    elapsed: float, shortest: float | None, *, told: float | None = None, step: float = LAG
) -> float:
    """Return how long to wait after a look at a render that has been under way for `elapsed`.

    `shortest` is the shortest render of its kind so far. While there is none, the next look comes
    when the render is longer by the part `step` of itself: small for a few scouts, large for the
    others, whose turn comes with the first that is found finished.
    """
    if shortest is None:
        return min(POLL_MAX, max(UNKNOWN_MIN if told is None else next_poll(told), step * elapsed))
    early = EARLY * shortest - elapsed
    return min(POLL_MAX, max(POLL_MIN, early, LAG * elapsed))


def stride(looks: int, number: int, *, scout: bool) -> float:
    """Return the stride after so many looks at a render of an unknown kind; `number` is its own.

    A scout is looked at often, another one at four times its age each time. Looks at different
    renders come at different moments: of many that began together one is looked at in every while,
    so that the first that is finished is found soon.
    """
    share = number * _GOLDEN % 1.0
    if scout:
        return LAG * (0.5 + 0.5 * share)
    return 3.0 * share if looks <= 1 else 3.0


def after_hint(looks: int) -> float:
    """Return how long to wait after the `looks`-th look that followed a hint, from 1."""
    return float(2 ** (looks - 1))


def backoff(stumbles: int) -> float:
    """Return a wait that doubles with every stumble in a row."""
    doublings = min(16, max(0, stumbles - 1))
    return float(min(BACKOFF_MAX, BACKOFF_FIRST * 2**doublings))
