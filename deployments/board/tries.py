"""How often somebody may be wrong: tries to get in, by the address they come from."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from deployments.board.problem_details import ProblemDetails

#: So many wrong tries an address has in so many seconds.
TRIES = 10
WINDOW = 60.0
#: Addresses and tokens that are remembered; the oldest are forgotten first.
REMEMBERED = 10_000


@dataclass
class Tries:
    """Wrong tries of late, and tokens that were right: their owners are not kept out by others."""

    clock: Callable[[], float]
    _wrong: OrderedDict[str, list[float]] = field(default_factory=OrderedDict)
    _right: OrderedDict[tuple[str, str], None] = field(default_factory=OrderedDict)

    def check(self, client: str, digest: str | None = None) -> None:
        """Raise ProblemDetails 429 where an address was wrong too often, before it is looked up."""
        now = self.clock()
        of_late = [at for at in self._wrong.get(client, ()) if now - at < WINDOW]
        if len(of_late) < TRIES or (digest and (client, digest) in self._right):
            return
        wait = max(1, round(of_late[0] + WINDOW - now))
        raise ProblemDetails(
            429,
            "too many tries to log in came from this address",
            remedy=f"try again in {wait} seconds",
            headers={"Retry-After": str(wait)},
        )

    def was_wrong(self, client: str) -> None:
        """Count a wrong try."""
        now = self.clock()
        of_late = [at for at in self._wrong.pop(client, ()) if now - at < WINDOW]
        self._wrong[client] = [*of_late, now][-TRIES:]
        _shorten(self._wrong)

    def was_right(self, client: str, digest: str) -> None:
        """Remember that this token was right from there."""
        self._right[client, digest] = None
        _shorten(self._right)


def _shorten(kept: OrderedDict[Any, Any]) -> None:
    while len(kept) > REMEMBERED:
        kept.popitem(last=False)
