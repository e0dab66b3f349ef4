"""Rows that are to be processed and are not in memory yet: which, in what order, and who waits.

There may be a hundred thousand of them: two numbers and two bytes is all that is kept of each. What
is under way is read first and all of it, since no one knows what has become of it; what is
approved is read a page at a time, as its lane has room. Knows no ledger: it names what to read.

They go in an order of their own, but are waited for in the order of the sheet: a shard is a range
of it, so that people find a row's among hundreds.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from callsheet.tasks.ledger.row_selection import RowToProcess
from callsheet.tasks.ledger.values import STATES, State
from callsheet.tasks.runtime.errors import shorten
from callsheet.tasks.values.briefs import CREATE
from callsheet.tasks.values.edits import edit_of

#: Rows in a page: so many more are read once fewer than so many have yet to begin in a lane, or are
#: videos that wait to be delivered: what is paid for is delivered before more is paid for.
PAGE = 1000
#: So many rows are known by name: each is a shard of its own where there are no more.
NAMED = 200
#: Characters of a row's name where it says with another one what a shard is of.
SHOWN = 40

#: What is under way, and what has yet to begin, by the lane it begins in.
Queue = Literal["under way", "submit", "submit_unkeyed"]
QUEUES: tuple[Queue, ...] = ("under way", "submit", "submit_unkeyed")


class Work:
    """What a run is to process, in the order in which it goes, as it stood when that was asked."""

    def __init__(self, found: Iterable[RowToProcess] = ()) -> None:
        self.numbers = array("q")
        #: The first rows by name, NAMED at most.
        self.names: list[str] = []
        self._positions = array("i")
        self._states = bytearray()
        #: Of each row, 2 for a create, 1 for a clip, 0 for an edit: which of them take keys.
        self._kinds = bytearray()
        for waiting in found:
            self.add(waiting)

    def __len__(self) -> int:
        return len(self.numbers)

    def add(self, waiting: RowToProcess) -> None:
        """Add the row that goes next."""
        if len(self) < NAMED:
            self.names.append(waiting.row)
        self.numbers.append(waiting.number)
        self._positions.append(waiting.position)
        self._states.append(STATES.index(waiting.state))
        edits = edit_of(waiting.operation) is not None
        self._kinds.append(2 if waiting.operation == CREATE else 0 if edits else 1)

    def state(self, place: int) -> State:
        """Return the state of the row at a place in the order."""
        return STATES[self._states[place]]

    def queue(self, place: int, *, clip_keys: bool) -> Queue:
        """Return how the row at a place begins."""
        if self.state(place) != "approved":
            return "under way"
        return "submit" if self._kinds[place] >= (1 if clip_keys else 2) else "submit_unkeyed"

    def ends(self) -> list[int]:
        """Return the numbers of the rows that shards begin and end with."""
        return [self.numbers[place] for part in self._parts() for place in (part[0], part[-1])]

    def shards(self, names: Mapping[int, str] | None = None) -> list[Shard]:
        """Part the rows among NAMED shards at most, each a range of the sheet and none much larger
        than another; `names` are those of the `ends`, where there are more rows than NAMED.

        The one that has the row which goes next comes first.
        """
        known = {**dict(zip(self.numbers, self.names, strict=False)), **(names or {})}
        found = [
            Shard(self, _ascending(part), label=self._label(part, known)) for part in self._parts()
        ]
        return sorted(found, key=lambda shard: shard.places[0])

    def _parts(self) -> list[Sequence[int]]:
        """Part the places of all rows, in the order of the sheet."""
        everyone: Sequence[int] = range(len(self))
        if any(before > after for before, after in itertools.pairwise(self._positions)):
            everyone = sorted(everyone, key=self._positions.__getitem__)
        count = min(NAMED, len(self))
        bounds = [len(self) * n // count for n in range(count + 1)] if count else []
        return [everyone[start:end] for start, end in itertools.pairwise(bounds)]

    def _label(self, part: Sequence[int], names: Mapping[int, str]) -> str:
        first, last = (names.get(self.numbers[place], "?") for place in (part[0], part[-1]))
        return first if len(part) == 1 else f"{shorten(first, SHOWN)} to {shorten(last, SHOWN)}"


def _ascending(places: Sequence[int]) -> Sequence[int]:
    return places if isinstance(places, range) else array("i", sorted(places))


@dataclass(frozen=True, slots=True)
class Shard:
    """Rows that are waited for together, by their places in the order of all."""

    work: Work
    places: Sequence[int]
    label: str

    def __len__(self) -> int:
        return len(self.places)


@dataclass(eq=False, slots=True)
class Batch:
    """Rows that someone waits for together, and how many of them are in each state."""

    left: int = 0
    states: Counter[State] = field(default_factory=Counter)
    over: asyncio.Event = field(default_factory=asyncio.Event)

    def moved(self, old: State, new: State) -> None:
        """Count a row of it elsewhere."""
        if old != new:
            self.states[old] -= 1
            self.states[new] += 1

    def settled(self) -> None:
        """One row of it is done for this run."""
        self.left -= 1
        if not self.left:
            self.over.set()


class Wanted(NamedTuple):
    """A row to be read: its number, its state as it was, and who waits for it."""

    number: int
    state: State
    batch: Batch


class Pages:
    """What is to be read next, whichever shards have begun; lower places go first in each queue."""

    def __init__(self, size: int = PAGE, *, clip_keys: bool = False) -> None:
        self._size = size
        self._clip_keys = clip_keys
        self._count = itertools.count()
        self._heaps: Mapping[Queue, list[tuple[int, int, Iterator[int], Work, Batch]]] = {
            queue: [] for queue in QUEUES
        }

    def add(self, shard: Shard, batch: Batch) -> None:
        """Have the rows of a shard read, too."""
        for queue in QUEUES:
            self._push(queue, self._places(shard, queue), shard.work, batch)

    def wanted(self, unbegun: Mapping[Queue, int], videos: int = 0) -> Queue | None:
        """Return what may be read, now that so many rows in memory have yet to begin, and so many
        `videos` wait to be delivered."""
        for queue, heap in self._heaps.items():
            if heap and (queue == "under way" or unbegun.get(queue, 0) + videos < self._size):
                return queue
        return None

    def next(self, unbegun: Mapping[Queue, int], videos: int = 0) -> list[Wanted]:
        """Return the next page; empty where nothing may be read."""
        queue = self.wanted(unbegun, videos)
        if queue is None:
            return []
        heap, page = self._heaps[queue], list[Wanted]()
        while heap and len(page) < self._size:
            place, _, places, work, batch = heapq.heappop(heap)
            page.append(Wanted(work.numbers[place], work.state(place), batch))
            self._push(queue, places, work, batch)
        return page

    def _push(self, queue: Queue, places: Iterator[int], work: Work, batch: Batch) -> None:
        place = next(places, None)
        if place is not None:
            entry = (place, next(self._count), places, work, batch)
            heapq.heappush(self._heaps[queue], entry)

    def _places(self, shard: Shard, queue: Queue) -> Iterator[int]:
        for place in shard.places:
            if shard.work.queue(place, clip_keys=self._clip_keys) == queue:
                yield place
