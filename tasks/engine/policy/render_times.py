"""What renders have taken so far, by kind: the same operation at the same price.

A lost memory costs polls and nothing else; it is filled from the ledger at the start of a run.
"""

from __future__ import annotations

from bisect import bisect, insort
from collections import defaultdict
from decimal import Decimal

from callsheet.tasks.ledger.values import CampaignRow

#: The times of a kind that are kept, and the part of them that may be shorter than the rest:
#: one render that was done in a moment does not have the others polled early.
KEPT, OUTLIERS = 200, 0.05
#: The longest is the longest of so many at least, and of those that took no more than so many times
#: what half of them took: one that was stuck, or found late, does not count.
ENOUGH, STUCK = 5, 2.0

RenderKind = tuple[str, Decimal | None]


class RenderTimes:
    """Seconds from a create to a finished video."""

    def __init__(self) -> None:
        self._known: dict[RenderKind, list[float]] = defaultdict(list)

    def learn(self, kind: RenderKind, seconds: float) -> bool:
        """Take a time in; return whether polls that are planned come too late by it."""
        known = self._known[kind]
        before = _shortest(known)
        if len(known) < KEPT:
            insort(known, seconds)
        after = _shortest(known)
        return after is not None and (before is None or after < 0.9 * before)

    def shortest(self, kind: RenderKind) -> float | None:
        """Return the shortest time of renders of a kind, or None when there is none."""
        return _shortest(self._known.get(kind, []))

    def longest(self, kind: RenderKind) -> float | None:
        """Return the longest time of renders of a kind, or None where too few are known."""
        known = self._known.get(kind, [])
        if len(known) < ENOUGH:
            return None
        return known[bisect(known, STUCK * known[(len(known) - 1) // 2]) - 1]


def kind_of(row: CampaignRow) -> RenderKind:
    """Return what renders have to have in common to take about as long."""
    return row.operation, row.take.quoted if row.take else row.quoted


def _shortest(known: list[float]) -> float | None:
    return known[int(OUTLIERS * len(known))] if known else None
