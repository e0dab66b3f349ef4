"""What a run receives from the service: it follows the inbox, and keeps the subscription in order.

Hints are put into the ledger by whatever receiver there is, in this process or another; the engine
is told of them. While the subscription is healthy, polls are a safety net; when it is not, polls
take over by themselves, which is said once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Collection, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from callsheet.tasks.ledger.webhook_events import Heard, hints_heard, latest_hint, listening
from callsheet.tasks.runtime.errors import CallsheetError, ConfigurationError, LedgerError
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.suggest import again_with
from callsheet.tasks.webhooks.inventory import Subscriber, SubscriptionStatus
from callsheet.tasks.webhooks.subscription import ensure_subscription

log = logging.getLogger("callsheet.webhooks")

#: Two processes may commit in another order than they count: hints are read again for so long.
OVERLAP = 10.0
#: A delivery that names no video has every render polled, no more often than this, in seconds.
SWEEP_INTERVAL = 30.0
#: Hints that are remembered as passed on.
REMEMBERED = 10_000


class HintTarget(Protocol):
    """Who is told of hints: the engine."""

    def notify(self, videos: Collection[str]) -> None: ...

    def sweep(self) -> None: ...

    def rely_on_hints(self, rely: bool) -> None: ...


@dataclass(frozen=True, kw_only=True)
class CheckIntervals:
    """How often the subscription is checked, and how long a ping is waited for, in seconds."""

    healthy: float = 300.0
    unhealthy: float = 30.0
    ping_timeout: float = 10.0


CHECK_INTERVALS = CheckIntervals()


def check_address(settings: Settings) -> None:
    """Raise ConfigurationError where there is no address that webhooks could come to."""
    if settings.webhook_url is None and not settings.webhook_secret:
        raise ConfigurationError(
            "--wait webhook needs the public address of a receiver; nothing was spent",
            remedy="set CALLSHEET_WEBHOOK_URL to an https address that leads to "
            f"{settings.receiver}, or {again_with('--wait', 'auto')}",
        )


@asynccontextmanager
async def following_hints(
    at: Subscriber,
    target: HintTarget,
    *,
    say: Callable[[str], None],
    strict: bool = False,
    intervals: CheckIntervals = CHECK_INTERVALS,
) -> AsyncIterator[None]:
    """Tell `target` of hints while this lasts; say where they cannot be relied on.

    With `strict`, raises ConfigurationError when they cannot be from the start.
    """
    checks = _Checks(at, target, say, intervals)
    async with hearing_hints(at, target):
        if strict and (trouble := (await checks.check()).trouble):
            raise ConfigurationError(
                f"--wait webhook cannot be done: {trouble}; nothing new was spent",
                remedy=f"see `callsheet webhooks status`, or {again_with('--wait', 'auto')}",
            )
        async with _beside(checks.keep(checked=strict), "subscription"):
            yield


@asynccontextmanager
async def hearing_hints(at: Subscriber, target: HintTarget) -> AsyncIterator[None]:
    """Tell `target` of hints while this lasts; someone else looks after the subscription."""
    inbox = _Inbox(at, target)
    await inbox.begin()
    async with _beside(inbox.follow(), "hints"):
        yield


@asynccontextmanager
async def _beside(work: Coroutine[Any, Any, None], name: str) -> AsyncIterator[None]:
    task = asyncio.create_task(work, name=name)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@dataclass
class _Inbox:
    """Follows the inbox of the ledger."""

    at: Subscriber
    target: HintTarget
    _after: int = 0
    _known: dict[int, None] = field(default_factory=dict)
    _swept: float = float("-inf")

    async def begin(self) -> None:
        """Begin after what is in the inbox now: rows that are taken up are polled anyway."""
        self._after = await self.at.ledger.read(latest_hint)
        self._known |= dict.fromkeys(hint.id for hint in await self._recent())

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
        new = [hint for hint in await self._recent() if hint.id not in self._known]
        if not new:
            return
        self._after = max(self._after, *(hint.id for hint in new))
        self._known |= dict.fromkeys(hint.id for hint in new)
        while len(self._known) > REMEMBERED:
            del self._known[next(iter(self._known))]
        videos = frozenset().union(*(hint.videos for hint in new))
        if videos:
            self.target.notify(videos)
        if any(not hint.videos and not hint.ping for hint in new):
            self._sweep()

    async def _recent(self) -> list[Heard]:
        since = self.at.clock() - OVERLAP
        return await self.at.ledger.read(hints_heard, after=self._after, since=since)

    def _sweep(self) -> None:
        now = asyncio.get_running_loop().time()
        if now - self._swept >= SWEEP_INTERVAL:
            self._swept = now
            self.target.sweep()


@dataclass
class _Checks:
    """Checks the subscription now and then, repairs what can be, and tells the target."""

    at: Subscriber
    target: HintTarget
    say: Callable[[str], None]
    intervals: CheckIntervals
    #: Whether it was said that hints do not arrive.
    _said: bool = False

    async def keep(self, *, checked: bool) -> None:
        """Check from now on, first at once unless that is `checked`."""
        if not checked:
            await self.check()
        while True:
            await asyncio.sleep(self.intervals.unhealthy if self._said else self.intervals.healthy)
            await self.check()

    async def check(self) -> SubscriptionStatus:
        """Check the subscription once; hints are relied on while it is healthy."""
        try:
            status = await ensure_subscription(self.at, ping_timeout=self.intervals.ping_timeout)
        except CallsheetError as error:
            # Whatever is wrong with it, the videos are found by polling.
            status = SubscriptionStatus(trouble=str(error))
        healthy = status.trouble is None
        self.target.rely_on_hints(healthy)
        if status.enabled or (healthy and self._said):
            # Deliveries may have been lost meanwhile.
            self.target.sweep()
        if not healthy and not self._said:
            self.say(f"videos are found by looking for them: {status.trouble}")
        if healthy and self._said:
            self.say("webhooks arrive again")
        self._said = not healthy
        return status
