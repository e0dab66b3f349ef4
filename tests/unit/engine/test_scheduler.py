"""One schedule for all rows: what is due goes, the important first, and nothing early."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from tasks.engine.scheduler import LANES, Schedule


@dataclass(frozen=True)
class Thing:
    name: int
    order: tuple[int, int] = (0, 0)


@pytest.fixture
async def schedule() -> AsyncIterator[Schedule[Thing]]:
    schedule: Schedule[Thing] = Schedule()
    running = asyncio.create_task(schedule.run())
    yield schedule
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def the_next(schedule: Schedule[Thing], lane="watch") -> int:
    return (await asyncio.wait_for(schedule.next(lane), 2)).name


async def test_what_is_due_at_once_needs_no_loop():
    schedule: Schedule[Thing] = Schedule()
    for lane in LANES:
        schedule.put(lane, 0, Thing(1))
        assert await the_next(schedule, lane) == 1


async def test_what_is_due_goes_by_its_order(schedule: Schedule[Thing]):
    for name, order in [(1, (0, 2)), (2, (-5, 9)), (3, (0, 1)), (4, (0, 2))]:
        schedule.put("submit", 0, Thing(name, order))
    assert [await the_next(schedule, "submit") for _ in range(4)] == [2, 3, 1, 4]


async def test_what_is_due_earlier_goes_first_whatever_its_order(schedule: Schedule[Thing]):
    schedule.put("watch", 0.10, Thing(2, (-9, 0)))
    schedule.put("watch", 0.02, Thing(1, (9, 0)))
    assert [await the_next(schedule), await the_next(schedule)] == [1, 2]


async def test_nothing_goes_early(schedule: Schedule[Thing]):
    loop = asyncio.get_running_loop()
    began = loop.time()
    schedule.put("watch", 0.05, Thing(1))
    await the_next(schedule)
    assert loop.time() - began >= 0.05


async def test_an_earlier_one_put_later_wakes_the_loop(schedule: Schedule[Thing]):
    loop = asyncio.get_running_loop()
    schedule.put("watch", 60, Thing(2))
    await asyncio.sleep(0.02)
    began = loop.time()
    schedule.put("watch", 0.02, Thing(1))
    assert await the_next(schedule) == 1
    assert loop.time() - began < 1


async def test_lanes_do_not_take_from_each_other(schedule: Schedule[Thing]):
    schedule.put("watch", 0.01, Thing(1))
    schedule.put("deliver", 0.01, Thing(2))
    assert await the_next(schedule, "deliver") == 2
    assert await the_next(schedule, "watch") == 1


async def test_hundreds_of_rows_all_come_by_in_order_of_time(schedule: Schedule[Thing]):
    for n in range(600):
        schedule.put("watch", ((n * 7919) % 600) / 2000 + 0.001, Thing((n * 7919) % 600))
    came = [await the_next(schedule) for _ in range(600)]
    assert sorted(came) == list(range(600))
    # Those that fall due within one turn of the loop go by order; the rest by time.
    assert max(abs(place - name) for place, name in enumerate(came)) < 300
    assert len(asyncio.all_tasks()) <= 3
