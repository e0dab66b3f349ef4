"""Sessions of agents at `/mcp`: how many each person has, and their end when a person is revoked.

Only earlier versions of the protocol have sessions. The library keeps them and lets idle ones end;
it does not know people.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from callsheet.deployments.board.problem_details import ProblemDetails

#: Sessions of one person and of all at once, and seconds that an idle one lasts.
EACH, SESSIONS, IDLE = 16, 400, 600.0


@dataclass
class Session:
    """One session: whose it is, by person and digest of the token, and when it was last used."""

    person: int
    digest: str
    used_at: float
    #: Requests of it under way: it is not idle.
    busy: int = 0


@dataclass
class Sessions:
    """The sessions that are open now, by their id."""

    clock: Callable[[], float]
    open: dict[str, Session] = field(default_factory=dict)
    #: Sessions that are being opened, of each person.
    _opening: Counter[int] = field(default_factory=Counter)

    @contextmanager
    def opening(self, person: int) -> Iterator[None]:
        """Count one more of a person; raise ProblemDetails (429) where they may have no more."""
        self._forget_idle()
        mine = sum(one.person == person for one in self.open.values()) + self._opening[person]
        if mine >= EACH:
            raise ProblemDetails(
                429,
                f"you have {mine} agent sessions open; no more are opened",
                title="Too many sessions",
                remedy="end some agents, or try again in ten minutes: idle sessions end then",
                headers={"Retry-After": "60"},
            )
        self._opening[person] += 1
        try:
            yield
        finally:
            self._opening[person] -= 1
            self._opening += Counter()

    def opened(self, session: str, person: int, digest: str) -> None:
        """Note a session that the library has opened."""
        self.open[session] = Session(person, digest, self.clock())

    @contextmanager
    def used(self, session: str | None) -> Iterator[None]:
        """Note that a request of a session is under way."""
        found = self.open.get(session) if session is not None else None
        if found is None:
            yield
            return
        found.busy += 1
        try:
            yield
        finally:
            found.busy -= 1
            found.used_at = self.clock()

    def ended(self, session: str) -> None:
        """Forget a session that was ended."""
        self.open.pop(session, None)

    def _forget_idle(self) -> None:
        before = self.clock() - IDLE
        self.open = {
            name: one for name, one in self.open.items() if one.busy or one.used_at > before
        }
