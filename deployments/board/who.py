"""Who is asking, and what they may do: a route names the least role that it takes.

A person comes with a bearer token (programs) or a session's cookie (browsers).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Literal, get_args

from fastapi import Depends, Request

from deployments.board.problem_details import ProblemDetails

Role = Literal["viewer", "reviewer", "approver", "admin"]
#: Each may do what those before it may.
ROLES: tuple[Role, ...] = get_args(Role)


@dataclass(frozen=True, kw_only=True)
class Person:
    """Somebody who may use the board; `allowance` in credits a day, None for no limit."""

    id: int
    name: str
    role: Role
    allowance: Decimal | None = None

    def may(self, role: Role) -> bool:
        """Whether the person may do what somebody of this role may."""
        return ROLES.index(self.role) >= ROLES.index(role)


def at_least(role: Role) -> Callable[[Request], Awaitable[Person]]:
    """Return the dependency of a route that takes somebody of this role or a higher one."""

    async def person(request: Request) -> Person:
        found: Person | None = getattr(request.state, "person", None)
        if found is None:
            raise ProblemDetails(
                401, "nobody is logged in", remedy="`callsheet board` prints an address"
            )
        if not found.may(role):
            raise ProblemDetails(
                403, f"this takes a person of the role {role}, you are {found.role}"
            )
        return found

    return person


Viewer = Annotated[Person, Depends(at_least("viewer"))]
Reviewer = Annotated[Person, Depends(at_least("reviewer"))]
Approver = Annotated[Person, Depends(at_least("approver"))]
Admin = Annotated[Person, Depends(at_least("admin"))]
