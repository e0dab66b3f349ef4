"""Limits of the board: body sizes, login attempts, event streams.

The size of a body is counted while it is read, whatever its headers say.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any

from fastapi import Depends, Request
from starlette.types import Message, Receive

from callsheet.deployments.board.board import Downloads, Viewer
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.visit import Visit
from callsheet.tasks.ledger.people import Person

#: Bytes of a form or a document; a sheet is as large as its reader allows, and some more around it.
LARGEST = 1024 * 1024
LARGEST_SHEET = 24 * 1024 * 1024
#: Seconds for all of it.
TIMEOUT, SHEET_TIMEOUT = 20.0, 120.0
#: Where sheets are uploaded.
SHEETS = ("/api/v1/sheets", "/new")


_LAST = {"Connection": "close"}


class BoundedBody:
    """The body of one request; `refusal` once it is too large or too slow."""

    def __init__(self, visit: Visit, receive: Receive) -> None:
        sheet = visit.path in SHEETS
        self._most = LARGEST_SHEET if sheet else LARGEST
        self._until = asyncio.get_running_loop().time() + (SHEET_TIMEOUT if sheet else TIMEOUT)
        self._receive = receive
        self._came = 0
        self._is_whole = False
        self.refusal: ProblemDetails | None = None
        said = visit.headers.get("content-length", "0")
        if not (said.isascii() and said.isdecimal() and len(said) < 19 and int(said) <= self._most):
            self.refusal = self._too_large()

    async def receive(self) -> Message:
        """Receive the next piece; raise ProblemDetails 413 or 408 when it may not come any more."""
        if self._is_whole:
            # The caller now waits for the other end to leave.
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._until):
                message = await self._receive()
        except TimeoutError:
            self.refusal = ProblemDetails(408, "the request took too long to arrive", headers=_LAST)
            raise self.refusal from None
        self._came += len(message.get("body", b""))
        self._is_whole = not message.get("more_body", False)
        if self._came > self._most:
            self.refusal = self._too_large()
            raise self.refusal
        return message

    def _too_large(self) -> ProblemDetails:
        size = f"{self._most // (1024 * 1024)} MiB"
        words = f"more than {size} came, which is more than this takes"
        return ProblemDetails(413, words, headers=_LAST)


# How often someone may be wrong: tries to get in, by the address they come from.


#: So many wrong tries an address has in so many seconds: at the page, where people type; and with
#: bearer tokens, which no one can guess and a program with an old one sends again and again.
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


# How many event streams are open at once: for each person, in all, and with a reserve for admins.
#
# A stream keeps a connection for minutes, and the server has few hundred connections. So a person
# who opens a stream again and again keeps neither other people out nor the admins who could revoke
# them.


#: Streams of one person: a tab has one. In all, and how many more there may be with an admin's.
#: `app.MOST_CONNECTIONS` leaves as many again for everything else.
EACH, MOST, RESERVE = 24, 192, 64


@dataclass
class Streams:
    """The streams that are open now, of one kind."""

    what: str = "event streams"
    #: Of each person, by their id.
    open: Counter[int] = field(default_factory=Counter)

    def begin(self, person: Person) -> None:
        """Count one more stream; raise ProblemDetails (429) where the person may have no more."""
        most = MOST + RESERVE if person.may("admin") else MOST
        mine = self.open[person.id]
        if mine >= EACH or self.open.total() >= most:
            whose = f"you have {mine} {self.what} open" if mine >= EACH else "the board is busy"
            raise ProblemDetails(
                429,
                f"{whose}; no more are opened",
                title=f"Too many {self.what}",
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
    with held(request.app.state.streams, person):
        yield


async def _download(request: Request, person: Downloads) -> AsyncIterator[None]:
    with held(request.app.state.downloads, person):
        yield


@contextmanager
def held(streams: Streams, person: Person) -> Iterator[None]:
    """Count a stream until it ends; raise ProblemDetails (429) where the person has too many."""
    streams.begin(person)
    try:
        yield
    finally:
        streams.end(person)


#: Of a route that answers with a stream; held until the answer ends.
OneStream = Annotated[None, Depends(_stream)]
OneDownload = Annotated[None, Depends(_download)]
