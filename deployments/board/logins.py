"""How people come in: one-time logins, sessions of browsers, and the board's first admin."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from callsheet.deployments.at import At
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.commands.people import checked_name, invite_person, login_address
from callsheet.deployments.tokens import could_be, digest_of, make_token
from callsheet.tasks.ledger.people import (
    Person,
    all_people,
    make_login,
    person_of_token,
    renew_token,
    whose_login,
)
from callsheet.tasks.ledger.sessions import close_session, enter, link_of
from callsheet.tasks.runtime.errors import BadInput, ConfigurationError


async def new_login(at: At, person: Person, *, lasts: float) -> str:
    """Return a one-time address at which a person logs a browser in, for so many seconds."""
    code = make_token(at.token)
    until = at.clock() + lasts
    await at.write(make_login, digest=digest_of(code), person=person.id, expires_at=until)
    return login_address(at, code)


# Coming in and going out: a one-time login or a token becomes a browser's session.


#: How long a browser stays logged in, in seconds.
SESSION = 30 * 86400.0


@dataclass(frozen=True, kw_only=True)
class LoggedIn:
    """A browser that got in: as whom, the token of its session, and for how many seconds."""

    person: Person
    session: str
    lasts: int


async def who_waits(at: At, code: str) -> Person:
    """Return whom a one-time login or a link would let in; raise ProblemDetails for no one."""
    if could_be(code):
        digest, now = digest_of(code), at.clock()
        found = await at.read(whose_login, digest=digest, at=now)
        if found is not None:
            return found
        link = await at.read(link_of, digest=digest)
        if link is not None and link.holds(now):
            return link.guest()
    raise _nobody()


async def log_in(at: At, code: str, called: str | None = None) -> LoggedIn:
    """Log a browser in by a one-time login, a link or a token; raise ProblemDetails (401).

    For a form: an address is in every history and log, and mail scanners open it. `called` is what
    the guest of a link calls themselves: whoever is to decide by it has to say (BadInput).
    """
    if not could_be(code):
        raise _nobody()
    digest, now = digest_of(code), at.clock()
    session = make_token(at.token)
    called = checked_name(called) if called else None
    link = await at.read(link_of, digest=digest)
    if link is not None and "decide" in link.rights and called is None:
        raise BadInput("say your name: it stands beside what you decide")
    entering = partial(enter, code=digest, session=digest_of(session), called=called)
    entered = await at.write(entering, at=now, longest=SESSION)
    if entered is None:
        raise _nobody()
    lasts = round(entered.expires_at - now)
    return LoggedIn(person=entered.person, session=session, lasts=lasts)


async def log_out(at: At, session: str) -> None:
    """Log a browser out."""
    await at.write(close_session, digest=digest_of(session))


def _nobody() -> ProblemDetails:
    return ProblemDetails(
        401,
        "this was used before, has run out, or never was",
        title="This login does not work",
        remedy="ask the person who sent it for a new one; on the machine of the board, "
        "`callsheet board` prints a new login",
    )


# The person who starts the board is its first admin, whose token is kept in a private file next to
# it.
#
# Anyone who can start the board has the ledger anyway; the file saves them a new token every time.


NAME = "admin"


async def admin_token(at: At) -> tuple[Person, str] | None:
    """Return the first admin and their token, made again where it was lost; None once revoked."""
    file = at.folder / "token"
    token = _kept(file)
    if token is not None:
        known = await at.read(person_of_token, digest=digest_of(token))
        if known is not None:
            return known, token
    there = {one.person.name: one for one in await at.read(all_people)}
    if NAME in there and there[NAME].revoked_at is not None:
        return None
    if NAME in there:
        person, token = there[NAME].person, make_token(at.token)
        await at.write(renew_token, person=person.id, token=digest_of(token))
    else:
        board = replace(at, person=Person(id=0, name="the board", role="admin"))
        token = (await invite_person(board, NAME, "admin")).token
    _keep(file, token)
    known = await at.read(person_of_token, digest=digest_of(token))
    return None if known is None else (known, token)


async def others(at: At) -> int:
    """Return how many people may come in besides the first admin."""
    found = await at.read(all_people)
    return sum(one.person.name != NAME and one.revoked_at is None for one in found)


def keep_address(at: At) -> None:
    """Write down where the board is, for invitations that are made next to it."""
    _keep(at.folder / "address", at.origin)


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
