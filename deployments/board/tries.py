"""How often somebody may be wrong: tries to get in, by the address they come from."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from callsheet.deployments.board.problem_details import ProblemDetails

#: So many wrong tries an address has in so many seconds: at the page, where people type; and with
#: bearer tokens, which nobody can guess and a program with an old one sends again and again.
LOGINS, TOKENS = 10, 3000
WINDOW = 60.0
#: Addresses and tokens that are remembered; the oldest are forgotten first.
REMEMBERED = 10_000


@dataclass
class Tries:
    """Wrong tries of late, and tokens that were right: their owners are not kept out by others."""

    clock: Callable[[], float]
    most: int
    #: Since when an address was wrong how often.
    _wrong: OrderedDict[str, tuple[float, int]] = field(default_factory=OrderedDict)
    _right: OrderedDict[tuple[str, str], None] = field(default_factory=OrderedDict)

    def check(self, client: str, digest: str | None = None) -> None:
        """Raise ProblemDetails 429 where an address was wrong too often, before it is looked up."""
        since, count = self._of_late(client)
        if count < self.most or (digest and (client, digest) in self._right):
            return
        wait = max(1, round(since + WINDOW - self.clock()))
        raise ProblemDetails(
            429,
            "too many tries to log in came from this address",
            remedy=f"try again in {wait} seconds",
            headers={"Retry-After": str(wait)},
        )

    def was_wrong(self, client: str) -> None:
        """Count a wrong try."""
        since, count = self._of_late(client)
        self._wrong[client] = since, count + 1
        _shorten(self._wrong)

    def was_right(self, client: str, digest: str) -> None:
        """Remember that this token was right from there."""
        self._right[client, digest] = None
        _shorten(self._right)

    def _of_late(self, client: str) -> tuple[float, int]:
        now = self.clock()
        since, count = self._wrong.get(client, (now, 0))
        return (since, count) if now - since < WINDOW else (now, 0)


def _shorten(kept: OrderedDict[Any, Any]) -> None:
    while len(kept) > REMEMBERED:
        kept.popitem(last=False)
