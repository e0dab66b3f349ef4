"""What every request to the board shares: who asks, what they may do, background tasks.

Knows no SQL: what is in the ledger is asked for with the functions of `tasks.ledger`, by way of
`Board.read` and `Board.write`.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import secrets
import subprocess
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import IO, Annotated, Any, ParamSpec, TypeVar
from urllib.parse import urlsplit

from fastapi import Depends, Request

from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.sheet_reading import SheetReader
from callsheet.tasks.engine.context import open_service
from callsheet.tasks.ledger.campaigns import Campaign, find_campaign
from callsheet.tasks.ledger.ledger import Change, Ledger, Query, bound
from callsheet.tasks.ledger.people import Person, Right, Role, checked_first
from callsheet.tasks.ledger.reviews import Review
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.service import VideoService

T = TypeVar("T")
P = ParamSpec("P")


#: The header of `/live` that says of which ledger the board is.
LEDGER_MARK = "callsheet-ledger"


@dataclass(frozen=True, kw_only=True)
class Board:
    """The board that is open: its ledger and settings, and the world as arguments."""

    settings: Settings
    ledger: Ledger
    #: As a browser reaches it, without a slash at the end: `http://127.0.0.1:8788`.
    origin: str
    #: Whether someone said what the origin is (`--url`), and it is no guess by the socket.
    is_named: bool = False
    #: Whether the service is a sandbox, and whether the board brought it along.
    sandbox: bool = False
    brings_sandbox: bool = False
    #: Whether a proxy in front of it says who calls and how (`--behind-proxy`).
    behind_proxy: bool = False
    #: The profile that its settings are from: a flow run of Prefect's reads it, too.
    profile: str | None = None
    #: Set when something is to be done in the background: a plan to be quoted, a run to be started.
    attention: asyncio.Event = field(default_factory=asyncio.Event)
    #: Numbers of the campaigns whose rows under way someone asked to resume, until that has ended.
    resuming: set[int] = field(default_factory=set)
    #: Starts the process of a run, which reads settings and writes into a file; None: a Python.
    begin: Callable[[str, IO[bytes]], subprocess.Popen[bytes]] | None = None
    clock: Callable[[], float] = time.time
    #: Makes what no one can guess: ids, tokens, nonces.
    token: Callable[[], str] = lambda: secrets.token_urlsafe(24)
    #: Held while a sheet is stored, so that its size counts before the next one is looked at.
    uploads: asyncio.Lock = field(default_factory=asyncio.Lock)
    #: Reads uploaded sheets within limits of time, memory and sheets at once.
    reader: SheetReader = field(default_factory=SheetReader)
    #: Of the request that it was given to: who has to be allowed each change; None: Callsheet.
    permission: Permission | None = None

    @property
    def is_here_only(self) -> bool:
        """Whether its addresses open in a browser of this machine, and in no other."""
        return is_loopback(urlsplit(self.origin).hostname or "")

    @property
    def folder(self) -> Path:
        """Where it keeps what is no business of the ledger's: uploaded sheets, logs of runs."""
        return self.settings.home / "board"

    async def read(self, query: Query[P, T], /, *args: P.args, **named: P.kwargs) -> T:
        """Ask the ledger."""
        return await self.ledger.read(query, *args, **named)

    async def write(self, change: Query[P, T], /, *args: P.args, **named: P.kwargs) -> T:
        """Change the ledger, and return once that is committed.

        For a request, the person is checked in the same transaction (ProblemDetails 401, 403).
        """
        whole = bound(change, *args, **named)
        if self.permission is not None:
            whole = self.permission.guarding(whole)
        return await self.ledger.write(whole)

    @asynccontextmanager
    async def service(self) -> AsyncIterator[VideoService]:
        """Open the video service; raise ConfigurationError where its settings are missing."""
        async with await open_service(self.settings, self.ledger, self.clock) as service:
            yield service


async def board_of(request: Request) -> Board:
    """Return the board as a request has it: its address, and whose changes it makes."""
    board: Board = request.app.state.board
    origin: str = request.state.visit.origin
    return replace(board, origin=origin, permission=getattr(request.state, "permission", None))


TheBoard = Annotated[Board, Depends(board_of)]


# Who a request is from, read again inside the transaction of every change that it makes.
#
# A person may be revoked, or a link may end, while the body of a request is still on its way. So
# what was read with the head of the request lets the request in, and never decides what is written.


@dataclass(frozen=True)
class Permission:
    """How to find the person of one request, and what the route asks of them.

    `find` locks what it reads until the transaction ends.
    """

    find: Change[Person | None]
    #: Each raises ProblemDetails for a person who may not do this; routes add theirs.
    checks: list[Callable[[Person], None]] = field(default_factory=list)

    def check(self, person: Person | None) -> None:
        """Raise ProblemDetails (401, 403) for a person who may not do this."""
        if person is None:
            raise nobody()
        for check in self.checks:
            check(person)

    def guarding(self, change: Change[T]) -> Change[T]:
        """Return a change that checks the person first, in its own transaction."""
        return checked_first(change, find=self.find, check=self.check)


