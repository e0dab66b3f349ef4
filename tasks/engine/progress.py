"""How far a run is: counts per state, credits, and an estimate of the time left.

Kept in step with the ledger by the engine; knows nothing of how it is shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from tasks.ledger import STATES, CampaignRow, State, Tally


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """One moment of a run: `seconds_left` is None while nothing can be said."""

    campaign: str
    rows: Mapping[State, int]
    total: int
    to_do: int
    done: int
    charged: Decimal
    reserved: Decimal
    budget: Decimal | None
    seconds: float
    seconds_left: float | None


class Progress:
    """Count rows as they move; `clock` gives seconds."""

    def __init__(self, campaign: str, tally: Tally, *, started: float) -> None:
        self.campaign = campaign
        self._rows: Counter[State] = Counter(tally.rows)
        self._total = tally.total
        self._budget = tally.budget
        self._charged = tally.charged
        self._reserved = tally.reserved
        self._started = started
        self._to_do = 0
        self._finished: list[float] = []

    def begins(self, count: int) -> None:
        """Add rows to what this run is to do."""
        self._to_do += count

    def moved(self, old: CampaignRow, new: CampaignRow) -> None:
        """Follow one row from one value to the next."""
        if old.state != new.state:
            self._rows[old.state] -= 1
            self._rows[new.state] += 1
        before, after = old.take, new.take
        if after is None:
            return
        if before is not None and before.id == after.id:
            self._reserved -= before.reserved
            self._charged -= before.charged or Decimal(0)
        # What an earlier take has cost stays spent.
        self._reserved += after.reserved
        self._charged += after.charged or Decimal(0)

    def settles(self, now: float) -> None:
        """One row is done for this run, whatever came of it."""
        self._finished.append(now)

    def snapshot(self, now: float) -> Snapshot:
        """Return how things stand at `now`."""
        return Snapshot(
            campaign=self.campaign,
            rows={state: self._rows[state] for state in STATES if self._rows[state]},
            total=self._total,
            to_do=self._to_do,
            done=len(self._finished),
            charged=self._charged,
            reserved=self._reserved,
            budget=self._budget,
            seconds=now - self._started,
            seconds_left=self._seconds_left(now),
        )

    def _seconds_left(self, now: float) -> float | None:
        """Estimate from the speed of this run so far, once a twentieth of it (or a row) is done."""
        done, left = len(self._finished), self._to_do - len(self._finished)
        if left <= 0:
            return 0.0
        if done < max(1, self._to_do // 20):
            return None
        return (now - self._started) / done * left
