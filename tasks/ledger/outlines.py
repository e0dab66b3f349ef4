"""Outlines: what is read of every row of a campaign, enough to tell whether anything is to be done.

A campaign of 100,000 rows is compared by these; a whole row is read where more is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple, TypeVar

from sqlalchemy import Connection, func, select

from callsheet.tasks.ledger.figures import total
from callsheet.tasks.ledger.schema import rows, takes
from callsheet.tasks.ledger.states import State

T = TypeVar("T")

#: Rows that are read or named at once: SQLite takes no more than 32,766 values, of old 999.
PAGE = 500


class Outline(NamedTuple):
    """A row by its digests; amounts are millionths of a credit, `charged` that of all its takes."""

    id: int
    row: str
    state: State
    digest: str
    wishes: str | None
    position: int
    line: int
    quoted: int | None
    take_id: int | None
    charged: int | None


_CHARGED = select(total(takes.c.charged)).where(takes.c.row_id == rows.c.id).scalar_subquery()
_OUTLINE = select(
    rows.c.id,
    rows.c.row,
    rows.c.state,
    rows.c.digest,
    rows.c.wishes,
    rows.c.position,
    rows.c.line,
    rows.c.quoted,
    rows.c.take_id,
    _CHARGED,
).order_by(rows.c.position, rows.c.id)


def outlines_of(
    connection: Connection, campaign_id: int, *, named: Sequence[str] | None = None
) -> dict[str, Outline]:
    """Return the outlines of a campaign's rows by id, in sheet order; optionally of some."""
    states: dict[str, str] = {}
    found: dict[str, Outline] = {}
    query = _OUTLINE.where(rows.c.campaign_id == campaign_id)
    if named is not None:
        # As it stands, SQLite would find some by walking through all in the order of the sheet.
        query = query.where(rows.c.row.in_(named)).order_by(None)
    for line in connection.execute(query):
        number, row, state, *rest = line
        # One text for a state, and not one for every row.
        found[row] = Outline(number, row, states.setdefault(state, state), *rest)  # type: ignore[arg-type]
    return found


def numbers_of(connection: Connection, campaign_id: int) -> list[int]:
    """Return the numbers in the ledger of a campaign's rows, in sheet order."""
    mine = select(rows.c.id).where(rows.c.campaign_id == campaign_id)
    return list(connection.scalars(mine.order_by(rows.c.position, rows.c.id)))


def endings_of(
    connection: Connection, campaign_id: int, wanted: Callable[[str], bool] | None
) -> set[State]:
    """Return the states in which rows are that are switched on: all of them, or those `wanted`."""
    mine = (rows.c.campaign_id == campaign_id, rows.c.enabled)
    if wanted is None:
        return set(connection.scalars(select(rows.c.state).where(*mine).distinct()))
    found = connection.execute(select(rows.c.row, rows.c.state).where(*mine))
    return {state for row, state in found if wanted(row)}


def count_wanted(
    connection: Connection, campaign_id: int, wanted: Callable[[str], bool] | None
) -> int:
    """Return how many rows a campaign has: all of them, or those `wanted`, by their ids."""
    mine = rows.c.campaign_id == campaign_id
    if wanted is None:
        return connection.scalar(select(func.count()).where(mine)) or 0
    return sum(map(wanted, connection.scalars(select(rows.c.row).where(mine))))


def pages_of(several: Iterable[T], size: int = PAGE) -> Iterator[Sequence[T]]:
    """Yield so many at a time."""
    rest = iter(several)
    while page := list(islice(rest, size)):
        yield page
