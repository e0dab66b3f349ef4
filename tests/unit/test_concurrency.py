"""Work that is done a few pieces at a time."""

from __future__ import annotations

import asyncio

import pytest

from callsheet.tasks.runtime.concurrency import map_at_once


async def test_results_are_in_order_and_few_are_under_way() -> None:
    under_way: list[int] = []
    most = 0

    async def work(item: int) -> int:
        nonlocal most
        under_way.append(item)
        most = max(most, len(under_way))
        await asyncio.sleep(0.001 * (item % 3))
        under_way.remove(item)
        return item * 2

    assert await map_at_once(work, range(9), at_once=2) == [*range(0, 18, 2)]
    assert most == 2


async def test_after_a_fault_no_more_is_begun_and_the_rest_ends() -> None:
    begun, ended = [], []

    async def work(item: int) -> None:
        begun.append(item)
        await asyncio.sleep(0)
        if item == 0:
            raise ValueError("the first")
        await asyncio.sleep(0)
        ended.append(item)

    with pytest.raises(ValueError, match="the first"):
        await map_at_once(work, range(9), at_once=2)
    assert (begun, ended) == ([0, 1], [1])
