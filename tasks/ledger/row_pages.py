"""Rows as people see them, page by page, with counts for each filter. Reads only.

A page of ten thousand rows costs what one of ten does: the numbers of its rows are found first,
in the order of an index, and whole rows are read for these alone.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from sqlalchemy import ColumnElement, Connection, and_, func, or_, select

from callsheet.tasks.ledger.campaigns import Campaign, Tally, tally_of
from callsheet.tasks.ledger.row_filter import RowFilter
from callsheet.tasks.ledger.row_selection import (
    is_walked,
    matching,
    rows_matching,
    video,
    with_video,
)
from callsheet.tasks.ledger.row_views import ShownRow, rows_by_id
from callsheet.tasks.ledger.schema import REVIEWED, rows, takes
from callsheet.tasks.ledger.values import STATES, State
from callsheet.tasks.runtime.errors import BadInput

#: sheet: its order. since: what changed last comes first. worst: videos with most that is wrong
#: come first, then the order of the sheet.
Sort = Literal["sheet", "since", "worst"]
SORTS: tuple[Sort, ...] = get_args(Sort)
#: Rows of one page, unless someone asks for fewer; more are not given.
PAGE = 100
MOST = 500


@dataclass(frozen=True, slots=True)
class Shown:
    """A page of rows, and what to name for those after it; None: there are no more."""

    rows: Sequence[ShownRow]
    next: str | None


def shown_rows(
    connection: Connection,
    campaign_id: int,
    which: RowFilter | None = None,
    *,
    sort: Sort = "sheet",
    after: str | None = None,
    limit: int = PAGE,
) -> Shown:
    """Return a page of the rows that match, behind the place that `after` names.

    Raises BadInput for an `after` that no page of this order gave.
    """
    which, limit = which or RowFilter(), max(1, min(limit, MOST))
    places = _places(connection, campaign_id, which, sort, _Place.read(sort, after), limit + 1)
    page = places[:limit]
    found = rows_by_id(connection, campaign_id, [place.id for place in page])
    more = len(places) > limit
    return Shown([found[place.id] for place in page], page[-1].as_text(sort) if more else None)


def count_shown(connection: Connection, campaign_id: int, which: RowFilter | None = None) -> int:
    """Return how many rows match."""
    query = rows_matching(connection, campaign_id, which or RowFilter())
    return connection.scalar(select(func.count()).select_from(query.subquery())) or 0


def names_shown(
    connection: Connection, campaign_id: int, which: RowFilter | None = None
) -> list[str]:
    """Return the ids of all rows that match, in the order of the sheet."""
    query = rows_matching(connection, campaign_id, which or RowFilter(), rows.c.row)
    return [name for _, name in connection.execute(query.order_by(rows.c.position, rows.c.id))]


def numbers_shown(
    connection: Connection, campaign_id: int, which: RowFilter | None = None
) -> list[int]:
    """Return the numbers in the ledger of all rows that match, in the order of the sheet."""
    query = rows_matching(connection, campaign_id, which or RowFilter())
    return list(connection.scalars(query.order_by(rows.c.position, rows.c.id)))


def videos_shown(
    connection: Connection, campaign_id: int, which: RowFilter | None = None
) -> list[int]:
    """Return the takes, by their numbers in the ledger, whose videos are those of rows that match,
    in the order of the sheet."""
    query = rows_matching(connection, campaign_id, which or RowFilter(), video.c.id)
    query = query.where(video.c.id.is_not(None)).order_by(rows.c.position, rows.c.id)
    return [take for _, take in connection.execute(query)]


def video_of_take(
    connection: Connection, *, campaign_id: int, row: str, take: int | None = None
) -> int | None:
    """Return a take of a row, by the row's id and the take's number, as the ledger numbers it.

    Without a number that of the row's newest video. None where there is none.
    """
    mine = (rows.c.campaign_id == campaign_id, rows.c.row == row)
    query = select(rows.c.video_take_id).where(*mine)
    if take is not None:
        query = select(takes.c.id).join(rows, rows.c.id == takes.c.row_id)
        query = query.where(*mine, takes.c.number == take)
    found: int | None = connection.scalar(query)
    return found


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a row stands in an order: what the order goes by first, its position, its number."""

    by: float
    position: int
    id: int

    @classmethod
    def read(cls, sort: Sort, text: str | None) -> _Place | None:
        if not text:
            return None
        try:
            named, first, position, number = text.split("~")
            place = cls(float(first), int(position), int(number))
            if named == sort and place.is_sound:
                return place
        except ValueError:
            pass
        raise BadInput(
            f'"{text[:80]}" is no place in this order of rows',
            remedy="begin with the first page again",
        )

    def as_text(self, sort: Sort) -> str:
        # Of a moment every bit counts, or a row would be shown twice.
        return f"{sort}~{self.by!r}~{self.position}~{self.id}"

    @property
    def is_sound(self) -> bool:
        """Whether a database takes it."""
        return math.isfinite(self.by) and max(abs(self.position), abs(self.id)) < 2**31


def _places(
    connection: Connection,
    campaign_id: int,
    which: RowFilter,
    sort: Sort,
    after: _Place | None,
    limit: int,
) -> list[_Place]:
    walked = is_walked(connection, campaign_id, which)
    if sort == "since":
        return _by_since(connection, campaign_id, which, after, limit, walked=walked)
    if sort == "sheet":
        return _by_sheet(connection, campaign_id, which, after, limit, walked=walked)
    found: list[_Place] = []
    if after is None or after.by > 0:
        found = _worst(connection, campaign_id, which, after, limit)
    if len(found) < limit and which.word("flagged") != "yes":
        behind = after if after is not None and after.by == 0 else None
        rest = limit - len(found)
        found += _by_sheet(connection, campaign_id, which, behind, rest, walked=walked, clean=True)
    return found


