"""Which rows of a campaign are meant: filters, rows to process, and the most urgent rows.

A filter is what stands in the address of a page: the database alone applies it, so that what is
counted, what is shown and what a bulk act is about are the same rows. Knows no address.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    and_,
    exists,
    func,
    literal,
    literal_column,
    or_,
    select,
    true,
)

from callsheet.tasks.ledger.dialect import Folded, Member, Within
from callsheet.tasks.ledger.records import Records
from callsheet.tasks.ledger.schema import (
    CLIENT_REVIEWED,
    MADE_FIRST,
    NOT_FIRST,
    REVIEWED,
    events,
    rows,
    takes,
)
from callsheet.tasks.ledger.schema import FLAGGED as FLAGGED_TAKE
from callsheet.tasks.ledger.values import (
    NEEDS_PERSON,
    STATES,
    UNDER_WAY,
    CampaignRow,
    State,
    rows_by_number,
)

#: How a video stands with people: kept, rejected, or not reviewed yet.
ReviewFilter = Literal["keep", "reject", "none"]
#: From this part of a campaign's rows on it is quicker to walk through all of them in order.
MANY = 1 / 8


@dataclass(frozen=True, kw_only=True, slots=True)
class RowFilter:
    """Conditions that all hold; what is empty or None asks for nothing.

    What is said of a video (`review`, `client`, `flagged`, `video`, `since`, `until`) is said of
    the newest that the row has; `review="none"` are videos that are not reviewed yet, `client` is
    what the client says of it. `takes` is how many takes a row has at least, `since` and `until`
    when its video was delivered (Unix seconds: later than the one, no later than the other). `q` is
    looked for in id, title and reason.
    """

    states: Collection[State] = ()
    tag: str | None = None
    review: ReviewFilter | None = None
    client: ReviewFilter | None = None
    q: str | None = None
    flagged: bool | None = None
    language: str | None = None
    ratio: str | None = None
    tool: str | None = None
    takes: int | None = None
    video: bool | None = None
    since: float | None = None
    until: float | None = None
    rows: Collection[str] = ()

    @property
    def is_empty(self) -> bool:
        """Whether it asks for every row."""
        return self == RowFilter()


#: The video of a row, next to it (`with_video`).
video = takes.alias("video")


def with_video(query: Select[Any]) -> Select[Any]:
    """Put the take of each row's video next to the row."""
    return query.outerjoin(video, video.c.id == rows.c.video_take_id)


def is_walked(connection: Connection, campaign_id: int, which: RowFilter) -> bool:
    """Whether so many rows may match that they are found soonest in the order of the sheet.

    Else they are found by what is rare about them. Counts by state and by verdict are read from
    indexes alone.
    """
    found = list(_few(campaign_id, which))
    if not found:
        return True
    mine = rows.c.campaign_id == campaign_id
    all_rows = connection.scalar(select(func.count()).select_from(rows).where(mine)) or 0
    return all((connection.scalar(query) or 0) > MANY * all_rows for query in found)


def _few(campaign_id: int, which: RowFilter) -> Iterator[Select[Any]]:
    """Yield how many rows each condition lets through that has an index of its own."""
    if which.rows:
        yield select(literal(len(which.rows)))
    if which.states:
        mine = and_(rows.c.campaign_id == campaign_id, rows.c.state.in_(sorted(which.states)))
        yield select(func.count()).select_from(rows).where(mine)
    for these in _by_index(campaign_id, which):
        yield select(func.count()).select_from(these.subquery())


def _by_index(campaign_id: int, which: RowFilter) -> Iterator[Select[Any]]:
    """Yield the numbers of rows that an index other than those of `rows` finds."""
    if which.review in ("keep", "reject"):
        mine = (takes.c.campaign_id == campaign_id, takes.c.review == which.review)
        yield select(takes.c.row_id).where(*mine, REVIEWED)
    if which.client in ("keep", "reject"):
        mine = (takes.c.campaign_id == campaign_id, takes.c.client_review == which.client)
        yield select(takes.c.row_id).where(*mine, CLIENT_REVIEWED)
    if which.flagged:
        yield select(takes.c.row_id).where(takes.c.campaign_id == campaign_id, FLAGGED_TAKE)
    if which.takes is not None and which.takes > 1:
        yield select(takes.c.row_id).where(
            takes.c.campaign_id == campaign_id, NOT_FIRST, takes.c.number >= which.takes
        )


