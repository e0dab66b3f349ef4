"""What the ledger tells people: events of rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from sqlalchemy import Connection, select

from tasks.credits import from_micro
from tasks.ledger.schema import events, rows, takes

#: Finished renders that are asked for at most.
LENGTHS = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """One line of a row's history; `at` in Unix seconds."""

    at: float
    kind: str
    old: str | None
    new: str | None
    words: str | None
    take_id: int | None


def cells_of(connection: Connection, campaign_id: int) -> Mapping[int, list[tuple[str, str]]]:
    """Return the sheet's own headers and texts, by row."""
    query = select(rows.c.id, rows.c.cells).where(rows.c.campaign_id == campaign_id)
    return {
        found.id: [(header, text) for header, text in json.loads(found.cells)]
        for found in connection.execute(query)
    }


def events_of(connection: Connection, row_id: int) -> list[Event]:
    """Return a row's history, oldest first."""
    query = select(events).where(events.c.row_id == row_id).order_by(events.c.id)
    return [
        Event(at=e.at, kind=e.kind, old=e.old, new=e.new, words=e.words, take_id=e.take_id)
        for e in connection.execute(query)
    ]


def lengths_of(connection: Connection, campaign_id: int) -> list[tuple[str, Decimal | None, float]]:
    """Return operation, price and seconds of the latest finished renders: of the campaign, else
    of any other in the ledger."""
    query = (
        select(rows.c.operation, takes.c.quoted, takes.c.ready_at - takes.c.accepted_at)
        .join(rows, rows.c.id == takes.c.row_id)
        .where(takes.c.ready_at.is_not(None), takes.c.accepted_at.is_not(None))
        .order_by(takes.c.id.desc())
        .limit(LENGTHS)
    )
    own = connection.execute(query.where(rows.c.campaign_id == campaign_id)).all()
    return [
        (operation, None if price is None else from_micro(price), max(0.0, seconds))
        for operation, price, seconds in own or connection.execute(query).all()
    ]
