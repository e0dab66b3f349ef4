"""Creates wait for their turn; what is free never does."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from callsheet.tasks.runtime.errors import RateLimited
from callsheet.tasks.service import Gate, Pace
from callsheet.tasks.service.rate_limits import FIRST, Rate, Turns, turns

BODY = b'{"idempotency_key":"cs1_k"}'
MADE = (202, {"data": {"id": "vid_1"}, "error": None, "meta": {}})
VIDEO = (200, {"data": {"id": "vid_1"}, "error": None, "meta": {}})


def refused(after):
    return (429, {"error": {"message": "slow down"}}, {"retry-after": str(after)})


class OneProcess:
    """What is shared, with nobody to share it with: two creates a second after a refusal."""

    def __init__(self, time):
        self._time = time
        self._next = 0.0
        self.rate = None
        self.taken = []

    async def take_turns(self, count):
        self.taken.append(count)
        # Others come meanwhile, and the next one takes turns for all of them.
        await asyncio.sleep(0)
        begin = max(self._next, self._time.now.timestamp())
        moments, self._next = turns(count, 2.0, begin=begin)
        return Turns(self.rate, moments)

    async def slow_down(self, sent, until):
        self.rate = Rate(2.0, until)
        self._next = until
        return self.rate


def pace_of(time, gate=None, shared=None):
    gate = gate or Gate(clock=time.clock, sleep=time.sleep, random=lambda: 0.0)
    return Pace(gate, shared=shared, clock=time.clock, sleep=time.sleep)


async def under_way(pace, count):
    """Begin so many creates; return how many are let, and their tasks."""
    begun = []
    over = asyncio.Event()

    async def create(n):
        async with pace:
            begun.append(n)
            await over.wait()

    tasks = [asyncio.create_task(create(n)) for n in range(count)]
    for _ in range(count + 5):
        await asyncio.sleep(0)
    return begun, over, tasks


async def test_it_starts_low_and_every_quick_answer_lets_one_more_go(time):
    pace = pace_of(time)
    begun, over, tasks = await under_way(pace, 20)
    assert begun == list(range(int(FIRST)))
    for _ in range(5):
        pace.answered(0.01)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert begun == list(range(int(FIRST) + 5))
    over.set()
    for _ in range(20):
        pace.answered(0.01)
    await asyncio.gather(*tasks)
    assert begun == list(range(20))


async def test_whoever_gives_up_waiting_takes_nobodys_place(time):
    pace = pace_of(time)
    begun, over, tasks = await under_way(pace, 5)
    for task in tasks[2:4]:
        task.cancel()
    over.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert begun == [0, 1, 4]


async def test_after_a_refusal_creates_leave_at_the_rate_and_not_before_the_moment(talk, time):
    gate = Gate(clock=time.clock, sleep=time.sleep, random=lambda: 0.0)
    shared = OneProcess(time)
    pace = pace_of(time, gate, shared)
    sent = []
    service, seen = talk(
        refused(10), MADE, gate=gate, pace=pace, on_request=lambda _: sent.append(time.now)
    )
    begin = time.now

    async def create():
        async with pace:
            await service.create(BODY, key="cs1_k")

    await create()
    for _ in range(4):
        await create()
    assert [round((moment - begin).total_seconds(), 3) for moment in sent] == [
        0, 10, 10.5, 11, 11.5, 12,
    ]  # fmt: skip
    assert len(seen) == 6
    assert pace.limits() == "1.1 creates a second, the service allows no more"


async def test_what_is_free_waits_for_no_turn(talk, time):
    gate = Gate(clock=time.clock, sleep=time.sleep, random=lambda: 0.0)
    shared = OneProcess(time)
    pace = pace_of(time, gate, shared)
    shared.rate = Rate(2.0, time.now.timestamp())
    pace.follow(shared.rate)
    service, _ = talk(VIDEO, gate=gate, pace=pace)
    for _ in range(10):
        await service.get("vid_1")
    assert (time.slept, shared.taken) == ([], [])


async def test_turns_are_taken_for_those_who_wait_and_are_void_once_the_gate_closed(time):
    gate = Gate(clock=time.clock, sleep=time.sleep, random=lambda: 0.0)
    shared = OneProcess(time)
    pace = pace_of(time, gate, shared)
    shared.rate = Rate(100.0, time.now.timestamp())
    pace.follow(shared.rate)
    begin, left = time.now, []

    async def create(n):
        await pace.again()
        while not gate.is_open:
            await gate.wait()
            await pace.again()
        left.append((n, (time.now - begin).total_seconds()))
        if n == 1:
            gate.close(datetime.fromtimestamp(begin.timestamp() + 30, UTC))
            await shared.slow_down(begin.timestamp(), begin.timestamp() + 30)

    await asyncio.gather(*(create(n) for n in range(4)))
    assert [moment for _, moment in left] == [0, 0.5, 30, 30.5]
    assert shared.taken[:2] == [1, 3]


async def test_a_gate_that_another_process_closed_for_long_is_not_waited_for(talk, time):
    class Elsewhere(OneProcess):
        async def take_turns(self, count):
            return Turns(self.rate, [], time.now.timestamp() + 86400)

    gate = Gate(clock=time.clock, sleep=time.sleep, random=lambda: 0.0)
    shared = Elsewhere(time)
    shared.rate = Rate(2.0, time.now.timestamp())
    pace = pace_of(time, gate, shared)
    pace.follow(shared.rate)
    service, seen = talk(MADE, gate=gate, pace=pace)
    with pytest.raises(RateLimited):
        async with pace:
            await service.create(BODY, key="cs1_k")
    assert (seen, time.slept) == ([], [])


@pytest.mark.parametrize(
    ("refused_at", "words"),
    [
        (24.0, "12 creates a second, the service allows no more"),
        (5.0, "2.5 creates a second, the service allows no more"),
        (0.1, "1 create a second, the service allows no more"),
    ],
)
async def test_it_says_what_it_holds_creates_up_for(time, refused_at, words):
    shared = OneProcess(time)
    pace = pace_of(time, shared=shared)
    assert pace.limits() is None
    shared.rate = Rate(refused_at, time.now.timestamp())
    pace.follow(shared.rate)
    assert pace.limits() is None, "nobody waits"
    await pace.again()
    await pace.again()
    shared.rate = Rate(refused_at, time.now.timestamp())
    pace.follow(shared.rate)
    assert pace.limits() == words


async def test_it_says_that_answers_are_slow(time):
    pace = pace_of(time)
    for seconds in (0.1, 0.1, 30.0):
        pace.answered(seconds)
    _, over, tasks = await under_way(pace, 4)
    assert pace.limits() == "2 creates at once, its answers are slow"
    over.set()
    await asyncio.gather(*tasks)
