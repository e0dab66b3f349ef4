"""Take a sheet into the ledger: every row of it gets exactly one state, and none is dropped.

Syncing the same sheet twice changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, bindparam, insert, update

from tasks.brief import Brief, canonical_json
from tasks.credits import to_micro
from tasks.ledger.diff import Diff, diff_sheet
from tasks.ledger.moves import move
from tasks.ledger.schema import rows
from tasks.ledger.states import TRANSITIONS, State
from tasks.ledger.values import CampaignRow, Take, takes_of

_INSERT = insert(rows)
_WISHES = ("position", "line", "captions", "enabled", "priority", "max_credits", "tags",
           "cost_center", "notes", "cells", "reason")  # fmt: skip
_BRIEF = ("operation", "request", "digest", "nth", "take_id", "quoted")
_ROW = update(rows).where(rows.c.id == bindparam("the_row"))
_SET_WISHES = _ROW.values({name: bindparam(f"new_{name}") for name in _WISHES})
_SET_BRIEF = _ROW.values({name: bindparam(f"new_{name}") for name in _BRIEF} | {"quoted_at": None})


def sync_sheet(
    connection: Connection,
    campaign_id: int,
    briefs: Sequence[Brief],
    *,
    at: float,
    retire: bool = True,
    skipped: Collection[str] = (),
) -> None:
    """Bring the campaign's rows to what the sheet says; rows under way are not disturbed.

    Without `retire` the rows that left the sheet stay as they are, and so do those that are
    `skipped`, which are in the sheet.
    """
    new: list[dict[str, Any]] = []
    wishes: list[dict[str, Any]] = []
    renewed: list[dict[str, Any]] = []
    found = diff_sheet(connection, campaign_id, briefs, skipped=skipped)
    given_up = {
        (n, t.digest): t.nth for n, t in takes_of(connection, campaign_id) if t.abandoned_at
    }
    for position, (row, brief, diff, earlier) in enumerate(found, start=1):
        if row is None and brief is not None:
            new.append(_new_row(campaign_id, brief, position, diff, at))
        if row is not None and brief is not None:
            wish = {**_wishes(brief, position), "reason": _reason(row, diff)}
            wishes.append(_new_values(row, wish))
            if row.digest != brief.digest and not diff.drifts:
                last = given_up.get((row.id, brief.digest), 0)
                renewed.append(_new_values(row, _renewal(row, brief, earlier, last)))
        if row is not None and (retire or brief is not None):
            _rest(connection, row, diff, at)
    for statement, values in ((_INSERT, new), (_SET_WISHES, wishes), (_SET_BRIEF, renewed)):
        if values:
            connection.execute(statement, values)


def _new_row(
    campaign_id: int, brief: Brief, position: int, diff: Diff, at: float
) -> dict[str, Any]:
    return {
        "campaign_id": campaign_id,
        "row": brief.row,
        "state": diff.state,
        "since": at,
        "reason": diff.why,
        "nth": 1,
        **_asked(brief),
        **_wishes(brief, position),
    }


def _asked(brief: Brief) -> dict[str, Any]:
    return {
        "operation": brief.operation,
        "request": canonical_json(brief.request).decode(),
        "digest": brief.digest,
    }


def _wishes(brief: Brief, position: int) -> dict[str, Any]:
    """Return what may change at any time, since nothing of it is asked of the service."""
    return {
        "position": position,
        "line": brief.line,
        "captions": " ".join(brief.captions),
        "enabled": brief.enabled,
        "priority": brief.priority,
        "max_credits": to_micro(brief.max_credits),
        "tags": json.dumps(brief.tags, ensure_ascii=False),
        "cost_center": brief.cost_center,
        "notes": brief.notes,
        "cells": json.dumps(brief.cells, ensure_ascii=False),
    }


def _renewal(row: CampaignRow, brief: Brief, earlier: Take | None, given_up: int) -> dict[str, Any]:
    """Return what becomes of a row's brief; a key that was given up (its nth) is not used again."""
    price = earlier.quoted if earlier else None
    return {
        "nth": earlier.nth if earlier else given_up + 1,
        "take_id": earlier.id if earlier else (row.take.id if row.take else None),
        "quoted": to_micro(price),
        **_asked(brief),
    }


def _new_values(row: CampaignRow, values: dict[str, Any]) -> dict[str, Any]:
    return {"the_row": row.id, **{f"new_{name}": value for name, value in values.items()}}


def _reason(row: CampaignRow, diff: Diff) -> str | None:
    return row.reason if diff.state == row.state != "planned" else diff.why


def _rest(connection: Connection, row: CampaignRow, diff: Diff, at: float) -> None:
    """Move the row to where it rests before the run; by way of `planned` where that is the way."""
    if diff.state == row.state:
        return
    direct = diff.state in TRANSITIONS[row.state]
    steps: list[State] = [diff.state] if direct else ["planned", diff.state]
    for new in steps:
        move(connection, row, new, at=at, reason=diff.why)
        row = replace(row, state=new)