# Who is asking, and what they may do: a route names the least role that it takes.
#
# A person comes with a bearer token (programs) or a session's cookie (browsers). Someone from
# outside came by a link (`person.guest`): no role lets them in, only a route that names a right and
# has the campaign in its path as `{campaign}`.


def at_least(role: Role) -> Callable[[Request], Awaitable[Person]]:
    """Return the dependency of a route that takes someone of this role or a higher one."""

    async def person(request: Request) -> Person:
        return _checked(request, partial(has_role, role=role))

    return person


def with_right(right: Right, role: Role) -> Callable[[Request], Awaitable[Person]]:
    """Return the dependency of a route that takes a role, or a link with a right to its campaign.

    The route's path has to have `{campaign}`: a link to one campaign opens no other.
    """

    async def person(request: Request) -> Person:
        campaign = request.path_params.get("campaign")
        return _checked(request, partial(_has_right, right=right, role=role, campaign=campaign))

    return person


def current_person(request: Request) -> Person:
    """Return who is asking; raise ProblemDetails 401 where no one is logged in."""
    found: Person | None = getattr(request.state, "person", None)
    if found is None:
        raise nobody()
    return found


def nobody() -> ProblemDetails:
    """Return the refusal of anyone who is not logged in."""
    return ProblemDetails(
        401,
        "you are not logged in",
        remedy="`callsheet board` prints an address to log in by; a program sends a bearer token, "
        "which `callsheet allow agent:NAME --token` prints for an agent",
        headers={"WWW-Authenticate": "Bearer"},
    )


def _checked(request: Request, check: Callable[[Person], None]) -> Person:
    """Return who is asking; what they need is asked again of every change that they make."""
    found = current_person(request)
    check(found)
    request.state.permission.checks.append(check)
    return found


def has_role(person: Person, role: Role) -> None:
    """Raise ProblemDetails (403) for a guest, and for a person below a role."""
    if person.guest is not None:
        raise ProblemDetails(403, "your link opens the videos of one campaign, and nothing else")
    if not person.may(role):
        raise ProblemDetails(403, f"this takes a person of the role {role}, you are {person.role}")


def _has_right(person: Person, right: Right, role: Role, campaign: str | None) -> None:
    if person.guest is None:
        has_role(person, role)
    elif campaign != person.guest.campaign:
        raise ProblemDetails(403, "your link opens the videos of one campaign, and nothing else")
    elif right not in person.guest.rights:
        raise ProblemDetails(403, f"your link does not let you {right}")


Viewer = Annotated[Person, Depends(at_least("viewer"))]
Reviewer = Annotated[Person, Depends(at_least("reviewer"))]
Approver = Annotated[Person, Depends(at_least("approver"))]
Admin = Annotated[Person, Depends(at_least("admin"))]
#: Of routes below `{campaign}` that a link may open, too: videos, posters, captions, verdicts.
Sees = Annotated[Person, Depends(with_right("see", "viewer"))]
Decides = Annotated[Person, Depends(with_right("decide", "reviewer"))]
Downloads = Annotated[Person, Depends(with_right("download", "viewer"))]


# What a guest, who came by a link, is shown of what people inside have said of videos.
#
# A guest sees verdicts, and their own words. The names, reasons and notes of others stay inside.


#: In the place of a name.
OTHER = "another reviewer"


def shown_to(person: Person, review: Review | None) -> Review | None:
    """Return a review as this person is shown it."""
    if review is None or person.guest is None or review.by == person.name:
        return review
    return replace(review, by=OTHER, reason=None, note=None)


# The campaign that an address names: a dependency of the routes below it.


async def known_campaign(board: Board, name: str) -> Campaign:
    """Return the campaign of this name; raise ProblemDetails 404 where there is none."""
    found = await board.read(find_campaign, name=name)
    if found is None:
        raise ProblemDetails(404, f"the ledger knows no campaign {name[:80]}")
    return found


async def _of_address(board: TheBoard, campaign: str) -> Campaign:
    return await known_campaign(board, campaign)


#: To stand behind the person, so that no one learns of a campaign who may not see it.
TheCampaign = Annotated[Campaign, Depends(_of_address)]


# Names of machines in addresses: which are numbers, and which lead to this machine alone.


#: What a person is told who makes an address that no one else can open.
HERE_ONLY = "This address opens on this machine only."
HERE_ONLY_REMEDY = (
    "For other people, put a proxy with https in front of the board and start it with "
    "--behind-proxy --url https://board.example."
)


def is_loopback(host: str) -> bool:
    """Whether an address to listen on is of this machine alone."""
    if host.lower() == "localhost":
        return True
    return is_number(host) and ipaddress.ip_address(host.strip("[]")).is_loopback


def is_number(name: str) -> bool:
    """Whether a host is an address as numbers, which is no one's name."""
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


# Background work next to requests; it has to end before the ledger is closed.


log = logging.getLogger("callsheet.board")


class Beside:
    """Tasks that no one waits for; one that fails says so in the log."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Begin some work."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    async def aclose(self) -> None:
        """Cancel what still goes on, and wait for its end."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("work beside the board failed", exc_info=error)
