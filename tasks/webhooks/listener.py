"""What a run hears from the service: it follows the inbox, and keeps the subscription in order.

Hints are put into the ledger by whatever receiver there is, in this process or another; the engine
is told of them. While the subscription is well, looks are a safety net; when it is not, looks take
over by themselves, which is said once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from tasks.errors import CallsheetError, ConfigurationError, LedgerError
from tasks.ledger import Heard, hints_heard, latest_hint, listening
from tasks.webhooks import Standing, Subscriber, ensure_subscription

log = logging.getLogger("callsheet.hearing")

#: Two processes may commit in another order than they count: hints are read again for so long.
OVERLAP = 10.0
#: A delivery that names no video has every render looked at, no more often than this, in seconds.
SWEEP = 30.0


class Listener(Protocol):
    """Who is told: the engine."""

    def hear(self, videos: Collection[str]) -> None: ...

    def sweep(self) -> None: ...

    def rely_on_hints(self, rely: bool) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Pace:
    """How often the subscription is looked at, and how long a ping is waited for, in seconds."""

    well: float = 300.0
    ill: float = 30.0
    patience: float = 10.0


PACE = Pace()


@asynccontextmanager
async def hearing(
    at: Subscriber,
    listener: Listener,
    *,
    say: Callable[[str], None],
    strict: bool = False,
    pace: Pace = PACE,
) -> AsyncIterator[None]:
    """Tell `listener` what is heard while this lasts; say where hints cannot be relied on.

    With `strict`, raises ConfigurationError when they cannot be from the start.
    """
    ear = _Ear(at, listener, say, pace)
    await ear.begin()
    if strict:
        standing = await ear.check()
        if standing.trouble:
            raise ConfigurationError(
                f"--wait webhook cannot be done: {standing.trouble}; nothing new was spent",
                remedy="see `callsheet webhooks status`, or use --wait auto",
            )
    tasks = [
        asyncio.create_task(ear.follow(), name="hints"),
        asyncio.create_task(ear.keep_in_order(at_once=not strict), name="subscription"),
    ]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@dataclass
class _Ear:
    at: Subscriber
    listener: Listener
    say: Callable[[str], None]
    pace: Pace
    _after: int = 0
    _known: dict[int, None] = field(default_factory=dict)
    #: Deliveries that are known to have been missed: the service lists each for a while.
    _missed: set[str] = field(default_factory=set)
    _said: bool = False
    _swept: float = float("-inf")

    async def begin(self) -> None:
        """Begin after what is in the inbox now: rows that are taken up are looked at anyway."""
        self._after = await self.at.ledger.read(latest_hint)
        self._known |= dict.fromkeys(hint.id for hint in await self._lately())

    async def follow(self) -> None:
        """Pass hints on as they come."""
        async with listening(self.at.ledger) as wait:
            while True:
                await wait(self._after)
                try:
                    await self._read()
                except LedgerError as error:
                    log.warning("the inbox could not be read: %s", error)

    async def _read(self) -> None:
        news = [hint for hint in await self._lately() if hint.id not in self._known]
        if not news:
            return
        self._after = max(self._after, *(hint.id for hint in news))
        self._known |= dict.fromkeys(hint.id for hint in news)
        while len(self._known) > 10_000:
            del self._known[next(iter(self._known))]
        videos = frozenset().union(*(hint.videos for hint in news))
        if videos:
            self.listener.hear(videos)
        if any(not hint.videos and not hint.ping for hint in news):
            self._sweep()

    async def _lately(self) -> list[Heard]:
        since = self.at.clock() - OVERLAP
        return await self.at.ledger.read(partial(hints_heard, after=self._after, since=since))

    def _sweep(self) -> None:
        now = asyncio.get_running_loop().time()
        if now - self._swept >= SWEEP:
            self._swept = now
            self.listener.sweep()

    async def keep_in_order(self, *, at_once: bool) -> None:
        """Look at the subscription now and then, mend what can be mended, and tell the listener."""
        well = not at_once
        while True:
            if at_once:
                well = (await self.check()).trouble is None
            at_once = True
            await asyncio.sleep(self.pace.well if well else self.pace.ill)

    async def check(self) -> Standing:
        """Look at the subscription once; hints are relied on while it is well."""
        try:
            standing = await ensure_subscription(self.at, patience=self.pace.patience)
        except CallsheetError as error:
            # Whatever is wrong with it, the films are found by looking for them.
            standing = Standing(trouble=str(error))
        well = standing.trouble is None
        self.listener.rely_on_hints(well)
        missed = set(standing.missed) - self._missed
        self._missed |= missed
        if standing.enabled or missed:
            self.listener.sweep()
        if not well and not self._said:
            self.say(f"films are found by looking for them: {standing.trouble}")
        if well and self._said:
            self.say("webhooks tell of films again")
        self._said = not well
        return standing
