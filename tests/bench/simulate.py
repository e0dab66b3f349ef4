"""What limits workers that share a ledger: a model of them, with measured costs as its inputs.

`python -m tests.bench.simulate` prints the table of docs/benchmarks.md; `--into docs/benchmarks.md`
puts it there. Nothing is random: the same inputs give the same table. A row is four steps: intent,
acceptance, settlement, delivery. Each is processor time of its worker, then a change that the
worker's
one writer commits in a group with whatever else waits. A commit that changes accounts locks the
account of the day, which all workers of a ledger share, for its last two statements and the sync.
"""

from __future__ import annotations

import argparse
import heapq
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tests.bench.marked_page import put_between

WORKERS, KEYS = (1, 4, 16, 64), (1, 10, 100)
#: Which of a row's four changes set credits aside or settle them.
BOOKED = (0, 2)
STEPS = 4
GROUP = 256
#: Simulated rows of each worker: enough that its beginning and end do not count.
ROWS = 200
HEAD = ("creates allowed", "keys", "ledgers", "workers", "rows/s", "10,000,000 rows", "busiest")
#: Creates a second of a service that refuses none.
UNLIMITED = 1e6
BEGIN, END = "<!-- simulated -->", "<!-- end of simulated -->"


@dataclass(frozen=True, kw_only=True)
class Costs:
    """Costs in milliseconds, measured (docs/benchmarks.md) but for those marked as assumed."""

    #: Processor of a worker a row, and the processors that one has.
    worker: float = 8.0
    worker_cores: int = 2
    #: Processor of PostgreSQL a row, and the processors that it has (assumed).
    database: float = 1.8
    database_cores: int = 16
    #: From a statement to its answer (assumed: another machine of the same network); how many a
    #: row takes; and a commit's sync (assumed: a good disk).
    trip: float = 0.5
    statements: float = 9.0
    sync: float = 2.0
    #: Rows of a worker that are between two steps; creates a second that the service allows to a
    #: key (assumed: its specification gives none).
    under_way: int = 48
    pace: float = 5.0


@dataclass(frozen=True)
class Found:
    """Rows a second, and which part of the time each thing that is waited for was busy."""

    rate: float
    busy: dict[str, float]
    commits: float

    @property
    def limit(self) -> str:
        """What was busiest."""
        return max(self.busy, key=lambda name: self.busy[name])


class Line:
    """Servers that are waited for in turn; `busy` is how long they worked, in milliseconds."""

    def __init__(self, servers: int = 1) -> None:
        self._free = [0.0] * servers
        self._count = servers
        self.busy = 0.0

    def take(self, at: float, lasts: float) -> float:
        """Return when work that comes at a moment is done."""
        begun = max(at, heapq.heappop(self._free))
        heapq.heappush(self._free, begun + lasts)
        self.busy += lasts
        return begun + lasts

    def share(self, lasted: float) -> float:
        """Return which part of the time they worked."""
        return self.busy / lasted / self._count


