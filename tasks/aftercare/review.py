"""Reviews of videos by row names, ids or selections.

Each function is one change for `Ledger.write`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from sqlalchemy import Connection

from callsheet.tasks.ledger.audit_log import note_act
from callsheet.tasks.ledger.campaigns import Campaign
from callsheet.tasks.ledger.figures import pages_of
from callsheet.tasks.ledger.reviews import (
    Review,
    Reviewed,
    Side,
    Verdict,
    review,
    review_all,
    review_of,
)
from callsheet.tasks.ledger.row_filter import RowFilter
from callsheet.tasks.ledger.row_pages import video_of_take, videos_shown
from callsheet.tasks.runtime.errors import NoSuch
from callsheet.tasks.runtime.suggest import suggest


def review_row(
    connection: Connection,
    campaign: Campaign,
    row: str,
    verdict: Verdict | None,
    *,
    take: int | None = None,
    reason: str | None = None,
    note: str | None = None,
    by: str,
    at: float,
    instead_of: Verdict | None = None,
    side: Side = "team",
) -> Review | None:
    """Review a take of a row, by default its newest video; return the stored verdict.

    Raise ReviewStands if there is a different verdict, NoSuch if there is no such video.
    """
    found = video_of_take(connection, campaign_id=campaign.id, row=row, take=take)
    if found is None:
        named = f"{row} has no video yet" if take is None else f"{row} has no take {take}"
        raise NoSuch(named, remedy=f"`{suggest('explain', campaign.name, row)}` shows its state")
    before = review_of(connection, found, side)
    said = review(
        connection,
        found,
        verdict,
        reason=reason,
        note=note,
        by=by,
        at=at,
        instead_of=instead_of,
        side=side,
    )
    if said != before:
        act = said.verdict if said else "take back"
        words = f"{row}: {said.because}" if said and said.because else row
        note_act(connection, at=at, by=by, act=act, campaign=campaign.name, rows=1, words=words)
    return said


def review_rows(
    connection: Connection,
    campaign: Campaign,
    which: RowFilter | Sequence[str],
    verdict: Verdict,
    *,
    reason: str | None = None,
    note: str | None = None,
    by: str,
    at: float,
    side: Side = "team",
) -> Reviewed:
    """Review the videos of rows, by a filter or by their ids; existing reviews stay."""
    if isinstance(which, RowFilter):
        pages = [which]
    else:
        pages = [RowFilter.of(row=page) for page in pages_of(which)]
    videos = [video for page in pages for video in videos_shown(connection, campaign.id, page)]
    reviewing = partial(review_all, connection, videos, verdict, reason=reason, note=note)
    done = reviewing(by=by, at=at, side=side)
    if done.made:
        words = ": ".join(filter(None, (reason, note))) or None
        about = partial(note_act, connection, at=at, by=by, campaign=campaign.name)
        about(act=verdict, rows=done.made, words=words)
    return done
