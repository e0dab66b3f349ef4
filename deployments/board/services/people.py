"""People: invitations, logins, guest links, and the first admin."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import get_args

from callsheet.deployments.board.board import Board
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.visit import could_be, digest_of, make_token
from callsheet.tasks.ledger.people import (
    AGENT,
    RIGHTS,
    InvitedRole,
    Person,
    all_people,
    allow_agent,
    invite_person,
    make_login,
    person_of_token,
    renew_token,
    revoke_person,
    whose_login,
)
from callsheet.tasks.ledger.sessions import (
    Link,
    close_session,
    enter,
    link_of,
    make_link,
    revoke_link,
)
from callsheet.tasks.runtime.errors import BadInput, ConfigurationError

#: How long a one-time login of an invitation waits, in seconds: someone may be on leave.
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
    """Let a person in; `again` renews who already exists. Raises BadInput."""
    name, kind = checked_name(name), _role(role)
    if allowance is not None and allowance < 0:
        raise BadInput("an allowance is credits a day, 0 or more")
    token, code = make_token(board.token), make_token(board.token)
    now = board.clock()
    person = await board.write(
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
    return Invitation(person=person, login=login_address(board, code), token=token)


async def revoke(board: Board, by: str, name: str) -> bool:
    """Revoke a person; False where they were out already."""
    return await board.write(revoke_person, name=name, by=by, at=board.clock())


async def new_login(board: Board, person: Person, *, lasts: float) -> str:
    """Return a one-time address at which a person logs a browser in, for so many seconds."""
    code = make_token(board.token)
    until = board.clock() + lasts
    await board.write(make_login, digest=digest_of(code), person=person.id, expires_at=until)
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
    if seen.startswith(AGENT):
        raise BadInput(
            f'a name that begins with "{AGENT}" is a program\'s',
            remedy="`callsheet allow agent:NAME --credits N` lets a program in",
        )
    return seen


def _role(role: str) -> InvitedRole:
    roles: tuple[InvitedRole, ...] = get_args(InvitedRole)
    found = next((one for one in roles if one == role), None)
    if found is None:
        raise BadInput(f'there is no role "{role}": it is one of {", ".join(roles)}')
    return found


# Agents: programs that plan as a reviewer does, and approve within an allowance.


async def allow(
    board: Board,
    by: str,
    name: str,
    *,
    allowance: Decimal | None = None,
    renew: bool = False,
) -> tuple[Person, str | None]:
    """Let an agent approve so many credits a day; None leaves its allowance, a new one has 0.

    Returns the agent and, with `renew`, its new token. Raises BadInput for a name that is not
    `agent:NAME`, and for an agent that was revoked unless it gets an allowance.
    """
    token = make_token(board.token) if renew else None
    digest = None if token is None else digest_of(token)
    change = partial(allow_agent, name=agent_name(name), allowance=allowance, token=digest)
    return await board.write(change, by=by, at=board.clock()), token


def agent_name(name: str) -> str:
    """Return the name of an agent; raise BadInput where it is none."""
    if re.fullmatch(AGENT + r"[A-Za-z0-9_.-]{1,70}", name) is None:
        raise BadInput(
            f'"{name[:LONGEST_NAME]}" is not the name of an agent',
            remedy="write it like agent:claude, with letters, digits, dots and dashes",
        )
    return name


# Guest links: no account, the videos of one campaign, some rights, an end.


#: How long a link lasts at most, in seconds.
LONGEST = 90 * 86400.0


@dataclass(frozen=True, kw_only=True)
class MadeLink:
    """A link, and its address, which is shown this once."""

    link: Link
    address: str


async def make(
    board: Board, by: str, *, campaign: str, name: str, rights: Collection[str], lasts: float
) -> MadeLink:
    """Make a link for someone who is called `name`, for so many seconds. Raises BadInput."""
    unknown = set(rights) - set(RIGHTS)
    if unknown:
        words = ", ".join(sorted(unknown))
        raise BadInput(f"there is no right {words}: they are {', '.join(RIGHTS)}")
    if not 0 < lasts <= LONGEST:
        raise BadInput(f"a link lasts up to {LONGEST / 86400:.0f} days")
    code, now = make_token(board.token), board.clock()
    link = await board.write(
        make_link,
        digest=digest_of(code),
        campaign=campaign,
        name=checked_name(name),
        # Anyone who may decide or download has to see.
        rights={"see", *rights},
        by=by,
        at=now,
        expires_at=now + lasts,
    )
    return MadeLink(link=link, address=f"{board.origin}/login?code={code}")


async def end(board: Board, by: str, link: int) -> bool:
    """End a link; False where it had ended before, or never was."""
    return await board.write(revoke_link, link=link, by=by, at=board.clock())


# Coming in and going out: a one-time login or a token becomes a browser's session.


#: How long a browser stays logged in, in seconds.
SESSION = 30 * 86400.0


@dataclass(frozen=True, kw_only=True)
class LoggedIn:
    """A browser that got in: as whom, the token of its session, and for how many seconds."""

    person: Person
    session: str
    lasts: int


async def who_waits(board: Board, code: str) -> Person:
    """Return whom a one-time login or a link would let in; raise ProblemDetails for no one."""
    if could_be(code):
        digest, now = digest_of(code), board.clock()
        found = await board.read(whose_login, digest=digest, at=now)
        if found is not None:
            return found
        link = await board.read(link_of, digest=digest)
        if link is not None and link.holds(now):
            return link.guest
    raise _nobody()


async def log_in(board: Board, code: str) -> LoggedIn:
    """Log a browser in by a one-time login, a link or a token; raise ProblemDetails (401).

    For a form: an address is in every history and log, and mail scanners open it.
    """
    if not could_be(code):
        raise _nobody()
    digest, now = digest_of(code), board.clock()
    session = make_token(board.token)

    entered = await board.write(
        enter, code=digest, session=digest_of(session), at=now, longest=SESSION
    )
    if entered is None:
        raise _nobody()
    lasts = round(entered.expires_at - now)
    return LoggedIn(person=entered.person, session=session, lasts=lasts)


async def log_out(board: Board, session: str) -> None:
    """Log a browser out."""
    await board.write(close_session, digest=digest_of(session))


def _nobody() -> ProblemDetails:
    return ProblemDetails(
        401,
        "this was used before, has run out, or never was",
        title="This login does not work",
        remedy="ask an admin of the board to invite you again, or run `callsheet board`",
    )


# The person who starts the board is its first admin, whose token is kept in a private file next to
# it.
#
# Anyone who can start the board has the ledger anyway; the file saves them a new token every time.


NAME = "admin"


async def admin_token(board: Board) -> tuple[Person, str] | None:
    """Return the first admin and their token, made again where it was lost; None once revoked."""
    file = board.folder / "token"
    token = _kept(file)
    if token is not None:
        known = await board.read(person_of_token, digest=digest_of(token))
        if known is not None:
            return known, token
    there = {one.person.name: one for one in await board.read(all_people)}
    if NAME not in there:
        made = await invite(board, "the board", name=NAME, role="admin")
        _keep(file, made.token)
        return made.person, made.token
    if there[NAME].revoked_at is not None:
        return None
    token = make_token(board.token)
    person = there[NAME].person
    await board.write(renew_token, person=person.id, token=digest_of(token))
    _keep(file, token)
    return person, token


async def others(board: Board) -> int:
    """Return how many people may come in besides the first admin."""
    found = await board.read(all_people)
    return sum(one.person.name != NAME and one.revoked_at is None for one in found)


def keep_address(board: Board) -> None:
    """Write down where the board is, for invitations that are made next to it."""
    _keep(board.folder / "address", board.origin)


def kept_address(folder: Path) -> str | None:
    """Return where the board was last."""
    return _kept(folder / "address")


def kept_token(folder: Path) -> str | None:
    """Return the first admin's token, if it is kept."""
    return _kept(folder / "token")


def _kept(file: Path) -> str | None:
    with suppress(OSError, UnicodeDecodeError):
        return file.read_text("utf-8").strip() or None
    return None


def _keep(file: Path, text: str) -> None:
    """Write a file that no one else may read, whole or not at all."""
    half = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        made = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(made, "w", encoding="utf-8") as out:
            out.write(f"{text}\n")
        half.replace(file)
    except OSError as error:
        raise ConfigurationError(f"cannot write {file}: {error.strerror}") from error
