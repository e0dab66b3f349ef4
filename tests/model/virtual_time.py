"""Time that moves only when told, and the moments at which the program may die."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

T = TypeVar("T")

#: When every story begins, in Unix seconds.
BEGIN = 1_800_000_000.0


@dataclass
class VirtualTime:
    """One clock for program and service alike, in Unix seconds."""

    now: float = BEGIN

    def seconds(self) -> float:
        """Return the present moment in Unix seconds."""
        return self.now

    def moment(self) -> datetime:
        """Return the present moment, aware."""
        return datetime.fromtimestamp(self.now, UTC)

    async def sleep(self, seconds: float) -> None:
        """Let `seconds` pass."""
        self.now += max(0.0, seconds)


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop on a virtual clock: where all wait, the time of the next timer is now.

    Nothing of it may wait for a thread or for another machine.
    """

    def __init__(self, time: VirtualTime) -> None:
        self._virtual, self._begin = time, time.now
        super().__init__(_Jumps(time))

    def time(self) -> float:
        """Return seconds since the loop was made."""
        return self._virtual.now - self._begin


class _Jumps(selectors.SelectSelector):
    """Waits for nothing: what it is told to wait for lets so much time pass."""

    def __init__(self, time: VirtualTime) -> None:
        super().__init__()
        self._time = time

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready and timeout is None:
            raise RuntimeError("everybody waits for somebody else")
        if not ready:
            # A little more, since Unix seconds are no finer than this as floats.
            self._time.now += (timeout or 0.0) + 1e-6
        return ready


def run_virtually(story: Coroutine[Any, Any, T], time: VirtualTime) -> T:
    """Run a story to its end without waiting for its time to pass."""
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(time)) as runner:
        return runner.run(story)


class Died(BaseException):
    """The program was killed: nothing in it may catch this, as nothing catches SIGKILL."""


#: Where it can be killed: on either side of what is durable and of what leaves the house.
POINTS = ("before commit", "after commit", "before request", "after request")


@dataclass
class Fuse:
    """Kills the program at the `count`-th time that it passes a point."""

    point: str | None = None
    count: int = 0
    #: Whether it has killed the program that is under way.
    blown: bool = False

    def light(self, point: str, count: int) -> None:
        """Have the program die at the `count`-th passage of `point` from now on."""
        self.point, self.count = point, count

    def burn(self, point: str) -> None:
        """Pass a point; raise Died if this is the one."""
        if point != self.point:
            return
        self.count -= 1
        if self.count <= 0:
            self.point, self.blown = None, True
            raise Died(point)
