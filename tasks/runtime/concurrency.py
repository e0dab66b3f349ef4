"""Work that is done a few pieces at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


async def map_at_once(
    work: Callable[[T], Awaitable[R]], items: Iterable[T], *, at_once: int
) -> list[R]:
    """Return the results of `work` on each item, in their order, `at_once` of them at a time."""
    slots = asyncio.Semaphore(at_once)

    async def in_turn(item: T) -> R:
        async with slots:
            return await work(item)

    return await asyncio.gather(*map(in_turn, items))
