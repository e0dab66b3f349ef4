"""Links for people from outside: no account, the videos of one campaign, some rights, an end."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import partial

from callsheet.deployments.board.acts.people import checked_name
from callsheet.deployments.board.board import Board
from callsheet.deployments.board.tokens import digest_of, make_token
from callsheet.tasks.errors import BadInput
from callsheet.tasks.ledger.people import RIGHTS
from callsheet.tasks.ledger.sessions import Link, make_link, revoke_link

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
    """Make a link for somebody who is called `name`, for so many seconds. Raises BadInput."""
    unknown = set(rights) - set(RIGHTS)
    if unknown:
        words = ", ".join(sorted(unknown))
        raise BadInput(f"there is no right {words}: they are {', '.join(RIGHTS)}")
    if not 0 < lasts <= LONGEST:
        raise BadInput(f"a link lasts up to {LONGEST / 86400:.0f} days")
    code, now = make_token(board.token), board.clock()
    link = await board.write(
        partial(
            make_link,
            digest=digest_of(code),
            campaign=campaign,
            name=checked_name(name),
            # Whoever may decide or download has to see.
            rights={"see", *rights},
            by=by,
            at=now,
            expires_at=now + lasts,
        )
    )
    return MadeLink(link=link, address=f"{board.origin}/login?code={code}")


async def end(board: Board, by: str, link: int) -> bool:
    """End a link; False where it had ended before, or never was."""
    return await board.write(partial(revoke_link, link=link, by=by, at=board.clock()))
