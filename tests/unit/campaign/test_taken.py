"""Steps that one carrier takes and another one follows."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from callsheet.tasks.campaign.taken import Taken

Way = Callable[[Taken], Awaitable[list[object]]]


async def double(number: int) -> int:
    await asyncio.sleep(0)
    return 2 * number


async def fail(number: int) -> int:
    raise ValueError(f"no {number}")


async def _before(taken: Taken) -> list[object]:
    follower = asyncio.create_task(taken.end_of(double, 3))
    await asyncio.sleep(0)
    return [await taken.take(double, 3), await follower]


async def _meanwhile(taken: Taken) -> list[object]:
    return list(await asyncio.gather(taken.take(double, 3), taken.end_of(double, 3)))


async def _after(taken: Taken) -> list[object]:
    return [await taken.take(double, 3), await taken.end_of(double, 3)]


@pytest.mark.parametrize("way", [_before, _meanwhile, _after])
def test_whoever_follows_a_step_gets_its_end(way: Way) -> None:
    async def both() -> list[object]:
        return await way(Taken())

    assert asyncio.run(both()) == [6, 6]


def test_a_step_that_failed_fails_for_those_who_follow_as_well() -> None:
    async def both() -> list[object]:
        taken = Taken()
        ways = taken.take(fail, 3), taken.end_of(fail, 3)
        return list(await asyncio.gather(*ways, return_exceptions=True))

    leading, following = asyncio.run(both())
    assert isinstance(leading, ValueError)
    assert leading is following


def test_other_ids_are_another_step() -> None:
    async def follow() -> None:
        taken = Taken()
        await taken.take(double, 3)
        async with asyncio.timeout(0.01):
            await taken.end_of(double, 4)

    with pytest.raises(TimeoutError):
        asyncio.run(follow())


def test_whoever_follows_may_leave_and_the_step_goes_on() -> None:
    async def both() -> int:
        taken = Taken()
        follower = asyncio.create_task(taken.end_of(double, 3))
        leader = asyncio.create_task(taken.take(double, 3))
        await asyncio.sleep(0)
        follower.cancel()
        return await leader

    assert asyncio.run(both()) == 6


def test_a_step_that_is_given_up_is_given_up_for_those_who_follow_as_well() -> None:
    async def both() -> list[object]:
        taken = Taken()
        ways = [asyncio.create_task(way(double, 3)) for way in (taken.take, taken.end_of)]
        await asyncio.sleep(0)
        ways[0].cancel()
        return list(await asyncio.gather(*ways, return_exceptions=True))

    assert [type(end) for end in asyncio.run(both())] == [asyncio.CancelledError] * 2
