"""What every request to the board shares: who asks, what they may do, background tasks.

Knows no SQL: what is in the ledger is asked for with the functions of `tasks.ledger`, by way of
`Board.read` and `Board.write`.
"""

from __future__ import annotations

import asyncio
import logging
import subprocess
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field, replace
from functools import partial
from typing import IO, Annotated, Any, ParamSpec, TypeVar

from fastapi import Depends, Request

from callsheet.deployments.at import At
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.sheet_reading import SheetReader
from callsheet.tasks.ledger.board_settings import in_force
from callsheet.tasks.ledger.campaigns import Campaign
from callsheet.tasks.ledger.ledger import Change, Query, bound
from callsheet.tasks.ledger.people import Person, Right, Role, checked_first
from callsheet.tasks.runtime.errors import CallsheetError, ConfigurationError

T = TypeVar("T")
P = ParamSpec("P")


log = logging.getLogger("callsheet.board")

#: The header of `/live` that says of which ledger the board is.
LEDGER_MARK = "callsheet-ledger"


class Beside:
    """Work next to requests that no one waits for; what fails says so in the log."""

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
        if task.cancelled() or (error := task.exception()) is None:
            return
        if isinstance(error, CallsheetError):
            # A run that is stopped, or a service that is away: the next run obeys what is asked.
            log.warning("not everything that was asked for is done yet: %s", error)
        else:
            log.error("work beside the board failed", exc_info=error)


@dataclass(frozen=True, kw_only=True)
class Board(At):
    """The board that is open; `person` and `permission` are those of one request to it."""

    #: Whether someone said what the origin is (`--url`), and it is no guess by the socket.
    is_named: bool = False
    #: Whether the board brought its sandbox along.
    brings_sandbox: bool = False
    #: Whether a proxy in front of it says who calls and how (`--behind-proxy`).
    behind_proxy: bool = False
    #: The profile that its settings are from: a flow run of Prefect's reads it, too.
    profile: str | None = None
    #: Set when something is to be done in the background: a plan to be quoted, a run to be started.
    attention: asyncio.Event = field(default_factory=asyncio.Event)
    #: What someone asked for besides runs of plans, until its process has ended: ids of
    #: `run_process`, which are those of campaigns to resume and of inboxes to scan.
    asked: set[str] = field(default_factory=set)
    #: Starts the process of a run, which reads settings and writes into a file; None: a Python.
    begin: Callable[[str, IO[bytes]], subprocess.Popen[bytes]] | None = None
    #: Held while a sheet is stored, so that its size counts before the next one is looked at.
    uploads: asyncio.Lock = field(default_factory=asyncio.Lock)
    #: Reads uploaded sheets within limits of time, memory and sheets at once.
    reader: SheetReader = field(default_factory=SheetReader)
    #: What goes on next to requests; it ends before the ledger is closed.
    beside: Beside = field(default_factory=Beside)
    #: Who has to be allowed each change; None: Callsheet itself makes it.
    permission: Permission | None = None

    async def refresh(self) -> None:
        """Obey what was set on any board of the ledger; requests under way keep what they have."""
        try:
            now = await self.read(in_force, settings=self.settings, again=True)
        except ConfigurationError as error:
            # Of another version: an admin can still correct it on this board.
            log.warning("%s", error)
            return
        # Guard, monitor and pages share this one board.
        object.__setattr__(self, "settings", now)

    async def write(self, change: Query[P, T], /, *args: P.args, **named: P.kwargs) -> T:
        """Change the ledger, and return once that is committed.

        For a request, the person is checked in the same transaction (ProblemDetails 401, 403).
        """
        whole = bound(change, *args, **named)
        if self.permission is not None:
            whole = self.permission.guarding(whole)
        return await self.ledger.write(whole)

    async def finish(self, work: Coroutine[Any, Any, object]) -> None:
        """Do what a command leaves to be waited for next to the requests."""
        self.beside.start(work)


async def board_of(request: Request) -> Board:
    """Return the board as a request has it: its address, and whose changes it makes."""
    board: Board = request.app.state.board
    origin: str = request.state.visit.origin
    state = request.state
    return replace(
        board,
        origin=origin,
        person=getattr(state, "person", None),
        permission=getattr(state, "permission", None),
    )


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


# The campaign that an address names: a dependency of the routes below it.


async def _of_address(board: TheBoard, campaign: str) -> Campaign:
    return await board.campaign(campaign)


#: To stand behind the person, so that no one learns of a campaign who may not see it.
TheCampaign = Annotated[Campaign, Depends(_of_address)]
