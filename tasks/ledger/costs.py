"""Reads what every take of every campaign cost, for totals over all campaigns. Reads only."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from statistics import median
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, asc, desc, false, func, or_, select

from callsheet.tasks.ledger.row_history import STRIDE
from callsheet.tasks.ledger.schema import calls, campaigns, events, rows, takes
from callsheet.tasks.values.amounts import from_micro


@dataclass(frozen=True, kw_only=True, slots=True)
class CostsOf:
    """Which takes count: those intended from `since` until before `until`, in Unix seconds.

    `sandbox` counts the campaigns of the local sandbox instead of the real ones: test credits and
    real credits are never added up.
    """

    since: float | None = None
    until: float | None = None
    sandbox: bool = False


#: Who approved the take: the last approval of its row before it was intended.
_PERSON = (
    select(events.c.words)
    .where(
        events.c.row_id == takes.c.row_id,
        events.c.new == "approved",
        events.c.at <= takes.c.intended_at,
    )
    .order_by(events.c.id.desc())
    .limit(1)
    .scalar_subquery()
)
_TAKES = (
    takes.join(rows, rows.c.id == takes.c.row_id)
    .join(campaigns, campaigns.c.id == rows.c.campaign_id)
)  # fmt: skip
#: The columns that each grouping needs, besides the amounts.
_NEEDED: Mapping[str, Any] = {
    "campaign": campaigns.c.name.label("campaign"),
    "brand": rows.c.brand,
    "tag": rows.c.tags,
    "cost_center": takes.c.cost_center,
    "tool": takes.c.body,
    "language": takes.c.body,
    "month": None,
    "person": _PERSON.label("person"),
}


def cost_lines(connection: Connection, wanted: CostsOf, *, by: str) -> Iterator[dict[str, Any]]:
    """Yield each take's row, amounts, moment, delivery, and what the grouping needs.

    `by` is a grouping, or the name of an `x_` column, which needs the row's cells.
    """
    column = rows.c.cells if by.startswith("x_") else _NEEDED[by]
    needed = [] if column is None else [column]
    query = (
        select(
            takes.c.row_id.label("row"), takes.c.number.label("take"), takes.c.intended_at,
            takes.c.reserved, takes.c.charged, takes.c.delivered_at, *needed,
        )
        .select_from(_TAKES)
        .where(_counts(wanted))
    )  # fmt: skip
    with connection.execution_options(yield_per=STRIDE).execute(query) as found:
        for one in found:
            line = one._asdict()
            line["reserved"] = from_micro(line["reserved"] or 0)
            line["charged"] = from_micro(line["charged"] or 0)
            for name in ("tags", "body", "cells"):
                if name in line:
                    line[name] = json.loads(line[name] or "null")
            yield line


def charged_in(connection: Connection, wanted: CostsOf) -> Decimal:
    """Return what all takes that count were charged."""
    query = select(func.coalesce(func.sum(takes.c.charged), 0)).select_from(_TAKES)
    return from_micro(int(connection.scalar(query.where(_counts(wanted))) or 0))


#: So many charges of one operation say what is usual, at least and at most: the newest.
TELLING, NEWEST = 3, 1000


def usual_charges(
    connection: Connection, operations: Iterable[str], *, sandbox: bool
) -> dict[str, Decimal]:
    """Return what is usually charged for edits and clips, which have no quote, by operation.

    It is the median of what those that were delivered were charged, over all campaigns.
    """
    query = (
        select(takes.c.charged)
        .join(calls, calls.c.take_id == takes.c.id)
        .join(campaigns, campaigns.c.id == takes.c.campaign_id)
        .where(takes.c.delivered_at.is_not(None), takes.c.charged.is_not(None), _is_of(sandbox))
        .order_by(takes.c.id.desc())
        .limit(NEWEST)
    )
    found = {one: connection.scalars(query.where(calls.c.operation == one)) for one in operations}
    charges = {operation: list(several) for operation, several in found.items()}
    return {
        operation: from_micro(round(median(several)))
        for operation, several in charges.items()
        if len(several) >= TELLING
    }


def headers_of_all(connection: Connection, *, sandbox: bool) -> set[str]:
    """Return the headers of all campaigns' sheets: each row has those of its whole sheet.

    The first row of a campaign and the last, which may have left its sheet, are read alone.
    """
    one = rows.alias()
    ends = [
        select(one.c.id)
        .where(one.c.campaign_id == campaigns.c.id)
        .order_by(way(one.c.position), way(one.c.id))
        .limit(1)
        .scalar_subquery()
        for way in (asc, desc)
    ]
    query = select(rows.c.cells).select_from(campaigns).join(rows, rows.c.id.in_(ends))
    found = connection.scalars(query.where(_is_of(sandbox)))
    return {header for text in found for header, _ in json.loads(text)}


def _is_of(sandbox: bool) -> ColumnElement[bool]:
    known = campaigns.c.sandbox
    return known.is_(True) if sandbox else or_(known.is_(None), known == false())


def _counts(wanted: CostsOf) -> ColumnElement[bool]:
    parts = [_is_of(wanted.sandbox)]
    if wanted.since is not None:
        parts.append(takes.c.intended_at >= wanted.since)
    if wanted.until is not None:
        parts.append(takes.c.intended_at < wanted.until)
    return and_(*parts)
