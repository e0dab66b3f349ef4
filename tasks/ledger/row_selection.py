"""Which rows of a campaign are meant: those of a filter, rows to process, and the most urgent rows.

The database alone applies a filter, so that what is counted, what is shown and what a bulk act is
about are the same rows.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    Text,
    and_,
    cast,
    exists,
    false,
    func,
    literal,
    literal_column,
    not_,
    or_,
    select,
)

from callsheet.tasks.ledger.dialect import AsciiFolded, Elements, Folded, Like, Member, Within
from callsheet.tasks.ledger.records import Records
from callsheet.tasks.ledger.row_filter import CHOICES, KNOWN, RowFilter, Term
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

#: From this part of a campaign's rows on it is quicker to walk through all of them in order.
MANY = 1 / 8


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
    for term in which.terms:
        if term.names_rows and all(one.exact for one in term.patterns):
            yield select(literal(len(term.patterns)))
    if which.states is not None:
        mine = and_(rows.c.campaign_id == campaign_id, rows.c.state.in_(which.states))
        yield select(func.count()).select_from(rows).where(mine)
    for these in _by_index(campaign_id, which):
        yield select(func.count()).select_from(these.subquery())


def _by_index(campaign_id: int, which: RowFilter) -> Iterator[Select[Any]]:
    """Yield the numbers of rows that an index other than those of `rows` finds."""
    mine = select(takes.c.row_id).where(takes.c.campaign_id == campaign_id)
    for term in which.terms:
        if not term.wanted:
            continue
        if term.name == "review" and "none" not in term.choices:
            yield mine.where(takes.c.review.in_(term.choices), REVIEWED)
        if term.name == "client" and "none" not in term.choices:
            yield mine.where(takes.c.client_review.in_(term.choices), CLIENT_REVIEWED)
        if term.name == "flagged" and "no" not in term.choices:
            yield mine.where(FLAGGED_TAKE)
        if term.name == "takes" and (least := min(int(one.text) for one in term.patterns)) > 1:
            yield mine.where(NOT_FIRST, takes.c.number >= least)


def rows_matching(
    connection: Connection, campaign_id: int, which: RowFilter, *columns: Any
) -> Select[Any]:
    """Return a query of the numbers of all rows that match, and of `columns`; in no order."""
    walked = is_walked(connection, campaign_id, which)
    query = with_video(select(rows.c.id, *columns).select_from(rows))
    return matching(query, campaign_id, which, walked=walked)


def matching(
    query: Select[Any], campaign_id: int, which: RowFilter, *, walked: bool
) -> Select[Any]:
    """Return a query of rows, from `with_video`, with the filter's conditions; in no order."""
    query = query.where(rows.c.campaign_id == campaign_id)
    if which.states is not None:
        # SQLite would take an index for anything that it is not kept from: see `is_walked`.
        state = rows.c.state.concat("") if walked else rows.c.state
        query = query.where(state.in_(which.states))
    if not walked:
        for these in _by_index(campaign_id, which):
            query = query.where(rows.c.id.in_(these))
    return query.where(*(_condition(term) for term in which.terms if term.name != "state"))


def _condition(term: Term) -> ColumnElement[bool]:
    """Return when a term holds: what `RowFilter.matches` says of a row of a sheet."""
    found = or_(*_alternatives(term))
    # What is not known, of a row that has no video, is not so.
    return found if term.wanted else not_(func.coalesce(found, false()))


def _alternatives(term: Term) -> Iterator[ColumnElement[bool]]:
    if term.name in CHOICES:
        yield from (_OF_VIDEO[term.name, word] for word in term.choices)
    elif term.name in KNOWN:
        yield from (_of_ledger(term.name, one.text) for one in term.patterns)
    elif term.name == "tag":
        tag = Elements(rows.c.tags).table_valued("value").alias("tag")
        found = exists(select(literal(1)).select_from(tag).where(_fits(tag.c.value, term)))
        yield and_(rows.c.tags != "[]", *_mentions(rows.c.tags, term), found.correlate(rows))
    elif term.name in ("row", "operation"):
        yield _fits(rows.c[term.name], term)
    elif term.name in _COLUMNS:
        yield _fits(func.coalesce(rows.c[_COLUMNS[term.name]], ""), term)
    else:
        asked = func.coalesce(cast(_asked(term.name), Text), "")
        yield and_(*_mentions(rows.c.request, term), _fits(asked, term))


