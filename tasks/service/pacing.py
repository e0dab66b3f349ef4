"""How quickly creates may follow one another: pure rules, no clock, no ledger, no waiting.

`Window` is how many creates one process has under way: twice as many with every round of quick
answers until the first trouble, then one more a round; half as many when answers become slow or
one is refused. `Rate` is how many a second may leave from all processes of an organisation's key;
there is none until the service has refused a create. Moments are Unix seconds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

#: Creates under way at the beginning, at least, and at most.
FIRST, LEAST, MOST = 2.0, 1.0, 512.0
#: An answer within so many seconds is quick, whatever the others took.
QUICK = 1.0
#: Answers have become slow when they take so many times as long as they used to.
SLOWER = 3.0
#: What weight a new answer has in how long answers take of late, and how quickly what they used to
#: take follows upward.
WEIGHT, DRIFT = 1 / 8, 1.002
#: A rate is never below, and none is needed above so many creates a second.
SLOWEST, FASTEST = 1.0, 1000.0
#: After a refusal the rate begins at half of what was refused, is back there after so many seconds,
#: and twice as high after each so many more.
RECOVERY, DOUBLING = 30.0, 15.0
#: What a service allows is told from the creates that it took in so many seconds.
RECENT = 60.0


@dataclass(frozen=True, slots=True)
class Window:
    """How many creates may be under way: `size`; `usual` and `recent` are seconds an answer takes.

    `trouble` says whether there ever was one, `held` how many answers are still from before it.
    """

    size: float = FIRST
    usual: float | None = None
    recent: float | None = None
    trouble: bool = False
    held: int = 0

    def answered(self, seconds: float) -> Window:
        """Return the window after an answer that took so long."""
        if self.held:
            return replace(self, held=self.held - 1)
        recent = seconds if self.recent is None else self.recent + (seconds - self.recent) * WEIGHT
        usual = recent if self.usual is None else min(recent, self.usual * DRIFT)
        if recent > max(QUICK, SLOWER * usual):
            return replace(self, usual=usual, recent=recent).halved()
        more = 1 / self.size if self.trouble else 1.0
        return Window(min(MOST, self.size + more), usual, recent, self.trouble)

    def halved(self) -> Window:
        """Return half the window; what is under way now is no news of how that does."""
        size = max(LEAST, self.size / 2)
        return replace(self, size=size, trouble=True, held=math.ceil(self.size), recent=None)

    def unanswered(self) -> Window:
        """Return the window after a while without any answer: one that hangs must not hold all."""
        return replace(self, size=min(MOST, self.size + 1))

    @property
    def silence(self) -> float:
        """Seconds without an answer after which one more is let go."""
        return max(QUICK, SLOWER * (self.recent or 0.0))


@dataclass(frozen=True, slots=True)
class Rate:
    """What the service has shown to allow: so many creates a second, refused at `since`.

    `since` is the moment from which requests may leave again.
    """

    refused: float
    since: float

    def at(self, now: float) -> float | None:
        """Return the creates a second that may leave now; None for as many as there are."""
        begins = max(SLOWEST, self.refused / 2)
        back = max(SLOWEST, self.refused)
        gone = now - self.since
        if gone < RECOVERY:
            return begins + (back - begins) * max(0.0, gone) / RECOVERY
        doublings = (gone - RECOVERY) / DOUBLING
        # Beyond so many a float would overflow.
        found = back * 2 ** min(doublings, 64)
        return found if found < FASTEST else None


def after_refusal(
    rate: Rate | None, accepted: Sequence[float], *, sent: float, now: float, until: float
) -> Rate:
    """Return the rate after a create that left at `sent` was refused until a moment.

    `accepted` are moments at which creates were taken. What left before the last refusal was over
    is a part of that one.
    """
    until = max(now, until)
    if rate is not None and sent <= rate.since:
        return replace(rate, since=max(rate.since, until))
    recent = [moment for moment in accepted if moment > now - RECENT]
    # So many in the time to the end of the pause: what a limit by the minute allows as well.
    shown = len(recent) / max(until - min(recent), 1e-3) if recent else 0.0
    before = None if rate is None else rate.at(sent)
    return Rate(shown if before is None else min(shown, before), until)


def turns(count: int, per_second: float, *, begin: float) -> tuple[list[float], float]:
    """Return the moments at which so many creates may leave, and the first that is free after."""
    moments = [begin + n / per_second for n in range(count + 1)]
    return moments[:-1], moments[-1]
