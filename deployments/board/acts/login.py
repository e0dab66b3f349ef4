"""Coming in and going out: a one-time login or a token becomes a browser's session."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from callsheet.deployments.board.board import Board
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.tokens import could_be, digest_of, make_token
from callsheet.tasks.ledger.people import Person, whose_login
from callsheet.tasks.ledger.sessions import close_session, enter, link_of

#: How long a browser stays logged in, in seconds.
SESSION = 30 * 86400.0


@dataclass(frozen=True, kw_only=True)
class LoggedIn:
    """A browser that got in: as whom, the token of its session, and for how many seconds."""

    person: Person
    session: str
    lasts: int


async def who_waits(board: Board, code: str) -> Person:
    """Return whom a one-time login or a link would let in; raise ProblemDetails for nobody."""
    if could_be(code):
        digest, now = digest_of(code), board.clock()
        found = await board.read(partial(whose_login, digest=digest, at=now))
        if found is not None:
            return found
        link = await board.read(partial(link_of, digest=digest))
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
        partial(
            enter,
            code=digest,
            session=digest_of(session),
            at=now,
            longest=SESSION,
        )
    )
    if entered is None:
        raise _nobody()
    lasts = round(entered.expires_at - now)
    return LoggedIn(person=entered.person, session=session, lasts=lasts)


async def log_out(board: Board, session: str) -> None:
    """Log a browser out."""
    await board.write(partial(close_session, digest=digest_of(session)))


def _nobody() -> ProblemDetails:
    return ProblemDetails(
        401,
        "this was used before, has run out, or never was",
        title="This login does not work",
        remedy="ask an admin of the board to invite you again, or run `callsheet board`",
    )
