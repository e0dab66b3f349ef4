"""What the ledger remembers of paid calls without a key, and of videos and keys. Reads only."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from sqlalchemy import ColumnElement, Connection, and_, or_, select

from tasks.ledger.calls import CallOutcome
from tasks.ledger.schema import calls, takes


@dataclass(frozen=True, kw_only=True, slots=True)
class JournalEntry:
    """One paid call without a key, as it was sent; moments in Unix seconds.

    `target` is the video it changes, empty for a call that makes one. `take_id` is None for a
    call typed by hand.
    """

    id: int
    operation: str
    target: str
    take_id: int | None
    body: bytes = field(repr=False)
    opened_at: float
    closed_at: float | None
    outcome: CallOutcome | None
    video_id: str | None
    resolved_at: float | None


def calls_about(
    connection: Connection, *, take_ids: Collection[int] = (), video_ids: Collection[str] = ()
) -> list[JournalEntry]:
    """Return the calls sent for these takes or about these videos, oldest first."""
    about = (calls.c.take_id.in_(take_ids), calls.c.target.in_(video_ids))
    return _entries(connection, or_(*about, calls.c.video_id.in_(video_ids)))


def unsettled_by_hand(connection: Connection, organisation: str) -> list[JournalEntry]:
    """Return the calls typed by hand that are open, or whose outcome nobody knows."""
    unsettled = calls.c.closed_at.is_(None) | (calls.c.outcome == "unknown")
    mine = (calls.c.organisation == organisation, calls.c.take_id.is_(None))
    return _entries(connection, and_(*mine, calls.c.resolved_at.is_(None), unsettled))


def changed_by_hand(connection: Connection) -> set[str]:
    """Return the videos that were changed by a paid call typed by hand."""
    query = select(calls.c.target).where(calls.c.target != "", calls.c.outcome != "refused")
    return {str(target) for target in connection.scalars(query)}


def keys_known(connection: Connection) -> set[str]:
    """Return the key of every take, of every campaign."""
    return {str(key) for key in connection.scalars(select(takes.c.key))}


def videos_ours(connection: Connection) -> set[str]:
    """Return every video that a take or a call of this ledger made."""
    made = select(takes.c.video_id).where(takes.c.video_id.is_not(None))
    by_hand = select(calls.c.video_id).where(calls.c.video_id.is_not(None))
    return {str(video_id) for query in (made, by_hand) for video_id in connection.scalars(query)}


def _entries(connection: Connection, which: ColumnElement[bool]) -> list[JournalEntry]:
    return [
        JournalEntry(
            id=found.id,
            operation=found.operation,
            target=found.target,
            take_id=found.take_id,
            body=bytes(found.body),
            opened_at=found.opened_at,
            closed_at=found.closed_at,
            outcome=found.outcome,
            video_id=found.video_id,
            resolved_at=found.resolved_at,
        )
        for found in connection.execute(select(calls).where(which).order_by(calls.c.id))
    ]
