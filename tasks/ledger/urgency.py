"""Which rows of a campaign matter most at the end of a run. Reads only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from sqlalchemy import Connection, select

from callsheet.tasks.ledger.schema import events, rows
from callsheet.tasks.ledger.states import NEEDS_PERSON, STATES, State
from callsheet.tasks.ledger.values import CampaignRow, rows_by_number

_DONE: frozenset[State] = frozenset({"delivered", "retired"})
_REST = frozenset(STATES) - NEEDS_PERSON - _DONE
_MINE = select(rows.c.id, rows.c.row, rows.c.position)
#: Events that are fetched at once.
FETCHED = 500


class _Named(NamedTuple):
    """A row by its number in the ledger, its id and its place in the sheet."""

    number: int
    row: str
    position: int


def urgent_rows(
    connection: Connection,
    campaign_id: int,
    *,
    limit: int,
    wanted: Callable[[str], bool] | None = None,
) -> list[CampaignRow]:
    """Return at most so many rows: those that need somebody, then what is not done, then videos.

    With `wanted` only of the rows that it chooses by their ids. Of the videos there are the newest;
    each kind of row is in sheet order. No more is read than is returned, as far as that goes.
    """
    found: dict[int, _Named] = {}
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
    """Return at most so many rows that need somebody, in sheet order; with `wanted` of those."""
    found = _first(_in_states(connection, campaign_id, NEEDS_PERSON), wanted, limit)
    return rows_by_number(connection, [*found])


def _first(
    several: Iterable[_Named], wanted: Callable[[str], bool] | None, limit: int
) -> dict[int, _Named]:
    """Return the first so many that are wanted, by number."""
    chosen = (row for row in several if wanted is None or wanted(row.row))
    return {row.number: row for row in islice(chosen, max(0, limit))}


def _in_states(
    connection: Connection, campaign_id: int, states: Iterable[State]
) -> Iterator[_Named]:
    """Yield the rows in some states, in sheet order."""
    query = (
        _MINE.where(rows.c.campaign_id == campaign_id, rows.c.state.in_(sorted(states)))
        # As it stands, SQLite would find some by walking through all in the order of the sheet.
        .order_by(rows.c.position + 0, rows.c.id)
    )
    yield from (_Named(*found) for found in connection.execute(query))


def _newest(connection: Connection, campaign_id: int) -> Iterator[_Named]:
    """Yield each delivered or retired row once, the one that was heard of last first."""
    query = (
        _MINE.select_from(events)
        .join(rows, rows.c.id == events.c.row_id)
        .where(events.c.campaign_id == campaign_id, rows.c.state.in_(sorted(_DONE)))
        .order_by(events.c.id.desc())
        .execution_options(yield_per=FETCHED)
    )
    seen: set[int] = set()
    with connection.execute(query) as several:
        for found in several:
            if found.id not in seen:
                seen.add(found.id)
                yield _Named(*found)


def _newest_of_all(connection: Connection, campaign_id: int) -> Iterator[_Named]:
    """Yield as `_newest` does: where most are not wanted, all rows are fewer than their events."""
    query = (
        _MINE.where(rows.c.campaign_id == campaign_id, rows.c.state.in_(sorted(_DONE)))
        .order_by(rows.c.since.desc(), rows.c.id)
        .execution_options(yield_per=FETCHED)
    )
    with connection.execute(query) as several:
        yield from (_Named(*found) for found in several)
