"""One due-time schedule for all rows: no task sleeps on behalf of a row.

Owns when a row is due and in which order rows leave a lane: creates and deliveries by priority and
position, all others by how long they are due. Times are the event loop's.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Mapping
from typing import Generic, Protocol, TypeVar

from callsheet.tasks.engine.policy.decision import Lane

LANES: tuple[Lane, ...] = ("submit", "submit_unkeyed", "search", "poll", "cancel", "deliver")
#: Lanes in which what is more important goes first; in the others nobody waits for ever.
BY_ORDER: frozenset[Lane] = frozenset({"submit", "submit_unkeyed", "deliver"})


#: Places that may be left behind before the schedule is swept, beside as many as are taken.
LEFT_BEHIND = 1000


class HasOrder(Protocol):
    """Something that says when it goes before others that are due as well; lower is earlier."""

    @property
    def order(self) -> tuple[int, int]: ...


T = TypeVar("T", bound=HasOrder)


class Scheduler(Generic[T]):
    """Hold what is not due yet, and put what is due into its lane's queue."""

    def __init__(self) -> None:
        self._queues: Mapping[Lane, asyncio.PriorityQueue[tuple[tuple[float, float], int, T]]] = {
            lane: asyncio.PriorityQueue() for lane in LANES
        }
        #: What is taken out stays here, until that is due or swept: its number is forgotten.
        self._heap: list[tuple[float, int, Lane, T]] = []
        self._numbers: dict[T, int] = {}
        self._count = itertools.count()
        self._changed = asyncio.Event()

    def put(self, lane: Lane, after: float, what: T) -> None:
        """Make `what` due in `lane` after `after` seconds."""
        due = asyncio.get_running_loop().time() + max(0.0, after)
        if after <= 0:
            self._release(lane, due, what)
            return
        number = next(self._count)
        self._numbers[what] = number
        heapq.heappush(self._heap, (due, number, lane, what))
        if self._heap[0][1] == number:
            self._changed.set()

    def take(self, what: T) -> bool:
        """Take something out of the schedule; return whether it was there, and not due yet."""
        if self._numbers.pop(what, None) is None:
            return False
        if len(self._heap) > LEFT_BEHIND + 2 * len(self._numbers):
            self._heap = [entry for entry in self._heap if self._numbers.get(entry[3]) == entry[1]]
            heapq.heapify(self._heap)
        return True

    def backlog(self, lane: Lane) -> int:
        """Return how many are due in `lane` and wait for somebody who is free."""
        return self._queues[lane].qsize()

    async def next(self, lane: Lane) -> T:
        """Wait for the next that is due in `lane`."""
        return (await self._queues[lane].get())[2]

    async def run(self) -> None:
        """Release what falls due, until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            self._changed.clear()
            now = loop.time()
            while self._heap and self._heap[0][0] <= now:
                due, number, lane, what = heapq.heappop(self._heap)
                if self._numbers.get(what) == number:
                    del self._numbers[what]
                    self._release(lane, due, what)
            timer = None
            if self._heap:
                timer = loop.call_at(self._heap[0][0], self._changed.set)
            await self._changed.wait()
            if timer is not None:
                timer.cancel()

    def _release(self, lane: Lane, due: float, what: T) -> None:
        rank = what.order if lane in BY_ORDER else (due, 0)
        self._queues[lane].put_nowait((rank, next(self._count), what))
