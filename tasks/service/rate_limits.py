"""Rate limits for each organization key.

How many creates run, how often, and how long to back off.

`Window` is how many creates one process has under way: twice as many with every round of quick
answers until the first trouble, then one more a round; half as many when answers become slow or
one is refused. `Rate` is how many a second may leave from all processes of an organisation's key;
there is none until the service has refused a create. Moments are Unix seconds.
"""

from __future__ import annotations

import asyncio
import math
import random as chance
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple, Protocol

from callsheet.tasks.runtime.errors import RateLimited
from callsheet.tasks.runtime.process import Clock, Random, Sleep, utc_now
from callsheet.tasks.runtime.retry import spread

#: Creates under way at the beginning, at least, and at most.
FIRST, LEAST, MOST = 2.0, 1.0, 512.0
#: An answer within so many seconds is quick, whatever the others took.
QUICK = 1.0
#: Answers have become slow when they take so many times as long as they used to.
SLOWER = 3.0
#: What weight a new answer has in how long answers take of late, and how quickly what they used to
#: take follows upward.
WEIGHT, DRIFT = 1 / 8, 1.002
#: A rate is never below, and none is needed above so many creates a second.
SLOWEST, FASTEST = 1.0, 1000.0
#: After a refusal the rate begins at half of what was refused, is back there after so many seconds,
#: and twice as high after each so many more.
RECOVERY, DOUBLING = 30.0, 15.0
#: What a service allows is told from the creates that it took in so many seconds.
RECENT = 60.0


@dataclass(frozen=True, slots=True)
class Window:
    """How many creates may be under way: `size`; `usual` and `recent` are seconds an answer takes.

    `trouble` says whether there ever was one, `held` how many answers are still from before it.
    """

    size: float = FIRST
    usual: float | None = None
    recent: float | None = None
    trouble: bool = False
    held: int = 0

    def answered(self, seconds: float) -> Window:
        """Return the window after an answer that took so long."""
        if self.held:
            return replace(self, held=self.held - 1)
        recent = seconds if self.recent is None else self.recent + (seconds - self.recent) * WEIGHT
        usual = recent if self.usual is None else min(recent, self.usual * DRIFT)
        if recent > max(QUICK, SLOWER * usual):
            return replace(self, usual=usual, recent=recent).halved()
        more = 1 / self.size if self.trouble else 1.0
        return Window(min(MOST, self.size + more), usual, recent, self.trouble)

    def halved(self) -> Window:
        """Return half the window; what is under way now is no news of how that does."""
        size = max(LEAST, self.size / 2)
        return replace(self, size=size, trouble=True, held=math.ceil(self.size), recent=None)

    def unanswered(self) -> Window:
        """Return the window after a while without any answer: one that hangs must not hold all."""
        return replace(self, size=min(MOST, self.size + 1))

    @property
    def silence(self) -> float:
        """Seconds without an answer after which one more is let go."""
        return max(QUICK, SLOWER * (self.recent or 0.0))


@dataclass(frozen=True, slots=True)
class Rate:
    """What the service has shown to allow: so many creates a second, refused at `since`.

    `since` is the moment from which requests may leave again.
    """

    refused: float
    since: float

    def at(self, now: float) -> float | None:
        """Return the creates a second that may leave now; None for as many as there are."""
        begins = max(SLOWEST, self.refused / 2)
        back = max(SLOWEST, self.refused)
        gone = now - self.since
        if gone < RECOVERY:
            return begins + (back - begins) * max(0.0, gone) / RECOVERY
        doublings = (gone - RECOVERY) / DOUBLING
        # Beyond so many a float would overflow.
        found = back * 2 ** min(doublings, 64)
        return found if found < FASTEST else None


def after_refusal(
    rate: Rate | None, accepted: Sequence[float], *, sent: float, now: float, until: float
) -> Rate:
    """Return the rate after a create that left at `sent` was refused until a moment.

    `accepted` are moments at which creates were taken. What left before the last refusal was over
    is a part of that one.
    """
    until = max(now, until)
    if rate is not None and sent <= rate.since:
        return replace(rate, since=max(rate.since, until))
    recent = [moment for moment in accepted if moment > now - RECENT]
    # So many in the time to the end of the pause: what a limit by the minute allows as well.
    shown = len(recent) / max(until - min(recent), 1e-3) if recent else 0.0
    before = None if rate is None else rate.at(sent)
    return Rate(shown if before is None else min(shown, before), until)


