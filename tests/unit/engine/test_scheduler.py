"""One schedule for all rows: what is due goes, nothing early, and the important creates first.

On a virtual clock: nothing here takes time, and no machine is too slow for it.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import pytest

from callsheet.tasks.engine.active_rows import LANES, LEFT_BEHIND, Scheduler
from callsheet.tasks.engine.policy.decision import Lane
from tests.model.virtual_time import VirtualTime, run_virtually


@dataclass(frozen=True)
class Thing:
    name: int
    order: tuple[int, int] = (0, 0)


def virtually(story: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Have a test be given a running scheduler, on a clock that jumps to what is due next."""

    async def run(*args: Any, **kwargs: Any) -> None:
        scheduler: Scheduler = Scheduler()
        running = asyncio.create_task(scheduler.run())
        try:
            await story(scheduler, *args, **kwargs)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    def test(*args: Any, **kwargs: Any) -> None:
        run_virtually(run(*args, **kwargs), VirtualTime())

    parameters = list(inspect.signature(story).parameters.values())[1:]
    test.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return test


async def the_next(scheduler: Scheduler, lane="poll") -> int:
    return (await asyncio.wait_for(scheduler.next(lane), 2)).name


async def test_what_is_due_at_once_needs_no_loop():
    scheduler: Scheduler = Scheduler()
    for lane in LANES:
        scheduler.put(lane, 0, Thing(1))
        assert await the_next(scheduler, lane) == 1


@virtually
async def test_what_is_due_goes_by_its_order(scheduler: Scheduler):
    for name, order in [(1, (0, 2)), (2, (-5, 9)), (3, (0, 1)), (4, (0, 2))]:
        scheduler.put("submit", 0, Thing(name, order))
    assert [await the_next(scheduler, "submit") for _ in range(4)] == [2, 3, 1, 4]


@virtually
async def test_what_is_due_earlier_goes_first_whatever_its_order(scheduler: Scheduler):
    scheduler.put("poll", 0.10, Thing(2, (-9, 0)))
    scheduler.put("poll", 0.02, Thing(1, (9, 0)))
    assert [await the_next(scheduler), await the_next(scheduler)] == [1, 2]


@pytest.mark.parametrize(
    ("lane", "first"), [("poll", 1), ("cancel", 1), ("search", 1), ("submit", 2), ("deliver", 2)]
)
@virtually
async def test_while_all_are_busy_what_is_due_longest_goes_first_but_for_creates_and_deliveries(
    scheduler: Scheduler, lane: Lane, first: int
):
    scheduler.put(lane, 0.01, Thing(1, (0, 9)))
    scheduler.put(lane, 0.02, Thing(2, (-9, 0)))
    await asyncio.sleep(0.05)
    scheduler.put(lane, 0, Thing(3, (-5, 0)))
    assert await the_next(scheduler, lane) == first


@virtually
async def test_nothing_goes_early(scheduler: Scheduler):
    loop = asyncio.get_running_loop()
    began = loop.time()
    scheduler.put("poll", 0.05, Thing(1))
    await the_next(scheduler)
    assert loop.time() - began >= 0.05


@virtually
async def test_an_earlier_one_put_later_wakes_the_loop(scheduler: Scheduler):
    loop = asyncio.get_running_loop()
    scheduler.put("poll", 60, Thing(2))
    await asyncio.sleep(0.02)
    began = loop.time()
    scheduler.put("poll", 0.02, Thing(1))
    assert await the_next(scheduler) == 1
    assert loop.time() - began < 1


@virtually
async def test_lanes_do_not_take_from_each_other(scheduler: Scheduler):
    scheduler.put("poll", 0.01, Thing(1))
    scheduler.put("deliver", 0.01, Thing(2))
    assert await the_next(scheduler, "deliver") == 2
    assert await the_next(scheduler, "poll") == 1


@virtually
async def test_hundreds_of_rows_all_come_by_in_order_of_time(scheduler: Scheduler):
    for n in range(600):
        name = (n * 7919) % 600
        scheduler.put("poll", 0.3 + name / 2000, Thing(name))
    came = [await the_next(scheduler) for _ in range(600)]
    assert came == list(range(600))
    assert len(asyncio.all_tasks()) <= 3


@virtually
async def test_what_is_taken_out_does_not_come_by_unless_it_is_put_again(
    scheduler: Scheduler,
):
    first, second = Thing(1), Thing(2)
    scheduler.put("poll", 5, first)
    scheduler.put("poll", 6, second)
    assert (scheduler.take(first), scheduler.take(first)) == (True, False)
    assert await the_next_within(scheduler, 10) == 2
    scheduler.put("poll", 60, first)
    scheduler.take(first)
    scheduler.put("poll", 5, first)
    assert await the_next_within(scheduler, 10) == 1
    assert not scheduler.take(first)


async def the_next_within(scheduler: Scheduler, seconds: float) -> int:
    return (await asyncio.wait_for(scheduler.next("poll"), seconds)).name


@virtually
async def test_what_was_taken_out_again_and_again_leaves_little_behind(
    scheduler: Scheduler,
):
    things = [Thing(n) for n in range(100)]
    for thing in things * 50:
        scheduler.take(thing)
        scheduler.put("poll", 60 + thing.name, thing)
    assert len(scheduler._heap) <= LEFT_BEHIND + 3 * len(things)
    assert [await the_next_within(scheduler, 200) for _ in things] == list(range(100))
