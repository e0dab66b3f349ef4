"""The pace of creates: how many are under way here, and how many a second leave in all.

Owns the waiting; the rules are in `pacing`. One for each organisation key and process: what the
processes tell each other of it goes through `Shared`. What is free is never held up here.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Coroutine
from datetime import UTC, datetime
from typing import Any, NamedTuple, Protocol

from callsheet.tasks.clock import Clock, Sleep, utc_now
from callsheet.tasks.service.gate import Gate
from callsheet.tasks.service.pacing import Rate, Window

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
        """Take turns for so many creates: nobody else gets the same."""

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
