"""Take a sheet into the ledger: every row of it gets exactly one state, and none is dropped.

Adopting the same sheet twice changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, bindparam, insert, update

from tasks.brief import Brief, canonical_json
from tasks.credits import to_micro
from tasks.ledger.foresee import Foreseen, foresee
from tasks.ledger.moves import move
from tasks.ledger.schema import rows
from tasks.ledger.states import TRANSITIONS, State
from tasks.ledger.values import CampaignRow, Take, rows_of, takes_of

_INSERT = insert(rows)
_WISHES = (
    update(rows)
    .where(rows.c.id == bindparam("the_row"))
    .values(
        {
            name: bindparam(f"new_{name}")
            for name in (
                "position",
                "line",
                "captions",
                "enabled",
                "priority",
                "max_credits",
                "tags",
                "cost_center",
                "notes",
                "cells",
                "reason",
            )
        }
    )
)
_BRIEF = (
    update(rows)
    .where(rows.c.id == bindparam("the_row"))
    .values(
        operation=bindparam("new_operation"),
        request=bindparam("new_request"),
        digest=bindparam("new_digest"),
        nth=bindparam("new_nth"),
        take_id=bindparam("new_take"),
        quoted=bindparam("new_quoted"),
        quoted_at=None,
    )
)


def foresee_sheet(
    connection: Connection, campaign_id: int | None, briefs: Sequence[Brief]
) -> list[tuple[CampaignRow | None, Brief | None, Foreseen, Take | None]]:
    """Return what a run would do with every row of the sheet and of the ledger; write nothing.

    The take is an earlier one of exactly this brief, where the sheet was changed back to it.
    """
    known: dict[str, CampaignRow] = {}
    past: dict[tuple[int, str], Take] = {}
    if campaign_id is not None:
        known = {row.row: row for row in rows_of(connection, campaign_id)}
        past = {(n, t.digest): t for n, t in takes_of(connection, campaign_id) if t.stands}
    found: list[tuple[CampaignRow | None, Brief | None, Foreseen, Take | None]] = []
    for brief in briefs:
        row = known.pop(brief.row, None)
        earlier = past.get((row.id, brief.digest)) if row else None
        found.append((row, brief, foresee(row, brief, earlier), earlier))
    for row in known.values():
        if row.state != "retired":
            found.append((row, None, foresee(row, None), None))
    return found


def adopt_sheet(
    connection: Connection, campaign_id: int, briefs: Sequence[Brief], *, at: float
) -> None:
    """Bring the campaign's rows to what the sheet says; rows under way are not disturbed."""
    new: list[dict[str, Any]] = []
    wishes: list[dict[str, Any]] = []
    renewed: list[dict[str, Any]] = []
    found = foresee_sheet(connection, campaign_id, briefs)
    given_up = {
        (n, t.digest): t.nth for n, t in takes_of(connection, campaign_id) if t.abandoned_at
    }
    for position, (row, brief, foreseen, earlier) in enumerate(found, start=1):
        if row is None and brief is not None:
            new.append(_new_row(campaign_id, brief, position, foreseen, at))
        if row is not None and brief is not None:
            wish = {**_wishes(brief, position), "reason": _reason(row, foreseen)}
            wishes.append({"the_row": row.id, **{f"new_{k}": v for k, v in wish.items()}})
            if row.digest != brief.digest and not foreseen.drifts:
                last = given_up.get((row.id, brief.digest), 0)
                renewed.append({"the_row": row.id, **_renewal(row, brief, earlier, last)})
        if row is not None:
            _rest(connection, row, foreseen, at)
    for statement, values in ((_INSERT, new), (_WISHES, wishes), (_BRIEF, renewed)):
        if values:
            connection.execute(statement, values)


def _new_row(
    campaign_id: int, brief: Brief, position: int, foreseen: Foreseen, at: float
) -> dict[str, Any]:
    return {
        "campaign_id": campaign_id,
        "row": brief.row,
        "state": foreseen.state,
        "since": at,
        "reason": foreseen.why,
        "operation": brief.operation,
        "request": canonical_json(brief.request).decode(),
        "digest": brief.digest,
        "nth": 1,
        **_wishes(brief, position),
    }


def _wishes(brief: Brief, position: int) -> dict[str, Any]:
    """Return what may change at any time, since nothing of it is asked of the service."""
    return {
        "position": position,
        "line": brief.line,
        "captions": " ".join(brief.captions),
        "enabled": brief.enabled,
        "priority": brief.priority,
        "max_credits": None if brief.max_credits is None else to_micro(brief.max_credits),
        "tags": json.dumps(brief.tags, ensure_ascii=False),
        "cost_center": brief.cost_center,
        "notes": brief.notes,
        "cells": json.dumps(brief.cells, ensure_ascii=False),
    }


def _renewal(row: CampaignRow, brief: Brief, earlier: Take | None, given_up: int) -> dict[str, Any]:
    """Return what becomes of a row's brief; a key that was given up (its nth) is not used again."""
    price = earlier.quoted if earlier else None
    return {
        "new_operation": brief.operation,
        "new_request": canonical_json(brief.request).decode(),
        "new_digest": brief.digest,
        "new_nth": earlier.nth if earlier else given_up + 1,
        "new_take": earlier.id if earlier else (row.take.id if row.take else None),
        "new_quoted": None if price is None else to_micro(price),
    }


def _reason(row: CampaignRow, foreseen: Foreseen) -> str | None:
    return row.reason if foreseen.state == row.state != "planned" else foreseen.why


def _rest(connection: Connection, row: CampaignRow, foreseen: Foreseen, at: float) -> None:
    """Move the row to where it rests before the run; by way of `planned` where that is the road."""
    if foreseen.state == row.state:
        return
    direct = foreseen.state in TRANSITIONS[row.state]
    steps: list[State] = [foreseen.state] if direct else ["planned", foreseen.state]
    for new in steps:
        move(connection, row, new, at=at, reason=foreseen.why)
        row = replace(row, state=new)
