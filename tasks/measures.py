"""What is counted while Callsheet is at work: requests, polls, hints, seconds to delivery.

In memory, by name and label, for a moment: `tasks.ledger.counters` keeps it. Used on one event
loop; to count costs less than a microsecond.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping

#: A name and a label, and how many since it was taken last.
Counts = Mapping[tuple[str, str], float]

#: Requests to the service by operation and outcome (`create ok`), and those of them that are not
#: the first attempt, by operation.
REQUESTS, RETRIES = "requests", "retries"
#: Looks at renders; webhooks by what became of them.
POLLS, HINTS = "polls", "hints"
#: Videos by how long they took from the intent of their take, and all of their seconds.
DELIVERIES, DELIVERY_SECONDS = "deliveries", "delivery_seconds"
#: The bounds of `DELIVERIES`, in seconds: its labels, beside `+Inf`.
BOUNDS = (15, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14_400, 43_200, 86_400)
_LABELS = (*map(str, BOUNDS), "+Inf")


class Measures:
    """Counts since they were taken last."""

    def __init__(self) -> None:
        self._counts: defaultdict[tuple[str, str], float] = defaultdict(float)

    def add(self, name: str, label: str = "", by: float = 1.0) -> None:
        """Count something."""
        self._counts[name, label] += by

    def requested(self, operation: str, outcome: str, *, attempt: int) -> None:
        """Count a request and how it went."""
        self._counts[REQUESTS, f"{operation} {outcome}"] += 1
        if attempt > 1:
            self._counts[RETRIES, operation] += 1

    def delivered(self, seconds: float) -> None:
        """Count a video that was delivered so many seconds after its take was intended."""
        self._counts[DELIVERIES, _LABELS[bisect_left(BOUNDS, seconds)]] += 1
        self._counts[DELIVERY_SECONDS, ""] += max(0.0, seconds)

    def take(self) -> Counts:
        """Return what was counted, and begin anew."""
        found, self._counts = self._counts, defaultdict(float)
        return found

    def give_back(self, counts: Counts) -> None:
        """Count again what was taken and could not be kept."""
        for (name, label), value in counts.items():
            self._counts[name, label] += value