def matching(
    query: Select[Any], campaign_id: int, which: RowFilter, *, walked: bool
) -> Select[Any]:
    """Return a query of rows, from `with_video`, with the filter's conditions; in no order."""
    query = query.where(rows.c.campaign_id == campaign_id)
    # SQLite would take an index for anything that it is not kept from: see `is_walked`.
    state = rows.c.state.concat("") if walked else rows.c.state
    if which.states:
        query = query.where(state.in_(sorted(which.states)))
    if which.rows:
        query = query.where(rows.c.row.in_(sorted(which.rows)))
    if not walked:
        for these in _by_index(campaign_id, which):
            query = query.where(rows.c.id.in_(these))
    elif which.takes is not None:
        query = query.where(_taken(which.takes))
    return query.where(_of_video(which), *_of_words(which))


def _taken(times: int) -> ColumnElement[bool]:
    again = exists().where(takes.c.row_id == rows.c.id, takes.c.number >= times)
    return again.correlate(rows)


def _of_video(which: RowFilter) -> ColumnElement[bool]:
    wanted: list[ColumnElement[bool]] = [true()]
    if which.video is not None:
        wanted.append(video.c.id.is_not(None) if which.video else video.c.id.is_(None))
    if which.review == "none":
        wanted += [video.c.id.is_not(None), video.c.review.is_(None)]
    elif which.review is not None:
        wanted.append(video.c.review == which.review)
    if which.client == "none":
        wanted += [video.c.id.is_not(None), video.c.client_review.is_(None)]
    elif which.client is not None:
        wanted.append(video.c.client_review == which.client)
    if which.flagged is not None:
        count = func.coalesce(video.c.flagged, 0)
        wanted.append(count > 0 if which.flagged else and_(video.c.id.is_not(None), count == 0))
    if which.since is not None:
        wanted.append(video.c.delivered_at > which.since)
    if which.until is not None:
        wanted.append(video.c.delivered_at <= which.until)
    return and_(*wanted)


def _of_words(which: RowFilter) -> Iterator[ColumnElement[bool]]:
    if which.tag:
        # As it stands in the list, with its quotes: a part of another tag is none.
        yield _holds(rows.c.tags, json.dumps(which.tag, ensure_ascii=False))
    for name in ("language", "ratio", "tool"):
        if value := getattr(which, name):
            yield rows.c[name] == value
    if which.q and which.q.strip():
        words = which.q.strip()
        # No parameter, with which it would be another expression each time to PostgreSQL.
        topic = Member(rows.c.request, literal_column("'topic'"))
        said = (rows.c.row, rows.c.title, topic, rows.c.reason)
        yield or_(*(_holds(one, words) for one in said))


def _holds(text: ColumnElement[Any], words: str) -> ColumnElement[bool]:
    return Within(Folded(text), Folded(words))


# What a run may process of a campaign: which rows, and in which order they go.
#
# A hundred thousand of them are named here, so that nothing is read which the order does not need;
# whole rows are read by their numbers when their turn comes (`values.rows_by_number`).


#: Rows that are fetched at once.
FETCHED = 1000


class RowToProcess(NamedTuple):
    """A row that waits to be processed; `number` is `CampaignRow.id`, `position` its place in the
    sheet."""

    number: int
    row: str
    state: State
    operation: str
    position: int = 0


_NAMED = Records(RowToProcess, rows, number=rows.c.id)


def rows_to_process(connection: Connection, campaign_id: int) -> Iterator[RowToProcess]:
    """Yield what is approved or under way, in the order in which it is made."""
    states = ("approved", *sorted(UNDER_WAY))
    query = (
        _NAMED.query.where(rows.c.campaign_id == campaign_id, rows.c.state.in_(states))
        .order_by(*MADE_FIRST)
        .execution_options(yield_per=FETCHED)
    )
    yield from map(_NAMED.read, connection.execute(query))


def names_of_rows(connection: Connection, numbers: Sequence[int]) -> dict[int, str]:
    """Return the ids of some rows by their numbers; few are asked for at once."""
    query = select(rows.c.id, rows.c.row).where(rows.c.id.in_(numbers))
    return dict(connection.execute(query).tuples().all())


# Which rows of a campaign matter most at the end of a run. Reads only.


_DONE: frozenset[State] = frozenset({"delivered", "retired"})
_REST = frozenset(STATES) - NEEDS_PERSON - _DONE
#: Events that are fetched at once.
URGENT_FETCHED = 500


