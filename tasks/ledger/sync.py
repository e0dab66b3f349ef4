"""Take a sheet into the ledger: every row of it gets exactly one state, and none is dropped.

Syncing the same sheet twice changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import chain, count
from typing import Any, NamedTuple

from sqlalchemy import Connection, Insert, Update, bindparam, insert, update

from callsheet.tasks.brief import Brief, canonical_json
from callsheet.tasks.credits import to_micro
from callsheet.tasks.garbage import no_search
from callsheet.tasks.ledger.diff import Diff, RowDiff, diff_rows, diff_sheet
from callsheet.tasks.ledger.moves import move
from callsheet.tasks.ledger.outlines import Outline
from callsheet.tasks.ledger.reports import FEW, note_changes
from callsheet.tasks.ledger.schema import rows
from callsheet.tasks.ledger.states import TRANSITIONS, State
from callsheet.tasks.ledger.values import CampaignRow, Take

_INSERT = insert(rows)
_WISHES = ("position", "line", "captions", "enabled", "priority", "max_credits", "tags",
           "cost_center", "notes", "cells", "wishes")  # fmt: skip
_BRIEF = ("operation", "request", "digest", "nth", "take_id", "quoted")
_ROW = update(rows).where(rows.c.id == bindparam("the_row"))
_SET_PLACE = _ROW.values(position=bindparam("new_position"), line=bindparam("new_line"))
_SET_WISHES = _ROW.values({name: bindparam(f"new_{name}") for name in _WISHES})
_SET_REASON = _ROW.values(reason=bindparam("new_reason"))
_SET_BRIEF = _ROW.values({name: bindparam(f"new_{name}") for name in _BRIEF} | {"quoted_at": None})
#: Changes that are written at a time, so that they need not all be in memory.
STRIDE = 2000


class Unsynced(NamedTuple):
    """Rows that differ from the sheet: by their places in it, from 1, and those that have left."""

    places: Sequence[int]
    left: Sequence[str]


@no_search()
def sync_sheet(
    connection: Connection,
    campaign_id: int,
    briefs: Sequence[Brief],
    *,
    at: float,
    retire: bool = True,
    skipped: Collection[str] = (),
    only: Unsynced | None = None,
) -> None:
    """Bring the campaign's rows to what the sheet says; rows under way are not disturbed.

    Only what differs is written: of all rows, or of those `only` that a plan found to differ, which
    are looked at once more. Without `retire` the rows that left the sheet stay as they are,
    and so do those that are `skipped`, which are in the sheet.
    """
    changes = _Changes(connection)
    if only is None or len(only.places) + len(only.left) > FEW:
        found = diff_sheet(connection, campaign_id, briefs, skipped=skipped)
        places: Iterable[int] = count(1)
    else:
        these = [briefs[place - 1] for place in only.places]
        found = diff_rows(connection, campaign_id, these, only.left)
        places = chain(only.places, count(len(briefs) + 1))
    for position, one in zip(places, found, strict=False):
        if one.is_synced(position) or (one.brief is None and not retire):
            continue
        if one.outline is None:
            assert one.brief is not None, "a row is in the sheet, in the ledger, or in both"
            new = _new_row(campaign_id, one.brief, position, one.diff, at)
            changes.add(_INSERT, new)
        else:
            _take_in(connection, changes, one, one.outline, position, at)
    changes.write()
    if changes.any:
        # What the report in the store was made of is not so any more.
        note_changes(connection, campaign_id, None if changes.reorder else changes.rows)


class _Changes:
    """Changes of one kind are written together, whenever there are many of any."""

    def __init__(self, connection: Connection) -> None:
        self.any = False
        #: Whether there are new rows, or rows in another place.
        self.reorder = False
        #: The rows that are not new, by their numbers.
        self.rows: set[int] = set()
        self._connection = connection
        self._waiting: dict[Insert | Update, list[dict[str, Any]]] = {}

    def add(self, statement: Insert | Update, values: dict[str, Any]) -> None:
        """Have a statement carried out with these values."""
        self.any = True
        if statement is _INSERT:
            self.reorder = True
        else:
            self.rows.add(values["the_row"])
        several = self._waiting.setdefault(statement, [])
        several.append(values)
        if len(several) == STRIDE:
            self.write()

    def write(self) -> None:
        """Carry out what waits."""
        for statement, values in self._waiting.items():
            self._connection.execute(statement, values)
        self._waiting.clear()


def _take_in(
    connection: Connection,
    changes: _Changes,
    one: RowDiff,
    outline: Outline,
    position: int,
    at: float,
) -> None:
    """Bring one row that the ledger knows to what the sheet says."""
    row, brief, diff = one.row, one.brief, one.diff
    if brief is not None:
        changes.reorder = changes.reorder or outline.position != position
        if outline.wishes != brief.wishes:
            changes.add(_SET_WISHES, _new_values(outline, _wishes(brief, position)))
        elif (outline.position, outline.line) != (position, brief.line):
            place = {"position": position, "line": brief.line}
            changes.add(_SET_PLACE, _new_values(outline, place))
    if row is None:
        return
    if brief is not None and row.digest != brief.digest and not diff.drifts:
        renewal = _renewal(row, brief, one.earlier, one.given_up)
        changes.add(_SET_BRIEF, _new_values(outline, renewal))
    if diff.state != row.state:
        changes.any = True
        _rest(connection, row, diff, at)
    elif brief is not None and one.reason != row.reason:
        changes.add(_SET_REASON, _new_values(outline, {"reason": one.reason}))


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
        "cells": json.dumps([*brief.cells], ensure_ascii=False),
        "wishes": brief.wishes,
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


def _new_values(outline: Outline, values: dict[str, Any]) -> dict[str, Any]:
    return {"the_row": outline.id, **{f"new_{name}": value for name, value in values.items()}}


def _rest(connection: Connection, row: CampaignRow, diff: Diff, at: float) -> None:
    """Move the row to where it rests before the run; by way of `planned` where that is the way."""
    direct = diff.state in TRANSITIONS[row.state]
    steps: list[State] = [diff.state] if direct else ["planned", diff.state]
    for new in steps:
        move(connection, row, new, at=at, reason=diff.why)
        row = replace(row, state=new)
