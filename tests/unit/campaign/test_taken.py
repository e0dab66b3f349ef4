"""Steps that a run takes here and another process follows."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Awaitable, Callable
from decimal import Decimal

import pytest

from callsheet.tasks.campaign.taken import Followed, StepEnd, Taken
from callsheet.tasks.engine.progress import Snapshot
from callsheet.tasks.runtime.errors import BadInput, CallsheetError

Way = Callable[[Taken, Followed], Awaitable[list[object]]]
NOW = Snapshot(
    campaign="a", rows={}, total=0, to_do=0, done=0, charged=Decimal(0), reserved=Decimal(0),
    budget=None, seconds=0.0, seconds_left=None,
)  # fmt: skip


async def double(_: object, number: int) -> int:
    await asyncio.sleep(0)
    return 2 * number


async def fail(_: object, number: int) -> int:
    raise BadInput(f"no {number}", remedy="another")


def two() -> tuple[Taken, Followed]:
    """Return what takes steps and what follows them, joined as two processes are."""
    taken, followed = Taken(), Followed(NOW, [], stop=lambda _: None)
    taken.on_end = lambda end: followed.note(pickle.loads(pickle.dumps(end)))
    return taken, followed


async def _before(taken: Taken, followed: Followed) -> list[object]:
    follower = asyncio.create_task(followed.end_of(double, 3))
    await asyncio.sleep(0)
    return [await taken.take(double, None, 3), await follower]


async def _meanwhile(taken: Taken, followed: Followed) -> list[object]:
    return list(await asyncio.gather(taken.take(double, None, 3), followed.end_of(double, 3)))


async def _after(taken: Taken, followed: Followed) -> list[object]:
    return [await taken.take(double, None, 3), await followed.end_of(double, 3)]


@pytest.mark.parametrize("way", [_before, _meanwhile, _after])
async def test_a_follower_gets_the_end_of_a_step(way: Way) -> None:
    assert await way(*two()) == [6, 6]


async def test_a_step_that_failed_fails_for_the_follower_as_well() -> None:
    taken, followed = two()
    ways = taken.take(fail, None, 3), followed.end_of(fail, 3)
    leading, following = await asyncio.gather(*ways, return_exceptions=True)
    for error in (leading, following):
        assert isinstance(error, BadInput)
        assert (str(error), error.remedy) == ("no 3", "another")


async def test_an_error_that_no_other_process_can_be_told_is_told_in_words() -> None:
    async def odd(_: object) -> None:
        class Odd(Exception):
            pass

        raise Odd("very")

    taken, followed = two()
    ways = taken.take(odd, None), followed.end_of(odd)
    _, following = await asyncio.gather(*ways, return_exceptions=True)
    assert type(following) is CallsheetError
    assert str(following) == "very"


async def test_other_ids_are_another_step() -> None:
    taken, followed = two()
    await taken.take(double, None, 3)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await followed.end_of(double, 4)


async def test_a_follower_may_leave_and_the_step_goes_on() -> None:
    taken, followed = two()
    follower = asyncio.create_task(followed.end_of(double, 3))
    leader = asyncio.create_task(taken.take(double, None, 3))
    await asyncio.sleep(0)
    follower.cancel()
    assert await leader == 6


async def test_a_step_that_is_cancelled_is_cancelled_for_the_follower_as_well() -> None:
    taken, followed = two()
    leader = asyncio.create_task(taken.take(double, None, 3))
    ways = [leader, asyncio.create_task(followed.end_of(double, 3))]
    await asyncio.sleep(0)
    ways[0].cancel()
    ends = await asyncio.gather(*ways, return_exceptions=True)
    assert [type(end) for end in ends] == [asyncio.CancelledError] * 2


async def test_steps_that_did_not_end_fail_once_the_run_is_gone() -> None:
    _, followed = two()
    followed.note(StepEnd(step="double", ids=(3,), result=6))
    waiting = asyncio.create_task(followed.end_of(double, 4))
    await asyncio.sleep(0)
    followed.lose(CallsheetError("gone"))
    assert await followed.end_of(double, 3) == 6
    for lost in (waiting, followed.end_of(double, 5)):
        with pytest.raises(CallsheetError, match="gone"):
            await lost
