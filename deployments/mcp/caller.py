"""Who calls a tool, and what they may do; refusals in words that a model can act on.

Knows the board's services, and no tool.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial, wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from callsheet.deployments.board.board import Board, Permission, has_role
from callsheet.deployments.board.logins import admin_token
from callsheet.deployments.board.places import folders_of, without_folders
from callsheet.deployments.board.problem_details import ProblemDetails, listed
from callsheet.deployments.board.services.videos import Videos
from callsheet.tasks.ledger.people import Person, Role, find_person
from callsheet.tasks.runtime.errors import BadInput, CallsheetError, NoSuch, SheetError
from callsheet.tasks.runtime.redact import redact, redacted
from callsheet.tasks.runtime.suggest import suggest
from callsheet.tasks.values.amounts import as_number

#: No tool takes longer, in seconds: clients give up, and a model would call again.
LONGEST = 18.0

P = ParamSpec("P")
T = TypeVar("T", bound=BaseModel)


@dataclass(frozen=True, kw_only=True)
class Desk:
    """What every tool works with.

    `agent` is the one program that calls over stdio, whose sheets are below `folder`; over HTTP
    both are None, and each request says by its token who calls. `asks`: whether a person may
    approve by an answer in the client.
    """

    board: Board
    videos: Videos
    agent: str | None = None
    folder: Path | None = None
    asks: bool = True
    #: Whether a board of this ledger answers at the board's origin; None: this is that board.
    board_answers: Callable[[], Awaitable[bool]] | None = None


@dataclass(frozen=True, kw_only=True)
class Caller:
    """Who calls: their changes are made by `board`, which checks them again in each transaction."""

    desk: Desk
    board: Board
    person: Person

    async def approver(self) -> Person | None:
        """Return the person whose word an answer in the client is; None where it is nobody's.

        Over stdio that is who started the server, the board's first admin. A token of an agent
        says nothing about who answers.
        """
        if not self.desk.asks:
            return None
        if self.desk.agent is not None:
            found = await admin_token(self.desk.board)
            return found[0] if found else None
        return self.person if self.person.may("approver") else None


async def caller_of(ctx: Context[Any, Any], role: Role) -> Caller:
    """Return who calls; raise ProblemDetails (401, 403) unless they have this role or a higher."""
    desk: Desk = ctx.request_context.lifespan_context
    board, person = desk.board, None
    if desk.agent is not None:
        await board.refresh()
        find = partial(find_person, name=desk.agent)
        person = await board.read(find)
        if person is None:
            raise ProblemDetails(
                403,
                f"{desk.agent} was revoked; nothing was charged",
                remedy="a person can let it in again: "
                f"`{suggest('allow', desk.agent, '--credits', 'N')}`",
            )
        permission = Permission(partial(find, locked=True))
    else:
        request: Request | None = ctx.request_context.request
        assert request is not None, "over HTTP every call is a request"
        state = request.state
        person, permission = state.person, Permission(state.permission.find)
        board = replace(board, origin=state.visit.origin)
    permission.checks.append(partial(has_role, role=role))
    permission.check(person)
    assert person is not None
    return Caller(
        desk=desk, board=replace(board, person=person, permission=permission), person=person
    )


def answering(
    tool: Callable[P, Awaitable[T | CallToolResult]],
) -> Callable[P, Awaitable[T | CallToolResult]]:
    """Return a tool whose refusals say what was charged and what to do, and which ends in time.

    No answer has a secret in it, whatever the ledger or the service said.
    """

    @wraps(tool)
    async def answered(*args: P.args, **named: P.kwargs) -> T | CallToolResult:
        folders = folders_in((*args, *named.values()))
        try:
            async with asyncio.timeout(LONGEST):
                found = await tool(*args, **named)
        except (CallsheetError, ProblemDetails) as error:
            return refusal(error, folders=folders)
        except ValidationError as error:
            return refusal(not_understood("the call", error), folders=folders)
        except TimeoutError:
            late = ProblemDetails(
                503, "this takes longer than a tool may take",
                remedy="call `status` to see what happened, then the same tool again: the same "
                "plan is never charged twice",
            )  # fmt: skip
            return refusal(late, charged=None)
        if isinstance(found, CallToolResult):
            return found
        shown = without_folders(redacted(found.model_dump()), folders)
        return type(found).model_validate(shown)

    return answered


def reading(document: Callable[P, Awaitable[str]]) -> Callable[P, Awaitable[str]]:
    """Return a resource that says in words why it cannot be read: what it names is not there."""

    @wraps(document)
    async def read(*args: P.args, **named: P.kwargs) -> str:
        folders = folders_in((*args, *named.values()))
        try:
            return str(without_folders(await document(*args, **named), folders))
        except ProblemDetails as error:
            words = f"{error.detail} ({error.remedy})" if error.remedy else error.detail
            kind = ResourceNotFoundError if error.status == 404 else ResourceError
            raise kind(redact(words)) from error
        except CallsheetError as error:
            absent = isinstance(error, NoSuch)
            raise (ResourceNotFoundError if absent else ResourceError)(
                redact(str(error))
            ) from error

    return read


def no_such_call(tool: str, error: Exception) -> ProblemDetails:
    """Return what is wrong with a call that reached no tool."""
    if not isinstance(error.__cause__, ValidationError):
        return ProblemDetails(
            404, f"{str(error)[:200]}; nothing was charged", remedy="list the tools, and call one"
        )
    return not_understood(f"{tool} was not called", error.__cause__)


def not_understood(words: str, error: ValidationError) -> ProblemDetails:
    """Return what is wrong with the arguments of a call."""
    # Of the kinds that an argument may have, the last says enough.
    wrong = {
        ".".join(str(part) for part in one["loc"] if part not in _KINDS): one["msg"]
        for one in error.errors()
    }
    named = "; ".join(f"{place}: {why}" for place, why in wrong.items())
    return ProblemDetails(
        422, f"{words}: {named[:1000]}; nothing was charged",
        remedy="change the arguments that are named, then call it again",
    )  # fmt: skip


#: The kinds of a number, which are no part of its name.
_KINDS = ("int", "float")
#: What to do where an error does not say it, by its status (of a sheet that has problems: 422).
_REMEDIES = {
    404: "call `list_campaigns` for the campaigns, `rows` for rows, or make a new plan",
    422: "change the argument that is named, then call the tool again",
}


def folders_in(args: tuple[Any, ...]) -> tuple[str, ...]:
    """Return the folders of the machine that no answer to a call names."""
    ctx: Context[Any, Any] | None = next((one for one in args if isinstance(one, Context)), None)
    return () if ctx is None else folders_of(ctx.request_context.lifespan_context.board.settings)


def refusal(
    error: CallsheetError | ProblemDetails,
    *,
    charged: float | None = 0,
    folders: tuple[str, ...] = (),
) -> CallToolResult:
    """Return an error as a tool's answer: what was charged (None: not known), and what to do."""
    status = error.status if isinstance(error, ProblemDetails) else 0
    if isinstance(error, NoSuch):
        # What it says to type is for people at a terminal.
        status, error.remedy = 404, None
    elif isinstance(error, BadInput):
        status = 422
    if isinstance(error, ProblemDetails):
        document = {"refusal": error.detail, "problems": error.problems, **error.extra}
    else:
        charged = as_number(error.spent)
        problems = error.problems if isinstance(error, SheetError) else ()
        listing = listed(problems, lambda one: redact(str(one)), str)
        document = {"refusal": str(error), "problems": listing}
    remedy = error.remedy or _REMEDIES.get(status, "call `status` to see what to do")
    document |= {"charged": charged, "remedy": remedy}
    document = without_folders(redacted(document), folders)
    text = TextContent(type="text", text=json.dumps(document, ensure_ascii=False))
    return CallToolResult(content=[text], structured_content=document, is_error=True)
