"""Who is asking, and what they may do: a route names the least role that it takes.

A person comes with a bearer token (programs) or a session's cookie (browsers). Somebody from
outside came by a link (`person.guest`): no role lets them in, only a route that names a right and
has the campaign in its path as `{campaign}`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated

from fastapi import Depends, Request

from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.tasks.ledger.people import ROLES as ROLES
from callsheet.tasks.ledger.people import Person as Person
from callsheet.tasks.ledger.people import Right
from callsheet.tasks.ledger.people import Role as Role


def at_least(role: Role) -> Callable[[Request], Awaitable[Person]]:
    """Return the dependency of a route that takes somebody of this role or a higher one."""

    async def person(request: Request) -> Person:
        return _checked(request, partial(_has_role, role=role))

    return person


def with_right(right: Right, role: Role) -> Callable[[Request], Awaitable[Person]]:
    """Return the dependency of a route that takes a role, or a link with a right to its campaign.

    The route's path has to have `{campaign}`: a link to one campaign opens no other.
    """

    async def person(request: Request) -> Person:
        campaign = request.path_params.get("campaign")
        return _checked(request, partial(_has_right, right=right, role=role, campaign=campaign))

    return person


def somebody(request: Request) -> Person:
    """Return who is asking; raise ProblemDetails 401 where nobody is logged in."""
    found: Person | None = getattr(request.state, "person", None)
    if found is None:
        raise nobody()
    return found


def nobody() -> ProblemDetails:
    """Return the refusal of whoever is not logged in."""
    return ProblemDetails(
        401,
        "you are not logged in",
        remedy="`callsheet board` prints an address to log in by",
        headers={"WWW-Authenticate": "Bearer"},
    )


def _checked(request: Request, check: Callable[[Person], None]) -> Person:
    """Return who is asking; what they need is asked again of every change that they make."""
    found = somebody(request)
    check(found)
    request.state.permission.checks.append(check)
    return found


def _has_role(person: Person, role: Role) -> None:
    if person.guest is not None:
        raise ProblemDetails(403, "your link opens the videos of one campaign, and nothing else")
    if not person.may(role):
        raise ProblemDetails(403, f"this takes a person of the role {role}, you are {person.role}")


def _has_right(person: Person, right: Right, role: Role, campaign: str | None) -> None:
    if person.guest is None:
        _has_role(person, role)
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
