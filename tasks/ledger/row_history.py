"""Everything known about rows.

The history of one row, a campaign's events in order, and the lines of exports.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    and_,
    func,
    select,
    text,
)

from callsheet.tasks.ledger.deliveries import Files, checks_in, files_in
from callsheet.tasks.ledger.dialect import dialect_of
from callsheet.tasks.ledger.records import Records
from callsheet.tasks.ledger.row_views import (
    ShownRow,
    ShownTake,
    provenance_of,
    rows_by_id,
    sent_key,
    shown_takes,
    stream,
)
from callsheet.tasks.ledger.schema import events, rows, takes
from callsheet.tasks.ledger.values import CampaignRow, rows_of
from callsheet.tasks.values.amounts import from_micro

#: Events that are read at once at most.
MOST = 500


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
        takes=shown_takes(connection, takes.c.row_id == own.id),
        events=_events(connection, events.c.row_id == own.id),
    )


def events_between(
    connection: Connection, campaign_id: int, *, after: int, upto: int, limit: int = MOST
) -> list[ShownEvent]:
    """Return a campaign's events behind one and no later than another, oldest first."""
    # Numbers are the order of the index.
    these = and_(events.c.campaign_id == campaign_id, events.c.id > after, events.c.id <= upto)
    return _events(connection, these, limit=limit)


_EVENTS = Records(
    ShownEvent,
    events,
    joined=events.outerjoin(rows, rows.c.id == events.c.row_id).outerjoin(
        takes, takes.c.id == events.c.take_id
    ),
    row=rows.c.row,
    take=takes.c.number,
)


def _events(
    connection: Connection, these: ColumnElement[bool], *, limit: int | None = None
) -> list[ShownEvent]:
    query = _EVENTS.query.where(these).order_by(events.c.id).limit(limit)
    return _EVENTS.all(connection, query)


# How far a campaign's events may be told, so that none is ever left out.
#
# A number is given to an event before it is committed, and PostgreSQL's writers commit in any
# order: behind event 105 there may be a 103 still to come, and anyone who goes on from 105 would
# never see it. SQLite has one writer at a time, whose numbers come in order. Reads only.


# Who is adding events has this lock from before the first number is given until the commit.
_WRITERS = text(
    "SELECT DISTINCT virtualtransaction FROM pg_locks WHERE locktype = 'relation' "
    "AND relation = CAST('events' AS regclass) AND mode = 'RowExclusiveLock' AND granted "
    "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)
_NEWEST = select(func.coalesce(func.max(events.c.id), 0))


@dataclass(frozen=True, slots=True)
class Horizon:
    """Up to `told` every event there will ever be can be read; `newest` becomes that once the
    `writers` that were at work when it was read have ended."""

    told: int = 0
    newest: int = 0
    writers: frozenset[str] = frozenset()


def horizon(connection: Connection, before: Horizon | None = None) -> Horizon:
    """Return how far events may be told now; what is read has to be read after that."""
    before = before or Horizon()
    if dialect_of(connection).one_writer:
        newest = connection.scalar(_NEWEST) or 0
        return Horizon(newest, newest)
    if before.newest > before.told:
        # Numbers that others take meanwhile are later ones.
        left = before.writers & _writers(connection)
        if left:
            return Horizon(before.told, before.newest, left)
        before = Horizon(before.newest, before.newest)
    newest = connection.scalar(_NEWEST) or 0
    if newest <= before.told:
        return before
    # Asked after it: who had a number below that and is not among these has committed by now.
    writers = _writers(connection)
    return Horizon(before.told if writers else newest, newest, writers)


def _writers(connection: Connection) -> frozenset[str]:
    return frozenset(connection.scalars(_WRITERS))


# What an export takes out of the ledger: rows, takes, events, a line at a time. Reads only.
#
# Each function yields mappings of plain values, in sheet order; moments are Unix seconds, amounts
# Decimals. What was asked of the service is not among them: it may hold addresses that are secret.


#: How many lines are fetched at a time.
STRIDE = 500

Line = Mapping[str, Any]

_AMOUNTS = ("quoted", "reserved", "charged")
_OF_TAKE = (
    "key", "video_id", "digest", "nth", "cost_center", *_AMOUNTS, "intended_at", "accepted_at",
    "refused_at", "ready_at", "delivered_at", "abandoned_at", "review", "review_reason",
    "review_note", "reviewed_by", "reviewed_at", "client_review", "client_reason", "client_note",
    "client_by", "client_at",
)  # fmt: skip


def row_lines(connection: Connection, campaign_id: int) -> Iterator[Line]:
    """Yield every row with its figures, its present take, and its video, of whichever take."""
    for row in stream(connection, campaign_id):
        yield {
            **row._asdict(),
            "title": row.asked_title,
            "take": row.take or None,
            "captions": row.captions_text.split(),
            "tags": list(row.tags),
            "enabled": bool(row.enabled),
            "max_credits": from_micro(row.max_credits_micro),
            **asdict(row.figures),
            "key": sent_key(row.key, row.body),
            "review": row.verdict,
            "client_review": row.client_verdict,
            **_of_files(row.files),
            "checks": _wrong(row.checks),
            **row.provenance._asdict(),
        }


def take_lines(connection: Connection, campaign_id: int) -> Iterator[Line]:
    """Yield every take with its files and the tags of its row; `present`: it is its take now."""
    query = (
        select(
            rows.c.row,
            takes.c.number.label("take"),
            (rows.c.take_id == takes.c.id).label("present"),
            *(takes.c[name] for name in _OF_TAKE),
            *(rows.c.tags, takes.c.body, takes.c.files, takes.c.checks, takes.c.ai_mark),
        )
        .join(takes, takes.c.row_id == rows.c.id)
        .where(rows.c.campaign_id == campaign_id)
        .order_by(rows.c.position, rows.c.id, takes.c.number)
    )
    with connection.execution_options(yield_per=STRIDE).execute(query) as found:
        for one in found:
            line = one._asdict()
            yield {
                **line,
                **{name: from_micro(line[name]) for name in _AMOUNTS},
                "tags": json.loads(one.tags),
                "key": sent_key(one.key, one.body),
                **_of_files(files := files_in(one.files)),
                "checks": _wrong(checks_in(one.checks)),
                **provenance_of(one.body if "mp4" in files else None, one.ai_mark)._asdict(),
            }


def event_lines(connection: Connection, campaign_id: int) -> Iterator[Line]:
    """Yield every event of the campaign and of its rows, oldest first."""
    query = _EVENTS.query.where(events.c.campaign_id == campaign_id).order_by(events.c.id)
    with connection.execution_options(yield_per=STRIDE).execute(query) as found:
        yield from (asdict(_EVENTS.read(line)) for line in found)


def _of_files(files: Files) -> dict[str, Any]:
    video, uris = files.get("mp4"), {kind: file.uri for kind, file in files.items()}
    return {
        "video": uris.get("mp4"),
        **{name: getattr(video, name, None) for name in ("sha256", "bytes", "seconds")},
        **{kind: uris.get(kind) for kind in ("srt", "vtt")},
    }


def _wrong(checks: Mapping[str, str]) -> str | None:
    """Return what is wrong, as people read it: most videos have nothing to tell."""
    wrong = [f"{name}: {words}" for name, words in checks.items() if words != "ok"]
    return "; ".join(wrong) or None
