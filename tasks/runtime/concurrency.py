"""Work that is done a few pieces at a time."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


async def map_at_once(
    work: Callable[[T], Awaitable[R]], items: Iterable[T], *, at_once: int
) -> list[R]:
    """Return the results of `work` on each item, in their order, `at_once` of them at a time.

    Once one raises, no more are begun; what it raised is raised here when the others have ended.
    """
    waiting = enumerate(items)
    found: dict[int, R] = {}

    async def lane() -> None:
        for number, item in waiting:
            try:
                found[number] = await work(item)
            except BaseException:
                deque(waiting, maxlen=0)
                raise

    ended = await asyncio.gather(*(lane() for _ in range(at_once)), return_exceptions=True)
    if errors := [one for one in ended if one is not None]:
        raise errors[0]
    return [found[number] for number in range(len(found))]
