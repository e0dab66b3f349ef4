"""Who may come in: invite, revoke, and the ways in that an invitation has."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from decimal import Decimal
from functools import partial

from callsheet.deployments.board.board import Board
from callsheet.deployments.board.tokens import digest_of, make_token
from callsheet.tasks.errors import BadInput
from callsheet.tasks.ledger.people import (
    ROLES,
    Person,
    Role,
    invite_person,
    make_login,
    revoke_person,
)

#: How long a one-time login of an invitation waits, in seconds: somebody may be on leave.
INVITATION = 7 * 86400.0
LONGEST_NAME = 80


@dataclass(frozen=True, kw_only=True)
class Invitation:
    """What an invited person is given, once: an address for a browser, a token for programs."""

    person: Person
    login: str
    token: str


async def invite(
    board: Board,
    by: str,
    *,
    name: str,
    role: str,
    allowance: Decimal | None = None,
    again: bool = False,
) -> Invitation:
    """Let somebody in; `again` renews who already exists. Raises BadInput."""
    name, kind = checked_name(name), _role(role)
    if allowance is not None and allowance < 0:
        raise BadInput("an allowance is credits a day, 0 or more")
    token, code = make_token(board.token), make_token(board.token)
    now = board.clock()
    add = partial(
        invite_person,
        name=name,
        role=kind,
        token=digest_of(token),
        login=digest_of(code),
        login_until=now + INVITATION,
        by=by,
        at=now,
        allowance=allowance,
        again=again,
    )
    person = await board.write(add)
    return Invitation(person=person, login=login_address(board, code), token=token)


async def revoke(board: Board, by: str, name: str) -> bool:
    """Let somebody in no more; False where they were out already."""
    gone = partial(revoke_person, name=name, by=by, at=board.clock())
    return await board.write(gone)


async def new_login(board: Board, person: Person, *, lasts: float) -> str:
    """Return a one-time address at which a person logs a browser in, for so many seconds."""
    code = make_token(board.token)
    until = board.clock() + lasts
    keep = partial(make_login, digest=digest_of(code), person=person.id, expires_at=until)
    await board.write(keep)
    return login_address(board, code)


def login_address(board: Board, code: str) -> str:
    """Return where a one-time login leads in."""
    return f"{board.origin}/login?code={code}"


def checked_name(name: str) -> str:
    """Return a person's name without what cannot be seen; raise BadInput where none is left."""
    seen = " ".join("".join(c for c in name if unicodedata.category(c)[0] != "C").split())
    if not seen or len(seen) > LONGEST_NAME:
        raise BadInput(f"a name has 1 to {LONGEST_NAME} characters")
    if "(link" in seen:
        raise BadInput('a name without "(link": those are of people who came by one')
    return seen


def _role(role: str) -> Role:
    found = next((one for one in ROLES if one == role), None)
    if found is None:
        raise BadInput(f'there is no role "{role}": it is one of {", ".join(ROLES)}')
    return found