def _by_sheet(
    connection: Connection,
    campaign_id: int,
    which: RowFilter,
    after: _Place | None,
    limit: int,
    *,
    walked: bool,
    clean: bool = False,
) -> list[_Place]:
    """Return places in the order of the sheet; with `clean` only of rows without a flag."""
    # As it stands, SQLite would walk through all in the order of the sheet for a few.
    position: ColumnElement[Any] = rows.c.position if walked else rows.c.position + 0
    query = with_video(select(rows.c.position, rows.c.id).select_from(rows))
    query = matching(query, campaign_id, which, walked=walked)
    if clean:
        query = query.where(func.coalesce(video.c.flagged, 0) == 0)
    if after is not None:
        same = and_(position == after.position, rows.c.id > after.id)
        query = query.where(position >= after.position, or_(position > after.position, same))
    found = connection.execute(query.order_by(position, rows.c.id).limit(limit))
    return [_Place(0.0, position, number) for position, number in found]


def _by_since(
    connection: Connection,
    campaign_id: int,
    which: RowFilter,
    after: _Place | None,
    limit: int,
    *,
    walked: bool,
) -> list[_Place]:
    query = with_video(select(rows.c.since, rows.c.id).select_from(rows))
    query = matching(query, campaign_id, which, walked=walked)
    if after is not None:
        same = and_(rows.c.since == after.by, rows.c.id < after.id)
        query = query.where(or_(rows.c.since < after.by, same))
    query = query.order_by(rows.c.since.desc(), rows.c.id.desc()).limit(limit)
    return [_Place(since, 0, number) for since, number in connection.execute(query)]


def _worst(
    connection: Connection,
    campaign_id: int,
    which: RowFilter,
    after: _Place | None,
    limit: int,
) -> list[_Place]:
    """Return places of rows whose video was flagged, of which there are few."""
    query = with_video(select(video.c.flagged, rows.c.position, rows.c.id).select_from(rows))
    flagged = which & RowFilter.of(flagged="yes")
    query = matching(query, campaign_id, flagged, walked=False)
    if after is not None:
        later = and_(rows.c.position == after.position, rows.c.id > after.id)
        same = and_(video.c.flagged == int(after.by), or_(rows.c.position > after.position, later))
        query = query.where(or_(video.c.flagged < int(after.by), same))
    order = (video.c.flagged.desc(), rows.c.position, rows.c.id)
    found = connection.execute(query.order_by(*order).limit(limit))
    return [_Place(float(flags), position, number) for flags, position, number in found]


# How many rows of a campaign there are of a kind, for anyone who chooses among them. Reads only.


@dataclass(frozen=True, kw_only=True, slots=True)
class Counts:
    """Rows of a campaign in all, by state and by tag; its videos by verdict, and how many of them
    something was found wrong with. Only what there is any of is listed but for `reviews`."""

    total: int
    states: Mapping[State, int]
    tags: Mapping[str, int]
    videos: int
    reviews: Mapping[str, int]
    flagged: int


def counts_of(connection: Connection, campaign_id: int) -> Counts:
    """Return the counts of all rows of a campaign."""
    mine = rows.c.campaign_id == campaign_id
    counted = select(rows.c.state, func.count()).where(mine).group_by(rows.c.state)
    by_state: dict[State, int] = dict(connection.execute(counted).tuples().all())
    said = _reviews(connection, campaign_id)
    videos = sum(said.values())
    return Counts(
        total=sum(by_state.values()),
        states={state: by_state[state] for state in STATES if state in by_state},
        tags=tags_of(connection, campaign_id),
        videos=videos,
        reviews={verdict: said.get(verdict, 0) for verdict in ("keep", "reject", "none")},
        flagged=count_shown(connection, campaign_id, RowFilter.of(flagged="yes")),
    )


def page_figures(
    connection: Connection, campaign: Campaign, which: RowFilter
) -> tuple[Tally, Counts, int]:
    """Return every figure of a campaign's page from one read, so that no two of them disagree."""
    tally = tally_of(connection, campaign)
    counts = counts_of(connection, campaign.id)
    # On PostgreSQL a row can move between two queries: take the states from one of them.
    states = {state: tally.rows[state] for state in STATES if tally.rows.get(state)}
    matching = tally.total if which.is_empty else count_shown(connection, campaign.id, which)
    return tally, replace(counts, total=tally.total, states=states), matching


def _reviews(connection: Connection, campaign_id: int) -> dict[str, int]:
    """Return how many rows have a video with each verdict, and `none` with none."""
    counted = select(func.count(rows.c.video_take_id)).where(rows.c.campaign_id == campaign_id)
    videos = connection.scalar(counted) or 0
    # By their index: a look at every take would read what was asked for, too.
    said = select(takes.c.review, func.count()).join(rows, rows.c.id == takes.c.row_id)
    mine = (takes.c.campaign_id == campaign_id, REVIEWED, takes.c.id == rows.c.video_take_id)
    found: dict[str, int] = dict(
        connection.execute(said.where(*mine).group_by(takes.c.review)).tuples().all()
    )
    return {**found, "none": videos - sum(found.values())}


def tags_of(connection: Connection, campaign_id: int) -> Mapping[str, int]:
    """Return how many rows of a campaign have each tag."""
    query = (
        select(rows.c.tags, func.count())
        .where(rows.c.campaign_id == campaign_id, rows.c.tags != "[]")
        .group_by(rows.c.tags)
    )
    found: Counter[str] = Counter()
    for several, number in connection.execute(query):
        found.update(dict.fromkeys(set(json.loads(several)), number))
    return dict(sorted(found.items()))
