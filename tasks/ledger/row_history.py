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
    Select,
    and_,
    func,
    select,
    text,
)

from callsheet.tasks.ledger.deliveries import checks_in, files_in
from callsheet.tasks.ledger.dialect import dialect_of
from callsheet.tasks.ledger.figures import FIGURES, NAMES
from callsheet.tasks.ledger.records import Records
from callsheet.tasks.ledger.row_pages import ShownRow, ShownTake, rows_by_id, shown_takes
from callsheet.tasks.ledger.schema import events, rows, takes
from callsheet.tasks.ledger.values import CampaignRow, rows_of
from callsheet.tasks.values.amounts import from_micro
from callsheet.tasks.values.briefs import canonical_json

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

#: What people said of a video, and what was found when it was looked at.
_SAID = ("review", "review_reason", "review_note", "reviewed_by", "reviewed_at")
_TAKE = [
    takes.c.number.label("take"),
    takes.c.key,
    takes.c.body,
    takes.c.video_id,
]


def row_lines(connection: Connection, campaign_id: int) -> Iterator[Line]:
    """Yield every row with its figures, its present take, and its video, of whichever take."""
    own = (
        rows.c.row, rows.c.line, rows.c.state, rows.c.reason, rows.c.since, rows.c.operation,
        rows.c.request, rows.c.digest, rows.c.captions, rows.c.enabled, rows.c.priority,
        rows.c.tags, rows.c.cost_center, rows.c.notes, rows.c.max_credits, rows.c.quoted_at,
    )  # fmt: skip
    figures = FIGURES.where(rows.c.campaign_id == campaign_id).subquery()
    made = takes.alias("made")
    query = (
        select(
            *own,
            *(figures.c[name] for name in NAMES),
            *_TAKE,
            made.c.number.label("video_take"),
            *(made.c[name] for name in (*_SAID, "checks", "files")),
        )
        .select_from(rows)
        .join(figures, figures.c.id == rows.c.id)
        .outerjoin(takes, takes.c.id == rows.c.take_id)
        .outerjoin(made, made.c.id == rows.c.video_take_id)
    )
    for found in _stream(connection, query, campaign_id):
        line = _plain(found)
        asked = json.loads(line.pop("request"))
        line["title"] = asked.get("title") or asked.get("topic")
        line["tags"] = json.loads(line["tags"])
        line["captions"] = line["captions"].split()
        line["enabled"] = bool(line["enabled"])
        yield line


def take_lines(connection: Connection, campaign_id: int) -> Iterator[Line]:
    """Yield every take with its files and the tags of its row; `present`: it is its take now."""
    moments = [one for one in takes.c if one.name.endswith("_at") and one.name not in _SAID]
    query = (
        select(
            rows.c.row,
            rows.c.tags,
            (rows.c.take_id == takes.c.id).label("present"),
            *_TAKE,
            takes.c.nth,
            takes.c.digest,
            takes.c.cost_center,
            takes.c.quoted,
            takes.c.reserved,
            takes.c.charged,
            *moments,
            *(takes.c[name] for name in (*_SAID, "checks", "files")),
        )
        .select_from(rows)
        .join(takes, takes.c.row_id == rows.c.id)
    )
    for found in _stream(connection, query, campaign_id, takes.c.number):
        yield {**_plain(found), "tags": json.loads(found["tags"])}


def event_lines(connection: Connection, campaign_id: int) -> Iterator[Line]:
    """Yield every event of the campaign and of its rows, oldest first."""
    query = _EVENTS.query.where(events.c.campaign_id == campaign_id).order_by(events.c.id)
    with connection.execution_options(yield_per=STRIDE).execute(query) as found:
        yield from (asdict(_EVENTS.read(line)) for line in found)


def _stream(
    connection: Connection, query: Select[Any], campaign_id: int, *order: Any
) -> Iterator[Line]:
    query = query.where(rows.c.campaign_id == campaign_id)
    query = query.order_by(rows.c.position, rows.c.id, *order)
    with connection.execution_options(yield_per=STRIDE).execute(query) as found:
        for line in found:
            yield line._asdict()


def _plain(found: Line) -> dict[str, Any]:
    """Return a line with amounts as such, and a key only where it was sent."""
    line = dict(found)
    for name in (*NAMES, "max_credits"):
        if name in line:
            line[name] = from_micro(line[name])
    if "body" in line:
        body, key = line.pop("body"), line["key"]
        keyed = key is not None and canonical_json(key) in bytes(body)
        line["key"] = key if keyed else None
    files = files_in(line.pop("files"))
    video = files.get("mp4")
    for name in ("sha256", "bytes", "seconds"):
        line[name] = getattr(video, name, None)
    for name, kind in (("video", "mp4"), ("srt", "srt"), ("vtt", "vtt")):
        line[name] = getattr(files.get(kind), "uri", None)
    if "checks" in line:
        # What is wrong, as people read it: most videos have nothing to tell.
        checks = checks_in(line["checks"]).items()
        wrong = [f"{name}: {words}" for name, words in checks if words != "ok"]
        line["checks"] = "; ".join(wrong) or None
    return line