def turns(count: int, per_second: float, *, begin: float) -> tuple[list[float], float]:
    """Return the moments at which so many creates may leave, and the first that is free after."""
    moments = [begin + n / per_second for n in range(count + 1)]
    return moments[:-1], moments[-1]


# The pace of creates: how many are under way here, and how many a second leave in all.
#
# Owns the waiting. One for each organization key and process: what the processes tell each other
# of it goes through `Shared`. What is free is never held up here.


#: Turns are taken ahead for so many seconds at most: others want theirs, and rates change.
AHEAD = 0.5
#: Who waited for less than that was not held up, in seconds; words of it hold for so long.
HELD_UP, TOLD = 0.05, 2.0


class Turns(NamedTuple):
    """The rate as it is now, and when creates may leave.

    There are no moments where there is no rate, and none while the gate is closed.
    """

    rate: Rate | None
    moments: list[float]
    closed_until: float = 0.0


class Shared(Protocol):
    """What all processes of an organisation's key know of its pace."""

    async def take_turns(self, count: int) -> Turns:
        """Take turns for so many creates: no one else gets the same."""

    async def slow_down(self, sent: float, until: float) -> Rate | None:
        """Keep that a create which left at `sent` was refused until a moment."""


class Pace:
    """`async with pace:` around each create, from before its intent to its answer."""

    def __init__(
        self,
        gate: Gate,
        *,
        shared: Shared | None = None,
        clock: Clock = utc_now,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._gate = gate
        self._shared = shared
        self._clock = clock
        self._sleep = sleep
        self._window = Window()
        self._under_way = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._answered_at = self._now()
        self._rate: Rate | None = None
        self._moments: deque[float] = deque()
        self._wanted = 0
        self._in_turn = asyncio.Lock()
        self._writes: set[asyncio.Task[None]] = set()
        #: When a create was last held up, by the rate and by the window.
        self._held_up = [0.0, 0.0]

    def follow(self, rate: Rate | None) -> None:
        """Take over what another process, or an earlier one, has learnt of the rate."""
        if rate is not None and (self._rate is None or rate.since > self._rate.since):
            self._rate = rate
            self._moments.clear()

    async def __aenter__(self) -> None:
        """Wait until one more create may be begun."""
        if self._under_way < int(self._window.size) and not self._waiting:
            self._under_way += 1
        else:
            await self._wait_for_room()
        try:
            await self.again()
        except BaseException:
            self._leave()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._leave()

    async def again(self) -> None:
        """Wait until one more request of a create that is under way may leave.

        A gate that is closed is for the request itself to wait at, or to give up.
        """
        if self._per_second() is None or self._shared is None:
            return
        self._wanted += 1
        try:
            # One after the other, so that they leave in the order they came.
            async with self._in_turn:
                await self._take_turn(self._shared)
        finally:
            self._wanted -= 1

    def answered(self, seconds: float) -> None:
        """A create was answered after so long, whatever the answer."""
        self._answered_at = self._now()
        self._window = self._window.answered(seconds)
        self._wake()

    def refused(self, sent: datetime) -> None:
        """A create that left at `sent` was refused (429); the gate knows until when."""
        self._answered_at = now = self._now()
        if self._window.held:
            self._window = self._window.answered(0.0)
        else:
            self._window = self._window.halved()
        self._moments.clear()
        if self._shared is not None:
            until = self._gate.closed_until
            told = now if until is None else until.timestamp()
            self._write(self._slow_down(self._shared, sent.timestamp(), told))

    def limits(self) -> str | None:
        """Say what holds creates up at this moment, if anything does."""
        now, per_second = self._now(), self._per_second()
        by_rate, by_window = (now - at < TOLD for at in self._held_up)
        if by_rate and per_second is not None:
            shown = round(per_second, None if per_second >= 10 else 1)
            creates = "1 create" if shown == 1 else f"{shown:g} creates"
            return f"{creates} a second, the service allows no more"
        if by_window and self._window.trouble:
            size = int(self._window.size)
            return f"{size} {'create' if size == 1 else 'creates'} at once, its answers are slow"
        return None

    def _now(self) -> float:
        return self._clock().timestamp()

    def _per_second(self) -> float | None:
        return None if self._rate is None else self._rate.at(self._now())

    async def _wait_for_room(self) -> None:
        """Return with a place among those under way."""
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        self._held_up[1] = self._now()
        try:
            while not waiter.done():
                silence = self._window.silence
                await asyncio.wait([waiter], timeout=silence)
                if self._gate.is_open and self._now() - self._answered_at >= silence:
                    self._answered_at = self._now()
                    self._window = self._window.unanswered()
                    self._wake()
        except asyncio.CancelledError:
            if not waiter.cancel():
                self._leave()
            raise

    def _leave(self) -> None:
        self._under_way -= 1
        self._wake()

    def _wake(self) -> None:
        while self._waiting and self._under_way < int(self._window.size):
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                self._under_way += 1

    async def _take_turn(self, shared: Shared) -> None:
        if not self._gate.is_open:
            return
        until = self._gate.closed_until
        if until is not None and self._moments and self._moments[0] < until.timestamp():
            # They were taken before the gate was closed, and have come to nothing.
            self._moments.clear()
        if not self._moments:
            per_second = self._per_second()
            if per_second is None:
                return
            count = min(self._wanted, math.ceil(per_second * AHEAD))
            self._rate, moments, closed_until = await shared.take_turns(count)
            if closed_until:
                self._gate.close(datetime.fromtimestamp(closed_until, UTC))
            self._moments.extend(moments)
        if self._moments:
            moment = self._moments.popleft()
            left = moment - self._now()
            if left > HELD_UP:
                self._held_up[0] = moment
            if left > 0:
                await self._sleep(left)

    async def _slow_down(self, shared: Shared, sent: float, until: float) -> None:
        self.follow(await shared.slow_down(sent, until))

    def _write(self, writing: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(writing)
        self._writes.add(task)
        task.add_done_callback(self._writes.discard)


# The gate: one for each organisation key, since a limit of the service is the key's limit.
#
# Closed, it lets nothing through before the moment the service named. It knows no HTTP.


class Gate:
    """Opens at `closed_until`; give it the moment kept from an earlier run to restore it."""

    def __init__(
        self,
        *,
        closed_until: datetime | None = None,
        longest_wait: float = 60.0,
        on_close: Callable[[datetime], None] | None = None,
        clock: Clock = utc_now,
        sleep: Sleep = asyncio.sleep,
        random: Random = chance.random,
    ) -> None:
        self.closed_until = closed_until
        self.longest_wait = longest_wait
        self._on_close = on_close
        self._clock = clock
        self._sleep = sleep
        self._random = random

    @property
    def is_open(self) -> bool:
        """Whether a request may leave now."""
        return self.closed_until is None or self._clock() >= self.closed_until

    def close(self, until: datetime) -> None:
        """Close until a moment; a gate already closed for longer stays so."""
        if self.closed_until is not None and until <= self.closed_until:
            return
        self.closed_until = until
        if self._on_close is not None:
            self._on_close(until)

    async def wait(self, *, operation: str = "call", latest: datetime | None = None) -> None:
        """Return when a request may leave; raise RateLimited when that is too far off.

        Too far is more than `longest_wait` seconds from now, or later than `latest`.
        """
        # A loop, because the gate may have been closed again while this call slept.
        while self.closed_until is not None:
            now = self._clock()
            left = (self.closed_until - now).total_seconds()
            if left <= 0:
                return
            if left > self.longest_wait or (latest is not None and self.closed_until > latest):
                raise closed(self.closed_until, operation=operation)
            # Spread, so that rows do not all wake together.
            await self._sleep(spread(left, self._random))


def closed(until: datetime, *, operation: str) -> RateLimited:
    """Return the error of a call that is not made before `until`."""
    error = RateLimited(
        f"{operation}: the service accepts no requests before {until:%Y-%m-%d %H:%M:%S %Z}",
        operation=operation,
        retry_at=until,
        remedy="run the same command again after that moment; nothing is lost",
    )
    error.sent = "no"
    return error
