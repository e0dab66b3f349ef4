"""Rows as they are now, for whoever shows a plan of them or approves one: locked, then read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import NamedTuple

from sqlalchemy import Connection, func, select

from callsheet.tasks.ledger.figures import pages_of
from callsheet.tasks.ledger.records import Records
from callsheet.tasks.ledger.schema import campaigns, rows, takes
from callsheet.tasks.ledger.values import State
from callsheet.tasks.values.amounts import from_micro


class PresentRow(NamedTuple):
    """A row as it is: by `id` in the ledger, `take` is the number of its present take, 0 for none.

    `kept` says whether someone keeps that take; `quoted` is its price in credits.
    """

    row: str
    id: int
    state: State
    digest: str
    nth: int
    cost_center: str | None
    reason: str | None
    quoted: Decimal | None
    take: int
    kept: bool


def lock_campaign(connection: Connection, name: str) -> bool:
    """Have no one else change a campaign until this transaction ends; False where there is none."""
    # Whoever writes an event of the campaign, which refers to it, does not wait.
    query = select(campaigns.c.id).where(campaigns.c.name == name)
    return connection.scalar(query.with_for_update(key_share=True)) is not None


def present_rows(
    connection: Connection, campaign_id: int, names: Iterable[str], *, locked: bool = True
) -> Mapping[str, PresentRow]:
    """Return rows of a campaign by id.

    If `locked`, no one else changes them until this transaction ends.
    """
    found: dict[str, PresentRow] = {}
    for page in pages_of(names):
        these = rows.c.campaign_id == campaign_id, rows.c.row.in_(page)
        if locked:
            # Locked first and read after: PostgreSQL reads a statement's other tables as they were
            # before it waited, and someone may just have kept one of the videos.
            lock = select(rows.c.id).where(*these).order_by(rows.c.id).with_for_update()
            connection.execute(lock).all()
        found |= {row.row: row for row in _PRESENT.all(connection, _PRESENT.query.where(*these))}
    return found


_PRESENT = Records(
    PresentRow,
    rows,
    joined=rows.outerjoin(takes, takes.c.id == rows.c.take_id),
    take=func.coalesce(takes.c.number, 0),
    kept=takes.c.review.is_not_distinct_from("keep"),
)


def approved_credits(connection: Connection, campaign_id: int) -> Decimal:
    """Return what the approved rows of a campaign will set aside once they begin."""
    query = select(func.sum(rows.c.quoted)).where(
        rows.c.campaign_id == campaign_id, rows.c.state == "approved"
    )
    return from_micro(connection.scalar(query) or 0)
