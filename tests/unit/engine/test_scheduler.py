"""One schedule for all rows: what is due goes, nothing early, and the important creates first.

On a virtual clock: nothing here takes time, and no machine is too slow for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest

from callsheet.tasks.engine.active_rows import Scheduler
from callsheet.tasks.engine.policy.decision import Lane
from tests.model.virtual_time import VirtualTime, run_virtually


@dataclass(frozen=True)
class Thing:
    name: int
    order: tuple[int, int] = (0, 0)


def virtually(story: Callable[[Scheduler], Awaitable[None]]) -> None:
    """Give a story a running scheduler, on a clock that jumps to what is due next."""

    async def run() -> None:
        scheduler: Scheduler = Scheduler()
        running = asyncio.create_task(scheduler.run())
        try:
            await story(scheduler)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    run_virtually(run(), VirtualTime())


async def the_next(scheduler: Scheduler, lane: Lane = "poll", within: float = 2) -> int:
    return (await asyncio.wait_for(scheduler.next(lane), within)).name


def test_what_is_due_goes_by_its_order_in_its_lane_and_nothing_early():
    async def story(scheduler: Scheduler) -> None:
        for name, order in [(1, (0, 2)), (2, (-5, 9)), (3, (0, 1)), (4, (0, 2))]:
            scheduler.put("submit", 0, Thing(name, order))
        scheduler.put("poll", 60, Thing(7))
        await asyncio.sleep(0.02)
        began = asyncio.get_running_loop().time()
        # What is due earlier goes first whatever its order, and wakes the loop.
        scheduler.put("poll", 0.10, Thing(6, (-9, 0)))
        scheduler.put("poll", 0.05, Thing(5, (9, 0)))
        assert await the_next(scheduler) == 5
        assert 0.05 <= asyncio.get_running_loop().time() - began < 0.1
        assert await the_next(scheduler) == 6
        assert [await the_next(scheduler, "submit") for _ in range(4)] == [2, 3, 1, 4]

    virtually(story)


@pytest.mark.parametrize(
    ("lane", "first"), [("poll", 1), ("cancel", 1), ("search", 1), ("submit", 2), ("deliver", 2)]
)
def test_while_all_are_busy_what_is_due_longest_goes_first_but_for_creates_and_deliveries(
    lane: Lane, first: int
):
    async def story(scheduler: Scheduler) -> None:
        scheduler.put(lane, 0.01, Thing(1, (0, 9)))
        scheduler.put(lane, 0.02, Thing(2, (-9, 0)))
        await asyncio.sleep(0.05)
        scheduler.put(lane, 0, Thing(3, (-5, 0)))
        assert await the_next(scheduler, lane) == first

    virtually(story)
