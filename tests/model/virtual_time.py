"""Time that moves only when told, and the moments at which the program may die."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

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


class Died(BaseException):
    """The program was killed: nothing in it may catch this, as nothing catches SIGKILL."""


#: Where it can be killed: on either side of what is durable and of what leaves the house.
POINTS = ("before commit", "after commit", "before request", "after request")


@dataclass
class Fuse:
    """Kills the program at the `count`-th time that it passes a point."""

    point: str | None = None
    count: int = 0

    def light(self, point: str, count: int) -> None:
        """Have the program die at the `count`-th passage of `point` from now on."""
        self.point, self.count = point, count

    def burn(self, point: str) -> None:
        """Pass a point; raise Died if this is the one."""
        if point != self.point:
            return
        self.count -= 1
        if self.count <= 0:
            self.point = None
            raise Died(point)