class Simulation:
    """Workers that process `ROWS` rows each, as many under way at once as they may."""

    def __init__(self, costs: Costs, *, workers: int, keys: int, ledgers: int = 1) -> None:
        self._costs = costs
        self._workers = workers
        self._ledgers = min(ledgers, workers)
        # A worker has one key; of more keys than workers, some wait until others are done.
        self._keys = min(keys, workers)
        self._events: list[tuple[float, int, Callable[[float], None]]] = []
        self._count = 0
        self._processors = [Line(costs.worker_cores) for _ in range(workers)]
        self._databases = [Line(costs.database_cores) for _ in range(self._ledgers)]
        self._days = [Line() for _ in range(self._ledgers)]
        self._paces = [Line() for _ in range(self._keys)]
        self._pending: list[deque[int]] = [deque() for _ in range(workers)]
        self._writing = [False] * workers
        # As many rows of each key, whichever worker processes them.
        self._left = [workers * ROWS // self._keys] * self._keys
        self._done = self._commits = 0
        self._end = 0.0

    def run(self) -> Found:
        """Return what was found once all rows are done."""
        for worker in range(self._workers):
            for _ in range(self._costs.under_way):
                self._begin(0.0, worker)
        while self._events:
            self._end, _, happens = heapq.heappop(self._events)
            happens(self._end)
        rows, end = self._workers * ROWS // self._keys * self._keys, self._end
        waited = {
            "the workers' processors": self._processors,
            "PostgreSQL's processors": self._databases,
            "the day's account": self._days,
            "the service's rate limit": self._paces,
        }
        busy = {
            name: sum(one.share(end) for one in several) / len(several)
            for name, several in waited.items()
        }
        return Found(rows / end * 1000, busy, self._commits / rows)

    def _at(self, moment: float, happens: Callable[[float], None]) -> None:
        self._count += 1
        heapq.heappush(self._events, (moment, self._count, happens))

    def _begin(self, now: float, worker: int) -> None:
        """Begin a row once the key has a turn for it."""
        key = worker % self._keys
        if not self._left[key]:
            return
        self._left[key] -= 1
        turn = self._paces[key].take(now, 1000 / self._costs.pace)
        self._at(turn, lambda then: self._step(then, worker, 0))

    def _step(self, now: float, worker: int, step: int) -> None:
        """Spend the worker's processor time of a step, then hand its change to the writer."""
        lasts = self._costs.worker / STEPS
        ready = self._processors[worker].take(now, lasts)
        self._at(ready, lambda then: self._write(then, worker, step))

    def _write(self, now: float, worker: int, step: int | None = None) -> None:
        """Commit what waits, all together, unless the writer is at it already."""
        if step is not None:
            self._pending[worker].append(step)
        if self._writing[worker] or not self._pending[worker]:
            return
        self._writing[worker] = True
        pending = self._pending[worker]
        group = [pending.popleft() for _ in range(min(GROUP, len(pending)))]
        costs, size = self._costs, len(group)
        day = self._days[worker % self._ledgers]
        asked = self._databases[worker % self._ledgers].take(now, size * costs.database / STEPS)
        ready = max(asked, now + size * costs.statements / STEPS * costs.trip)
        booked = any(step in BOOKED for step in group)
        # The day's account and the campaign's, then the commit.
        tail = (2 * costs.trip if booked else 0.0) + costs.sync
        if booked:
            self._at(ready, lambda then: self._commit(day.take(then, tail), worker, group))
        else:
            self._commit(ready + tail, worker, group)

    def _commit(self, done: float, worker: int, group: list[int]) -> None:
        self._at(done, lambda then: self._committed(then, worker, group))

    def _committed(self, now: float, worker: int, group: list[int]) -> None:
        self._commits += 1
        self._writing[worker] = False
        for step in group:
            if step + 1 < STEPS:
                self._step(now, worker, step + 1)
            else:
                self._begin(now, worker)
        self._write(now, worker)


#: What the service allows, how many keys, how many ledgers.
CASES = (
    *(("no limit", 1, ledgers) for ledgers in (1, 10)),
    *(("5 a second a key", keys, 1) for keys in KEYS),
)


def lines(costs: Costs) -> Iterator[tuple[str, ...]]:
    """Yield the lines of the table: what is found in each case for each number of workers."""
    for allowed, keys, ledgers in CASES:
        case = costs if allowed != "no limit" else replace(costs, pace=UNLIMITED)
        for workers in WORKERS:
            many = {"workers": workers, "keys": keys, "ledgers": ledgers}
            found = Simulation(case, **many).run()
            yield (
                allowed,
                "any" if allowed == "no limit" else str(keys),
                str(ledgers),
                str(workers),
                f"{found.rate:,.0f}",
                f"{1e7 / found.rate / 3600:,.1f} h",
                f"{found.limit}, {found.busy[found.limit]:.0%}",
            )


def table(costs: Costs) -> str:
    """Return the table as Markdown."""
    rule = ("---", *("---:",) * 5, "---")
    return "".join(f"| {' | '.join(line)} |\n" for line in (HEAD, rule, *lines(costs)))


def main() -> None:
    """Print the table, or put it into a page."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.simulate", description=__doc__)
    parser.add_argument("--into", type=Path, metavar="PAGE", help=f"replace what is after {BEGIN}")
    args = parser.parse_args()
    made = table(Costs())
    if args.into:
        put_between(args.into, BEGIN, END, made)
    else:
        print(made, end="")


if __name__ == "__main__":
    main()