_FLAGS = func.coalesce(video.c.flagged, 0)
_OF_VIDEO: Mapping[tuple[str, str], ColumnElement[bool]] = {
    ("video", "yes"): video.c.id.is_not(None),
    ("video", "no"): video.c.id.is_(None),
    ("review", "keep"): video.c.review == "keep",
    ("review", "reject"): video.c.review == "reject",
    ("review", "none"): and_(video.c.id.is_not(None), video.c.review.is_(None)),
    ("client", "keep"): video.c.client_review == "keep",
    ("client", "reject"): video.c.client_review == "reject",
    ("client", "none"): and_(video.c.id.is_not(None), video.c.client_review.is_(None)),
    ("flagged", "yes"): _FLAGS > 0,
    ("flagged", "no"): and_(video.c.id.is_not(None), _FLAGS == 0),
}


#: The columns that rows may have for what they are filtered by; anything else is in the request.
_COLUMNS = {
    "cost_center": "cost_center",
    "tool": "tool",
    "language": "language",
    "aspect_ratio": "ratio",
}


def _mentions(document: ColumnElement[Any], term: Term) -> Iterator[ColumnElement[bool]]:
    """Yield whether JSON has the words of a term at all: searching is faster than parsing."""
    words = [one.text for one in term.patterns if one.is_word]
    if len(words) == len(term.patterns) and all(map(_is_plain, words)):
        yield or_(*(_has(document, word) for word in words))


def _is_plain(word: str) -> bool:
    """Whether JSON writes a word as it is, and LIKE compares it without regard to case."""
    return bool(word) and word.isascii() and word.isprintable() and not {*word} & {*'"\\'}


def _has(text: ColumnElement[Any], word: str) -> ColumnElement[bool]:
    """Return whether a text contains a plain word."""
    return Like(text, f"%{_as_like(word)}%")


def _as_like(text: str) -> str:
    return re.sub(r"([%_\\])", r"\\\1", text)


def _asked(name: str) -> ColumnElement[str]:
    # No parameter, with which it would be another expression each time to PostgreSQL.
    return Member(rows.c.request, literal_column(f"'{name}'"))


def _of_ledger(name: str, text: str) -> ColumnElement[bool]:
    if name == "since":
        return video.c.delivered_at > float(text)
    if name == "until":
        return video.c.delivered_at <= float(text)
    if name == "takes":
        again = exists().where(takes.c.row_id == rows.c.id, takes.c.number >= int(text))
        return again.correlate(rows)
    said: list[ColumnElement[Any]] = [rows.c.row, rows.c.title]
    said += [rows.c.reason, _asked("topic")] if name == "q" else []
    if not _is_plain(text):
        return or_(*(Within(Folded(one), text.lower()) for one in said))
    # A request that does not have the text at all need not be parsed for its topic.
    *others, last = (_has(one, text) for one in said)
    return or_(*others, and_(_has(rows.c.request, text), last) if name == "q" else last)


def _fits(text: ColumnElement[Any], term: Term) -> ColumnElement[bool]:
    """Return whether a text is one of a term's patterns."""
    exact = [one.text for one in term.patterns if one.exact]
    words = [one.text.lower() for one in term.patterns if one.is_word and not one.exact]
    found = [text.in_(exact)] if exact else []
    folded = _folded(text, *(one.text for one in term.patterns))
    found += [folded.in_(words)] if words else []
    for one in term.patterns:
        if not one.is_word:
            pattern = _as_like(one.text.lower())
            pattern = pattern.replace("*", "%").replace("?", "_")
            found.append(folded.like(pattern, escape="\\"))
    return or_(*found)


def _folded(text: ColumnElement[Any], *words: str) -> ColumnElement[str]:
    """Return a text to be compared with words in lower case."""
    # What SQLite has for it knows no letter beyond ASCII, and is much quicker than ours.
    return AsciiFolded(text) if "".join(words).isascii() else Folded(text)


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


def variety_of(connection: Connection, campaign_id: int, *, which: RowFilter) -> Variety:
    """Return what the rows of a campaign that match ask for; a look at every one."""
    columns = (rows.c.language, rows.c.ratio, rows.c.tool)
    mine = rows_matching(connection, campaign_id, which, *columns).subquery()
    asked = [mine.c[column.key] for column in columns]
    counted = select(*asked, func.count()).group_by(*asked)
    found: tuple[Counter[str], ...] = (Counter(), Counter(), Counter())
    for *values, number in connection.execute(counted):
        for counter, value in zip(found, values, strict=True):
            if value:
                counter[value] += number
    languages, ratios, tools = (dict(counter.most_common()) for counter in found)
    return Variety(languages=languages, ratios=ratios, tools=tools)
