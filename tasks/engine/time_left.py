"""When a run will be done: from when its renders began, and how long those took that are finished.

Most services render many videos at once: what is done after a while says little about the rest,
which may be done a moment later. Knows neither ledger nor service; moments are of one clock.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import accumulate

from callsheet.tasks.engine.policy.renders import RenderKind, kind_of
from callsheet.tasks.ledger.values import CampaignRow

#: So many beginnings of one kind are looked at: every second or third stands for the rest.
_SAMPLES = 500
#: So many renders have lengths of every kind among them.
_ENOUGH = 20


@dataclass
class _Renders:
    """Renders of one kind, which take about as long: when each began, also of those `under_way` by
    the number of their row, and how long those took that have ended, here and in earlier runs."""

    begun: list[float] = field(default_factory=list)
    under_way: dict[int, float] = field(default_factory=dict)
    ended: list[float] = field(default_factory=list)
    recalled: list[float] = field(default_factory=list)

    def bounds(self, now: float) -> tuple[float, float] | None:
        """Return the shortest and longest render, also of those that have not ended; None where
        nothing is known of such ones."""
        ended, recalled = _bounds(self.ended), _bounds(self.recalled)
        if ended is None:
            return recalled
        if recalled is not None and recalled[0] / 2 <= ended[0] <= recalled[1]:
            return min(ended[0], recalled[0]), max(ended[1], recalled[1])
        # The service is not what it was then, or this is the first run. Where the first that began
        # have all ended, the longest is among them.
        if bisect_left(self.begun, next(iter(self.under_way.values()), now)) >= _ENOUGH:
            return ended
        return ended[0], max(ended[1], self._longest(ended[0], now))

    def _longest(self, shortest: float, now: float) -> float:
        """Return the longest render, if lengths are spread evenly from the shortest on.

        After `age` seconds more than the shortest takes, age / width of the renders have ended: the
        width is the one of which as many would have ended as have.
        """
        step = -(-len(self.begun) // _SAMPLES)
        ages = [max(0.0, now - begun - shortest) for begun in self.begun[::step]]
        ended = len(self.ended) / step
        # What is older than the width has ended; the ages are in order, the oldest first.
        younger = [*accumulate(reversed(ages), initial=0.0)][::-1]
        for older, age in enumerate(ages):
            if ended <= older or younger[older] / (ended - older) >= age:
                return shortest + younger[older] / max(ended - older, 1)
        return shortest


def _bounds(lengths: list[float]) -> tuple[float, float] | None:
    return (min(lengths), max(lengths)) if lengths else None


class TimeLeft:
    """Estimates the seconds that are left of a run which `started` at a moment."""

    def __init__(
        self, started: float, lengths: Iterable[tuple[str, Decimal | None, float]] = ()
    ) -> None:
        self._started = started
        self._kinds: dict[RenderKind, _Renders] = defaultdict(_Renders)
        #: The renders that those of a row are among, by its number.
        self._of_row: dict[int, _Renders] = {}
        for operation, price, seconds in lengths:
            self._kinds[operation, price].recalled.append(seconds)

    def begins(self, row: CampaignRow, now: float) -> None:
        """Count a render that began."""
        self._of_row[row.id] = renders = self._kinds[kind_of(row)]
        renders.begun.append(now)
        renders.under_way[row.id] = now

    def ends(self, row: CampaignRow, now: float) -> None:
        """Count a row that is done: its video is delivered, or it waits for a person."""
        if (renders := self._of_row.pop(row.id, None)) is not None:
            renders.ended.append(now - renders.under_way.pop(row.id))

    def estimate(self, now: float, *, done: int, to_do: int) -> float | None:
        """Return the seconds until all rows are done; None while too few are."""
        if done < max(1, to_do // 20):
            return None
        found = [(one, one.bounds(now)) for one in self._kinds.values() if one.begun]
        known = [bounds for _, bounds in found if bounds is not None]
        if not known and self._of_row:
            # Rows that wait for a person are done at once, and say nothing of the renders.
            return None
        if not known:
            # They need no render, or are rendered by others: as quickly as so far.
            return (now - self._started) / done * (to_do - done)
        longest = max(most for _, most in known)
        ends = [
            renders.begun[-1] + (longest if bounds is None else bounds[1]) - now
            for renders, bounds in found
            if renders.under_way
        ]
        waiting = to_do - done - len(self._of_row)
        if waiting > 0:
            # As many are rendered at once as now, each for as long as one takes on average.
            mean = sum(least + most for least, most in known) / 2 / len(known)
            ends.append(waiting * mean / max(1, len(self._of_row)) + longest)
        return max(0.0, *ends) if ends else 0.0
