"""What a manifest says was charged for rows, and no take of this ledger shows.

A row that left its sheet, or was changed since, is not restored. What it cost counts all the same,
as a take without a video that is never taken up. Knows no store and no HTTP.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, delete, func, insert, select, update

from callsheet.tasks.ledger.accounts import book, count_past
from callsheet.tasks.ledger.figures import pages_of, total
from callsheet.tasks.ledger.moves import note
from callsheet.tasks.ledger.schema import TOLD, earlier_takes, rows, takes
from callsheet.tasks.ledger.sync import GONE
from callsheet.tasks.ledger.values import rows_of
from callsheet.tasks.values.amounts import from_micro, in_credits, parse_credits, to_micro
from callsheet.tasks.values.briefs import CREATE, canonical_json


class ToldCost(NamedTuple):
    """What a line of a manifest says of a row, and the part of it that is not known here.

    In millionths; `sent_at` in Unix seconds.
    """

    row: str
    line: Mapping[str, Any]
    sent_at: float
    missing: int


def told_costs(connection: Connection, campaign_id: int) -> list[ToldCost]:
    """Return the rows that cost more, as manifests say, than the takes of this ledger show."""
    query = select(earlier_takes).where(
        earlier_takes.c.campaign_id == campaign_id, earlier_takes.c.line.is_not(None)
    )
    told: dict[str, ToldCost] = {}
    for found in connection.execute(query):
        line = json.loads(found.line)
        cost = to_micro(parse_credits(line.get("charged"))) or 0
        if cost > (told[found.row].missing if found.row in told else 0):
            sent_at = found.noted_at if found.sent_at is None else found.sent_at
            told[found.row] = ToldCost(found.row, line, sent_at, cost)
    missing: list[ToldCost] = []
    for page in pages_of(list(told)):
        known = _known_costs(connection, campaign_id, page)
        beyond = [told[row]._replace(missing=told[row].missing - known.get(row, 0)) for row in page]
        missing += [one for one in beyond if one.missing > 0]
    return missing


def count_told(
    connection: Connection, campaign_id: int, found: Sequence[ToldCost], *, at: float
) -> None:
    """Count such costs in every account; a row that is not in this ledger is retired in it."""
    for page in pages_of(found):
        named = [one.row for one in page]
        there = {row.row for row in rows_of(connection, campaign_id, named=named)}
        if new := [one for one in page if one.row not in there]:
            connection.execute(insert(rows), [_retired(campaign_id, one, at) for one in new])
        of_row = {row.row: row for row in rows_of(connection, campaign_id, named=named)}
        for one in page:
            row = of_row[one.row]
            take_id = _add_take(connection, campaign_id, row.id, one, at=at)
            count_past(
                connection, row, take_id=take_id, at=one.sent_at, reserved=0, cost=one.missing
            )
            cost = in_credits(from_micro(one.missing))
            words = f"cost {cost}, as the store's manifest says: another ledger paid for it"
            note(connection, row, "told", words, at=at)


def drop_told(connection: Connection, campaign_id: int, row_id: int) -> None:
    """Take such costs of a row back, since the take that they were charged for is restored."""
    theirs = select(takes.c.id, takes.c.charged).where(takes.c.row_id == row_id, TOLD)
    for take_id, cost in connection.execute(theirs).all():
        book(connection, campaign_id=campaign_id, take_id=take_id, released=0, cost=-cost)
        connection.execute(delete(takes).where(takes.c.id == take_id))


def _known_costs(
    connection: Connection, campaign_id: int, named: Sequence[str]
) -> Mapping[str, int]:
    # What is reserved for a take under way is charged when it ends.
    cost = func.coalesce(takes.c.charged, takes.c.reserved)
    query = (
        select(rows.c.row, func.coalesce(total(cost), 0))
        .join(takes, takes.c.row_id == rows.c.id)
        .where(rows.c.campaign_id == campaign_id, rows.c.row.in_(named))
        .group_by(rows.c.row)
    )
    return dict(connection.execute(query).tuples().all())


def _retired(campaign_id: int, one: ToldCost, at: float) -> dict[str, Any]:
    """Return a row that left its sheet before this ledger was begun; its brief is not known."""
    return {
        "campaign_id": campaign_id,
        "row": one.row,
        "first_id": one.line.get("first_id"),
        "position": GONE,
        "line": 0,
        "state": "retired",
        "since": at,
        "operation": one.line.get("operation") or CREATE,
        "request": canonical_json({}).decode(),
        "digest": one.line.get("digest") or "",
        "nth": 1,
        "captions": "",
        "enabled": True,
        "priority": 0,
        "tags": "[]",
        "cells": "[]",
    }


def _add_take(
    connection: Connection, campaign_id: int, row_id: int, one: ToldCost, *, at: float
) -> int:
    """Add a take that was given up: of no brief, so that no row ever asks for its video."""
    last = connection.scalar(select(func.max(takes.c.number)).where(takes.c.row_id == row_id))
    # The number that its files have in the store: no later take is to be called like them.
    number = max(int(one.line.get("take") or 1), (last or 0) + 1)
    name = f"told {campaign_id} {row_id} {number}"
    key = hashlib.sha256(name.encode()).hexdigest()
    values = {
        "row_id": row_id, "campaign_id": campaign_id, "number": number, "nth": 0, "key": key,
        "digest": key, "body": canonical_json({"idempotency_key": key}), "reserved": 0,
        "charged": one.missing, "intended_at": one.sent_at, "found_at": at, "abandoned_at": at,
    }  # fmt: skip
    made = connection.execute(insert(takes).values(values))
    take_id = int(made.inserted_primary_key[0])  # type: ignore[index]
    this = (rows.c.id == row_id, rows.c.take_id.is_(None))
    connection.execute(update(rows).where(*this).values(take_id=take_id))
    return take_id
