"""What a run may carry of a campaign: which rows, and in which order they go.

A hundred thousand of them are named here, so that nothing is read which the order does not need;
whole rows are read by their numbers when their turn comes (`values.rows_by_number`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, select

from callsheet.tasks.ledger.schema import rows
from callsheet.tasks.ledger.states import UNDER_WAY, State

#: Rows that are fetched at once.
FETCHED = 1000


class RowToCarry(NamedTuple):
    """A row that waits to be carried; `number` is `CampaignRow.id`, `position` its place in the
    sheet."""

    number: int
    row: str
    state: State
    operation: str
    position: int = 0


def rows_to_carry(connection: Connection, campaign_id: int) -> Iterator[RowToCarry]:
    """Yield what is approved or under way: higher priority first, then in the sheet's order."""
    states = ("approved", *sorted(UNDER_WAY))
    query = (
        select(rows.c.id, rows.c.row, rows.c.state, rows.c.operation, rows.c.position)
        .where(rows.c.campaign_id == campaign_id, rows.c.state.in_(states))
        .order_by(rows.c.priority.desc(), rows.c.position, rows.c.id)
        .execution_options(yield_per=FETCHED)
    )
    for found in connection.execute(query):
        yield RowToCarry(*found)


def names_of_rows(connection: Connection, numbers: Sequence[int]) -> dict[int, str]:
    """Return the ids of some rows by their numbers; few are asked for at once."""
    query = select(rows.c.id, rows.c.row).where(rows.c.id.in_(numbers))
    return dict(connection.execute(query).tuples().all())