def urgent_rows(
    connection: Connection,
    campaign_id: int,
    *,
    limit: int,
    wanted: Callable[[str], bool] | None = None,
) -> list[CampaignRow]:
    """Return at most so many rows: those that need attention, then what is not done, then videos.

    With `wanted` only of the rows that it chooses by their ids. Of the videos there are the newest;
    each kind of row is in sheet order. No more is read than is returned, as far as that goes.
    """
    found: dict[int, RowToProcess] = {}
    for states in (NEEDS_PERSON, _REST):
        found |= _first(_in_states(connection, campaign_id, states), wanted, limit - len(found))
    videos = _newest if wanted is None else _newest_of_all
    newest = _first(videos(connection, campaign_id), wanted, limit - len(found))
    ordered = sorted(newest.values(), key=lambda row: (row.position, row.number))
    return rows_by_number(connection, [*found, *(row.number for row in ordered)])


def rows_for_a_person(
    connection: Connection,
    campaign_id: int,
    *,
    limit: int,
    wanted: Callable[[str], bool] | None = None,
) -> list[CampaignRow]:
    """Return at most so many rows that need attention, in sheet order; with `wanted` of those."""
    found = _first(_in_states(connection, campaign_id, NEEDS_PERSON), wanted, limit)
    return rows_by_number(connection, [*found])


def _first(
    several: Iterable[RowToProcess], wanted: Callable[[str], bool] | None, limit: int
) -> dict[int, RowToProcess]:
    """Return the first so many that are wanted, by number."""
    chosen = (row for row in several if wanted is None or wanted(row.row))
    return {row.number: row for row in islice(chosen, max(0, limit))}


def _in_states(
    connection: Connection, campaign_id: int, states: Iterable[State]
) -> Iterator[RowToProcess]:
    """Yield the rows in some states, in sheet order."""
    mine = (rows.c.campaign_id == campaign_id, rows.c.state.in_(sorted(states)))
    # As it stands, SQLite would find some by walking through all in the order of the sheet.
    query = _NAMED.query.where(*mine).order_by(rows.c.position + 0, rows.c.id)
    yield from map(_NAMED.read, connection.execute(query))


def _newest(connection: Connection, campaign_id: int) -> Iterator[RowToProcess]:
    """Yield each delivered or retired row once, the one that was observed last first."""
    query = (
        _NAMED.query.select_from(events)
        .join(rows, rows.c.id == events.c.row_id)
        .where(events.c.campaign_id == campaign_id, rows.c.state.in_(sorted(_DONE)))
        .order_by(events.c.id.desc())
        .execution_options(yield_per=URGENT_FETCHED)
    )
    seen: set[int] = set()
    with connection.execute(query) as several:
        for found in map(_NAMED.read, several):
            if found.number not in seen:
                seen.add(found.number)
                yield found


def _newest_of_all(connection: Connection, campaign_id: int) -> Iterator[RowToProcess]:
    """Yield as `_newest` does: where most are not wanted, all rows are fewer than their events."""
    query = (
        _NAMED.query.where(rows.c.campaign_id == campaign_id, rows.c.state.in_(sorted(_DONE)))
        .order_by(rows.c.since.desc(), rows.c.id)
        .execution_options(yield_per=URGENT_FETCHED)
    )
    with connection.execute(query) as several:
        yield from map(_NAMED.read, several)


# What the rows of a campaign are told apart by: languages, ratios and tools. Reads only.


@dataclass(frozen=True, kw_only=True, slots=True)
class Variety:
    """How many rows there are of each, the most common first; without what no row says."""

    languages: Mapping[str, int]
    ratios: Mapping[str, int]
    tools: Mapping[str, int]


def variety_of(connection: Connection, campaign_id: int) -> Variety:
    """Return what the rows of a campaign ask for; a look at every row."""
    columns = (rows.c.language, rows.c.ratio, rows.c.tool)
    mine = select(*columns, func.count()).where(rows.c.campaign_id == campaign_id)
    found: tuple[Counter[str], ...] = (Counter(), Counter(), Counter())
    for *values, number in connection.execute(mine.group_by(*columns)):
        for counter, value in zip(found, values, strict=True):
            if value:
                counter[value] += number
    languages, ratios, tools = (dict(counter.most_common()) for counter in found)
    return Variety(languages=languages, ratios=ratios, tools=tools)
