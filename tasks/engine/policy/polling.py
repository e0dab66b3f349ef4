"""When a render is polled next, and when its video is asked for: pure functions, in seconds.

A poll should come soon after a render is finished, and hardly any before. What is known of it is
first the service's hint, then what such renders have taken so far (`render_times`); a render is
noticed within a tenth of its length. Where webhooks tell of it, polls are a safety net.
"""

from __future__ import annotations

from callsheet.tasks.engine.policy.decision import RUNNING

POLL_MIN, POLL_MAX, POLL_DEFAULT = 1.0, 300.0, 10.0

#: Of its length so far: how much later than its end a render may be noticed.
LAG = 0.08
#: The first poll comes so much before the shortest render of the kind so far.
EARLY = 0.95
#: Between two polls of a render of a kind that nothing is known of, at least.
UNKNOWN_MIN = 3.0
#: Between two polls of a render whose end a webhook tells of.
SAFETY_NET = 300.0
#: A hint is taken for lost once a render has taken so much longer than any of its kind.
LOST = 1.1
#: Polls after a hint that came before the video could be fetched; then the usual interval goes on.
AFTER_HINT = 6
#: A render said to be under way is asked for its video at every so many polls.
VIDEO_EVERY = 5
#: A word for the end is believed after so many polls in a row without a video.
ENDS = 2
#: Multiples of it are spread evenly over the unit interval, however many are taken.
_GOLDEN = 0.6180339887498949


def told_interval(told: float | None, *, least: float = POLL_MIN) -> float:
    """Return the service's hint within bounds; a `least` of 0 lets the first poll come at once."""
    return POLL_DEFAULT if told is None else min(POLL_MAX, max(least, told))


def first_interval(told: float | None, shortest: float | None) -> float:
    """Return how long after its create a render is polled: never before the service says."""
    wait = told_interval(told, least=0.0)
    return wait if shortest is None else min(POLL_MAX, max(wait if told else 0.0, EARLY * shortest))


def poll_interval(
    elapsed: float, shortest: float | None, *, told: float | None = None, step: float = LAG
) -> float:
    """Return how long to wait after a poll of a render that has been under way for `elapsed`.

    `shortest` is the shortest render of its kind so far. While there is none, the next poll comes
    when the render is longer by the part `step` of itself: small for a few scouts, large for the
    others, whose turn comes with the first that is found finished.
    """
    if shortest is None:
        least = UNKNOWN_MIN if told is None else told_interval(told)
        return min(POLL_MAX, max(least, step * elapsed))
    early = EARLY * shortest - elapsed
    return min(POLL_MAX, max(POLL_MIN, early, LAG * elapsed))


def hinted_interval(elapsed: float, longest: float | None, *, asked: bool = False) -> float:
    """Return how long to wait for a webhook's word of a render: its hint may be lost.

    One poll comes soon after renders of its kind were all finished; once it has `asked`, the
    safety net is left.
    """
    if longest is None or asked:
        return SAFETY_NET
    return min(SAFETY_NET, max(POLL_MIN, LOST * longest - elapsed))


def interval_step(polls: int, number: int, *, scout: bool) -> float:
    """Return the `step` after so many polls of a render of an unknown kind, `number` being its own.

    A scout is polled often, another one at four times its age each time. Polls of different
    renders come at different moments: of many that began together one is polled every while, so
    that the first that is finished is found soon.
    """
    share = number * _GOLDEN % 1.0
    if scout:
        return LAG * (0.5 + 0.5 * share)
    return 3.0 * share if polls <= 1 else 3.0


def video_is_asked_for(status: str | None, polls: int, *, overdue: bool = False) -> bool:
    """Whether the `polls`-th poll asks for the video after the status, which it has told by then.

    The words for a finished render are not in the specification, so a signed address is the proof.
    """
    return status not in RUNNING or overdue or polls % VIDEO_EVERY == 0


def after_hint(polls: int) -> float:
    """Return how long to wait after the `polls`-th poll that followed a hint, from 1."""
    return float(2 ** (polls - 1))
