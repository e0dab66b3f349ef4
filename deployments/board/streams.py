"""How many event streams are open at once: for each person, in all, and with a reserve for admins.

A stream keeps a connection for minutes, and the server has few hundred connections. So a person who
opens a stream again and again keeps neither other people out nor the admins who could revoke them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, Request

from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.who import Person, Viewer

#: Streams of one person: a tab has one. In all, and how many more there may be with an admin's.
#: `serve.MOST_CONNECTIONS` leaves as many again for everything else.
EACH, MOST, RESERVE = 24, 192, 64


@dataclass
class Streams:
    """The streams that are open now."""

    #: Of each person, by their id.
    open: Counter[int] = field(default_factory=Counter)

    def begin(self, person: Person) -> None:
        """Count one more stream; raise ProblemDetails (429) where the person may have no more."""
        most = MOST + RESERVE if person.may("admin") else MOST
        mine = self.open[person.id]
        if mine >= EACH or self.open.total() >= most:
            whose = f"you have {mine} event streams open" if mine >= EACH else "the board is busy"
            raise ProblemDetails(
                429,
                f"{whose}; no more are opened",
                title="Too many event streams",
                remedy="close some tabs or programs and try again in a minute",
                headers={"Retry-After": "60"},
            )
        self.open[person.id] += 1

    def end(self, person: Person) -> None:
        """Count one stream less."""
        self.open[person.id] -= 1
        # A person without streams takes no memory.
        self.open += Counter()


async def _stream(request: Request, person: Viewer) -> AsyncIterator[None]:
    streams: Streams = request.app.state.streams
    streams.begin(person)
    try:
        yield
    finally:
        streams.end(person)


#: Of a route that answers with a stream; held until the answer ends.
OneStream = Annotated[None, Depends(_stream)]
