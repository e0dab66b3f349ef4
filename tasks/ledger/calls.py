"""Paid calls that take no idempotency key: what was sent, what was there before, what became of it.

Each function is one change or one query for the ledger. At most one call is open for a target of
an organisation, in all processes: what a lost answer left behind could not be told apart otherwise.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import ColumnElement, Connection, delete, func, select, update

from tasks.ledger.database import insert_missing, insert_unless_there
from tasks.ledger.schema import calls, campaigns, rows, takes, videos_seen

#: The target of a call that makes a video, instead of changing one.
NEW = ""

CallOutcome = Literal["made", "refused", "unknown"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """One paid call without a key; `row` names whose it is, None for one typed by hand.

    Open until `closed_at` (Unix seconds); with the outcome `unknown` until `resolved_at`.
    """

    id: int
    operation: str
    target: str
    opened_at: float
    closed_at: float | None
    outcome: CallOutcome | None
    video_id: str | None
    campaign: str | None
    row: str | None

    def __str__(self) -> str:
        whose = f"row {self.row} of {self.campaign}" if self.row else f"call {self.id}"
        return f"{self.operation} ({whose})"


def open_call(
    connection: Connection,
    *,
    organisation: str,
    operation: str,
    body: bytes,
    at: float,
    target: str = NEW,
) -> int | None:
    """Record the intent to send a call once; return its number.

    Returns None while another call for the same target is open: nothing may be sent.
    """
    values = {
        "organisation": organisation,
        "target": target,
        "operation": operation,
        "body": body,
        "opened_at": at,
    }
    if not insert_unless_there(connection, calls, values):
        return None
    mine = select(calls.c.id).where(
        calls.c.organisation == organisation,
        calls.c.target == target,
        calls.c.closed_at.is_(None),
    )
    return int(connection.execute(mine).scalar_one())


def drop_call(connection: Connection, call_id: int) -> None:
    """Take an intent back within the transaction that recorded it: nothing was to be sent."""
    connection.execute(delete(calls).where(calls.c.id == call_id, calls.c.closed_at.is_(None)))


def join_call(connection: Connection, call_id: int, *, take_id: int) -> None:
    """Say which take a call is sent for."""
    connection.execute(update(calls).where(calls.c.id == call_id).values(take_id=take_id))


def close_call(
    connection: Connection,
    *,
    outcome: CallOutcome,
    at: float,
    call_id: int | None = None,
    take_id: int | None = None,
    video_id: str | None = None,
) -> bool:
    """Record what became of a call, by its number or its take; return False if it was closed."""
    which = calls.c.id == call_id if call_id is not None else calls.c.take_id == take_id
    changed = connection.execute(
        update(calls)
        .where(which, calls.c.closed_at.is_(None))
        .values(closed_at=at, outcome=outcome, video_id=video_id)
    )
    return changed.rowcount == 1


def resolve_call(
    connection: Connection,
    *,
    at: float,
    call_id: int | None = None,
    take_id: int | None = None,
    video_id: str | None = None,
) -> bool:
    """Record that a person has settled an open or unknown call; return False if none was."""
    which = calls.c.id == call_id if call_id is not None else calls.c.take_id == take_id
    changed = connection.execute(
        update(calls)
        .where(which, calls.c.resolved_at.is_(None), _unsettled())
        .values(
            closed_at=func.coalesce(calls.c.closed_at, at),
            outcome="made" if video_id else "unknown",
            video_id=video_id,
            resolved_at=at,
        )
    )
    return changed.rowcount >= 1


def unsettled_calls(connection: Connection, organisation: str | None = None) -> list[Call]:
    """Return the calls that are open, or whose outcome nobody knows, oldest first."""
    query = (
        select(calls, campaigns.c.name.label("campaign"), rows.c.row)
        .outerjoin(takes, takes.c.id == calls.c.take_id)
        .outerjoin(rows, rows.c.id == takes.c.row_id)
        .outerjoin(campaigns, campaigns.c.id == rows.c.campaign_id)
        .where(calls.c.resolved_at.is_(None), _unsettled())
        .order_by(calls.c.id)
    )
    if organisation is not None:
        query = query.where(calls.c.organisation == organisation)
    return [
        Call(
            id=found.id,
            operation=found.operation,
            target=found.target,
            opened_at=found.opened_at,
            closed_at=found.closed_at,
            outcome=found.outcome,
            video_id=found.video_id,
            campaign=found.campaign,
            row=found.row,
        )
        for found in connection.execute(query)
    ]


def note_videos(
    connection: Connection, *, organisation: str, video_ids: Collection[str], at: float
) -> None:
    """Remember videos that exist before a call is sent."""
    fresh = [
        {"organisation": organisation, "video_id": video_id, "seen_at": at}
        for video_id in dict.fromkeys(video_ids)
    ]
    insert_missing(connection, videos_seen, fresh)


def videos_known(connection: Connection, organisation: str, *, before: float) -> set[str]:
    """Return the videos that a call sent at `before` cannot have made: older, or ours already."""
    seen = select(videos_seen.c.video_id).where(
        videos_seen.c.organisation == organisation, videos_seen.c.seen_at <= before
    )
    ours = select(takes.c.video_id).where(takes.c.video_id.is_not(None))
    direct = select(calls.c.video_id).where(calls.c.video_id.is_not(None))
    return {
        str(video_id) for query in (seen, ours, direct) for video_id in connection.scalars(query)
    }


def _unsettled() -> ColumnElement[bool]:
    return calls.c.closed_at.is_(None) | (calls.c.outcome == "unknown")
