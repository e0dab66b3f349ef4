"""One due-time schedule for all rows: no task sleeps on behalf of a row.

Owns when a row is due and in which order rows leave a lane: creates and deliveries by priority and
position, all others by how long they are due. Times are the event loop's.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Callable, Mapping
from typing import Generic, Protocol, TypeVar

from tasks.engine.policy.decision import Lane

LANES: tuple[Lane, ...] = ("submit", "submit_unkeyed", "search", "poll", "cancel", "deliver")
#: Lanes in which what is more important goes first; in the others nobody waits for ever.
BY_ORDER: frozenset[Lane] = frozenset({"submit", "submit_unkeyed", "deliver"})


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
        self._heap: list[tuple[float, int, Lane, T]] = []
        self._count = itertools.count()
        self._changed = asyncio.Event()

    def put(self, lane: Lane, after: float, what: T) -> None:
        """Make `what` due in `lane` after `after` seconds."""
        due = asyncio.get_running_loop().time() + max(0.0, after)
        if after <= 0:
            self._release(lane, due, what)
            return
        heapq.heappush(self._heap, (due, next(self._count), lane, what))
        if self._heap[0][0] == due:
            self._changed.set()

    def pull(self, chosen: Callable[[T], bool]) -> list[T]:
        """Take what is not due yet and `chosen` out of the schedule, and return it."""
        pulled = [entry for entry in self._heap if chosen(entry[3])]
        if pulled:
            self._heap = [entry for entry in self._heap if not chosen(entry[3])]
            heapq.heapify(self._heap)
        return [what for _, _, _, what in pulled]

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
                due, _, lane, what = heapq.heappop(self._heap)
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
