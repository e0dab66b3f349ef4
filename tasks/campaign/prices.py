"""Asking what many rows would cost: once for each brief, several at a time; nothing is spent.

Owns how many estimates are under way and what trouble with one of them means for the others. What
is kept of the prices, and how it is shown, is the caller's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Generic, TypeVar

from callsheet.tasks.brief import CREATE
from callsheet.tasks.clock import UnixClock
from callsheet.tasks.engine.lanes.price import (
    TROUBLE,
    Price,
    Priceable,
    before_spending,
    brief_price,
    price_for,
)
from callsheet.tasks.engine.stop import answers
from callsheet.tasks.errors import ServiceError
from callsheet.tasks.service import VideoService

P = TypeVar("P", bound=Priceable)
#: Records rows with their prices, all at once.
Keep = Callable[[Sequence[tuple[P, Price]]], Awaitable[None]]
#: Is told of how many rows the price is known, and how many there are.
Tell = Callable[[int, int], None]

#: So many rows in trouble and none with a price: it is the service, and the rest is not asked.
TROUBLED = 8
#: Rows that are kept together at most: others are let into the ledger in between.
KEPT = 256
#: Less than this is not waited for, in seconds: timers are no more exact than that.
APART = 0.001


async def ask_prices(
    service: VideoService,
    wanted: Iterable[P],
    *,
    at_once: int,
    clock: UnixClock,
    keep: Keep[P] | None = None,
    hold: Callable[[P, str], Awaitable[None]] | None = None,
    tell: Tell | None = None,
) -> dict[str, Price]:
    """Return what each row would cost, by its id; `keep` is given the prices as they come.

    Rows of the same brief are asked for once. Trouble with single requests is told in place of a
    price, and `hold` is given it. Raises ConfigurationError or Parked when the service cannot be
    asked at all.
    """
    asking = _Asking(service, clock, keep, tell)
    await asking.ask(wanted, at_once)
    troubled, prices = asking.troubled, asking.prices
    if troubled and not prices and not await answers(service):
        raise before_spending(troubled[0][1], clock()) from troubled[0][1]
    for one, error in troubled:
        words = f"no price: {str(error).rstrip('.')}: nothing was spent on it; run again"
        prices[one.row] = Price(None, words)
        if hold is not None:
            await hold(one, words)
    return prices


class _Asking(Generic[P]):
    """A fixed number of workers ask; one more keeps what they heard, in groups."""

    def __init__(
        self, service: VideoService, clock: UnixClock, keep: Keep[P] | None, tell: Tell | None
    ) -> None:
        self.prices: dict[str, Price] = {}
        self.troubled: list[tuple[P, ServiceError]] = []
        self._service = service
        self._clock = clock
        self._keep = keep
        self._tell = tell
        self._total = 0
        self._fresh: list[tuple[P, Price]] = []
        self._there = asyncio.Event()
        self._over = False
        self._apart = _Apart()

    async def ask(self, wanted: Iterable[P], at_once: int) -> None:
        briefs: dict[str, list[P]] = {}
        for one in wanted:
            self._total += 1
            # The limit of a clip is its price, and no part of its brief.
            same = one.digest if one.operation == CREATE else f"{one.digest} {one.max_credits}"
            briefs.setdefault(same, []).append(one)
        keeping = asyncio.create_task(self._keep_all(), name="quotes kept")
        waiting = iter(briefs.values())
        workers = min(at_once, len(briefs))
        self._apart = _Apart(workers)
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(workers):
                    group.create_task(self._work(waiting, keeping))
        except ExceptionGroup as several:
            # The first is the cause; the others are the same trouble seen by other rows.
            raise several.exceptions[0] from several
        finally:
            # What was heard is kept, however this ends.
            self._over = True
            self._there.set()
            await keeping

    async def _work(self, waiting: Iterator[list[P]], keeping: asyncio.Task[None]) -> None:
        for rows in waiting:
            await self._apart.wait()
            if keeping.done():
                return
            await self._ask(rows)
            if self._tell is not None:
                self._tell(len(self.prices) + len(self.troubled), self._total)

    async def _ask(self, rows: list[P]) -> None:
        loop = asyncio.get_running_loop()
        sent = loop.time()
        try:
            price = await brief_price(self._service, rows[0])
            if rows[0].operation == CREATE:
                self._apart.took(loop.time() - sent)
        except ServiceError as error:
            alone = isinstance(error, TROUBLE) and (self.prices or len(self.troubled) < TROUBLED)
            if not alone:
                raise before_spending(error, self._clock()) from error
            self.troubled += [(row, error) for row in rows]
            return
        for row in rows:
            own = self.prices[row.row] = price_for(row, price)
            if self._keep is not None:
                self._fresh.append((row, own))
                self._there.set()

    async def _keep_all(self) -> None:
        """Keep what is heard; while one group is written, the next one gathers."""
        while not self._over or self._fresh:
            await self._there.wait()
            self._there.clear()
            while self._fresh and self._keep is not None:
                group, self._fresh = self._fresh[:KEPT], self._fresh[KEPT:]
                await self._keep(group)


class _Apart:
    """Has requests leave one after the other where answers take long; seconds of the loop's clock.

    Answers that come together are handled by turns, step by step, and are all done at the same
    time: what follows them would go out together as well, for ever, and with each round the service
    would have nothing to do while all are handled.
    """

    def __init__(self, at_once: int = 1) -> None:
        self._at_once = max(1, at_once)
        self._next = 0.0
        self._takes = 0.0

    async def wait(self) -> None:
        """Wait until the next request may leave: at most for half of its share of an answer."""
        now = asyncio.get_running_loop().time()
        due, self._next = self._next, max(now, self._next) + self._takes / self._at_once / 2
        if due - now > APART:
            await asyncio.sleep(due - now)

    def took(self, seconds: float) -> None:
        """Learn what an answer takes from the quickest: the others may have waited for us."""
        self._takes = min(self._takes or seconds, seconds)
