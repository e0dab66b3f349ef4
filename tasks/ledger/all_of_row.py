"""One row with everything that is known of it, and a campaign's events. Reads only."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, select

from callsheet.tasks.ledger.deliveries import Delivered, checks_in
from callsheet.tasks.ledger.reviews import Review, review_in
from callsheet.tasks.ledger.schema import deliveries, events, reviews, rows, takes
from callsheet.tasks.ledger.shown import ShownRow, rows_by_id
from callsheet.tasks.ledger.values import CampaignRow, Take, rows_of, takes_of

#: Events that are read at once at most.
MOST = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownTake:
    """A take with its files, and what was found and said of its video."""

    take: Take
    files: Sequence[Delivered]
    review: Review | None
    checks: Mapping[str, str]
    flagged: int
    pictures: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownEvent:
    """One line of a campaign's history; `id` orders them, `row` and `take` are those it is of."""

    id: int
    at: float
    kind: str
    old: str | None
    new: str | None
    words: str | None
    row: str | None
    take: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class WholeRow:
    """A row with everything that is known of it: takes newest first, events oldest first."""

    shown: ShownRow
    row: CampaignRow
    takes: Sequence[ShownTake]
    events: Sequence[ShownEvent]


def whole_row(connection: Connection, campaign_id: int, row: str) -> WholeRow | None:
    """Return a row by its id, None where the campaign has none of that."""
    found = rows_of(connection, campaign_id, row=row)
    if not found:
        return None
    (own,) = found
    return WholeRow(
        shown=rows_by_id(connection, campaign_id, [own.id])[own.id],
        row=own,
        takes=_takes(connection, own),
        events=_events(connection, events.c.row_id == own.id),
    )


def events_between(
    connection: Connection, campaign_id: int, *, after: int, upto: int, limit: int = MOST
) -> list[ShownEvent]:
    """Return a campaign's events behind one and no later than another, oldest first."""
    # Numbers are the order of the index.
    these = and_(events.c.campaign_id == campaign_id, events.c.id > after, events.c.id <= upto)
    return _events(connection, these, limit=limit)


def _takes(connection: Connection, row: CampaignRow) -> list[ShownTake]:
    found = takes_of(connection, row.campaign_id, numbers=[row.id])
    ids = [take.id for _, take in found]
    beside = {
        line.id: line
        for line in connection.execute(
            select(takes.c.id, takes.c.checks, takes.c.flagged, takes.c.pictures).where(
                takes.c.id.in_(ids)
            )
        )
    }
    said = {
        line.take_id: review_in(line._asdict())
        for line in connection.execute(select(reviews).where(reviews.c.take_id.in_(ids)))
    }
    files: dict[int, list[Delivered]] = {}
    names = ("kind", "uri", "sha256", "bytes", "seconds")
    for line in connection.execute(
        select(deliveries).where(deliveries.c.take_id.in_(ids)).order_by(deliveries.c.id)
    ):
        delivered = Delivered(**{name: getattr(line, name) for name in names})
        files.setdefault(line.take_id, []).append(delivered)
    return [
        ShownTake(
            take=take,
            files=files.get(take.id, []),
            review=said.get(take.id),
            checks=checks_in(beside[take.id].checks),
            flagged=beside[take.id].flagged or 0,
            pictures=json.loads(beside[take.id].pictures or "{}"),
        )
        for _, take in reversed(found)
    ]


def _events(
    connection: Connection, these: ColumnElement[bool], *, limit: int | None = None
) -> list[ShownEvent]:
    query = (
        select(
            events.c.id, events.c.at, events.c.kind, events.c.old, events.c.new, events.c.words,
            rows.c.row, takes.c.number.label("take"),
        )
        .select_from(events)
        .outerjoin(rows, rows.c.id == events.c.row_id)
        .outerjoin(takes, takes.c.id == events.c.take_id)
        .where(these)
        .order_by(events.c.id)
        .limit(limit)
    )  # fmt: skip
    return [ShownEvent(**line._mapping) for line in connection.execute(query)]
