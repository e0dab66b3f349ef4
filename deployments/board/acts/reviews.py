"""Deciding on videos: keep or reject, one or many, in somebody's name."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import cast

from callsheet.deployments.board.board import Board
from callsheet.deployments.board.guests import shown_to
from callsheet.deployments.board.known import known_campaign
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.who import Person
from callsheet.tasks.aftercare.review import review_matching, review_row
from callsheet.tasks.ledger import (
    Review,
    Reviewed,
    ReviewStands,
    RowFilter,
    Verdict,
    review_of,
    video_of_take,
)


async def decide(
    board: Board,
    person: Person,
    *,
    campaign: str,
    row: str,
    take: int,
    verdict: str | None,
    reason: str | None = None,
    note: str | None = None,
    instead_of: str | None = None,
) -> Review | None:
    """Decide on the video of a take, by its number in its row; return what stands.

    A verdict of None takes back the one that `instead_of` names. The same verdict again may add a
    reason or a note; None leaves what there is.

    Raises ReviewStands where somebody decided otherwise, ProblemDetails where there is no such
    take, BadInput where it makes no sense.
    """
    known = await known_campaign(board, campaign)
    found = partial(video_of_take, campaign_id=known.id, row=row, take=take)
    number = await board.read(found)
    if number is None:
        raise ProblemDetails(404, f"{campaign} has no take {take} of a row {row[:80]}")
    standing = await board.read(partial(review_of, take_id=number))
    if standing is not None and shown_to(person, standing) != standing:
        # A guest does not see the words of others, and takes none of them away.
        reason, note = reason or None, note or None
        instead_of = None if instead_of == verdict else instead_of
    change = partial(
        review_row,
        campaign=known,
        row=row,
        take=take,
        verdict=cast("Verdict | None", verdict),
        reason=reason,
        note=note,
        by=person.name,
        at=board.clock(),
        instead_of=cast("Verdict | None", instead_of),
    )
    try:
        return shown_to(person, await board.write(change))
    except ReviewStands as stands:
        raise ReviewStands(row, take, shown_to(person, stands.standing)) from stands


async def decide_all(
    board: Board,
    person: Person,
    *,
    campaign: str,
    which: RowFilter,
    verdict: str,
    reason: str | None = None,
    note: str | None = None,
    until: float | None = None,
) -> Reviewed:
    """Decide on every video that matches; what somebody has decided on already stays as it is.

    `until` is when the person was shown them (Unix seconds): videos that came later, which nobody
    has looked at, are left out.
    """
    known = await known_campaign(board, campaign)
    if which.is_empty:
        raise ProblemDetails(
            422,
            "this would decide on every video of the campaign",
            remedy="choose the undecided ones, or name rows",
        )
    if until is not None:
        which = replace(which, until=min(until, which.until or until))
    return await board.write(
        partial(
            review_matching,
            campaign=known,
            which=which,
            verdict=cast(Verdict, verdict),
            reason=reason,
            note=note,
            by=person.name,
            at=board.clock(),
        )
    )
