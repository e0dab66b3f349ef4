"""Writes a sheet into the ledger: every row gets exactly one state.

Knows whether rows changed since the last report.

Syncing the same sheet twice changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from typing import Any, NamedTuple

from sqlalchemy import Connection, Insert, Update, bindparam, func, insert, select, update

from callsheet.tasks.ledger.deliveries import HAS_VIDEO
from callsheet.tasks.ledger.diff import Diff, RowDiff, diff_rows, diff_sheet
from callsheet.tasks.ledger.figures import Outline, pages_of
from callsheet.tasks.ledger.moves import move
from callsheet.tasks.ledger.renames import may_be_renamed, rename_row
from callsheet.tasks.ledger.schema import campaigns, rows, takes
from callsheet.tasks.ledger.values import ROWS, TRANSITIONS, CampaignRow, State
from callsheet.tasks.runtime.process import no_search
from callsheet.tasks.values.amounts import to_micro
from callsheet.tasks.values.briefs import WISHES, Brief, canonical_json
from callsheet.tasks.values.edits import Edits

_INSERT = insert(rows)
#: Added to the position of a row that left: more than a sheet has rows.
GONE = 10_000_000
_WISHES = ("position", "line", *WISHES, "brand", "variant_of", "wishes")
#: What rows are told apart by, and the member of what they ask for that says it.
_TRAITS = {"tool": "tool", "language": "language", "ratio": "aspect_ratio"}
_BRIEF = ("operation", "title", *_TRAITS, "request", "digest", "nth", "take_id", "quoted",
          "retries")  # fmt: skip
_ROW = update(rows).where(rows.c.id == bindparam("the_row"))
_SET_PLACE = _ROW.values(position=bindparam("new_position"), line=bindparam("new_line"))
_SET_WISHES = _ROW.values({name: bindparam(f"new_{name}") for name in _WISHES})
#: How files are called and where they are copied to, and that the ledger has all of this.
_FILES = ("name", "copies", "wishes")
_SET_OTHERS = _ROW.values({name: bindparam(f"new_{name}") for name in set(_WISHES) - {*_FILES}})
_SET_REASON = _ROW.values(reason=bindparam("new_reason"))
#: The take that the row has again, where that has a video, else the one whose video it shows.
_SHOWN = func.coalesce(
    select(takes.c.id).where(takes.c.id == bindparam("new_take_id"), HAS_VIDEO).scalar_subquery(),
    rows.c.video_take_id,
)
# A row that has moved on since it was read, as into a paid call, keeps the brief that it has.
_SET_BRIEF = _ROW.where(rows.c.state == bindparam("rests")).values(
    {name: bindparam(f"new_{name}") for name in _BRIEF}
    | {"quoted_at": None, "video_take_id": _SHOWN}
)
#: Changes that are written at a time, so that they need not all be in memory.
STRIDE = 2000
#: Rows that are compared by themselves, at most; beyond it all rows are.
FEW = 2000


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
    files: bool = True,
    skipped: Collection[str] = (),
    only: Unsynced | None = None,
    edits: Edits = "cheapest",
) -> bool:
    """Bring the campaign's rows to what the sheet says; rows under way are not disturbed.

    Return whether all rows were compared, and not only those that were named.

    Only what differs is written: of all rows, or of those `only` that a plan found to differ, which
    are looked at once more. Without `retire` the rows that left the sheet stay as they are,
    and so do those that are `skipped`, which are in the sheet. Without `files` no row that is there
    gets other names or copies of its files.
    """
    changes = _Changes(connection)
    few = only is not None and len(only.places) + len(only.left) <= FEW
    these = [briefs[place - 1] for place in only.places] if only is not None and few else []
    compares_all = only is None or not few or may_be_renamed(connection, campaign_id, these)
    if only is None or compares_all:
        # Which row has another id now is known by all rows together.
        found = diff_sheet(connection, campaign_id, briefs, skipped=skipped, edits=edits)
        places: Iterable[int] = count(1)
    else:
        found = diff_rows(connection, campaign_id, these, only.left, edits=edits)
        places = chain(only.places, count(len(briefs) + 1))
    for position, one in zip(places, found, strict=False):
        if one.is_synced(position) or (one.brief is None and not retire):
            continue
        if one.outline is not None and one.brief and one.outline.row != one.brief.row:
            rename_row(connection, campaign_id, one.outline, one.brief.row, at=at)
            changes.any = True
        if one.outline is None:
            assert one.brief is not None, "a row is in the sheet, in the ledger, or in both"
            new = _new_row(campaign_id, one.brief, position, one.diff, at)
            changes.add(_INSERT, new)
        else:
            wishes = _SET_WISHES if files else _SET_OTHERS
            _take_in(connection, changes, one, one.outline, position, wishes, at)
    changes.write()
    if changes.any:
        # What the report in the store was made of is not so any more.
        forget_report(connection, campaign_id)
    return compares_all


class _Changes:
    """Changes of one kind are written together, whenever there are many of any."""

    def __init__(self, connection: Connection) -> None:
        self.any = False
        self._connection = connection
        self._waiting: dict[Insert | Update, list[dict[str, Any]]] = {}

    def add(self, statement: Insert | Update, values: dict[str, Any]) -> None:
        """Have a statement executed with these values."""
        self.any = True
        several = self._waiting.setdefault(statement, [])
        several.append(values)
        if len(several) == STRIDE:
            self.write()

    def write(self) -> None:
        """Execute what waits."""
        for statement, values in self._waiting.items():
            self._connection.execute(statement, values)
        self._waiting.clear()


def _take_in(
    connection: Connection,
    changes: _Changes,
    one: RowDiff,
    outline: Outline,
    position: int,
    set_wishes: Update,
    at: float,
) -> None:
    """Bring one row that the ledger knows to what the sheet says."""
    row, brief, diff = one.row, one.brief, one.diff
    if brief is not None:
        if outline.wishes != brief.wishes:
            changes.add(set_wishes, _new_values(outline, _wishes(brief, position)))
        elif (outline.position, outline.line) != (position, brief.line):
            place = {"position": position, "line": brief.line}
            changes.add(_SET_PLACE, _new_values(outline, place))
    if row is None:
        return
    if brief is None:
        # Behind the rows of this sheet and of later ones.
        place = {"position": GONE + position, "line": outline.line}
        changes.add(_SET_PLACE, _new_values(outline, place))
    if diff.state != row.state:
        changes.any = True
        _rest(connection, row, diff, at)
    if brief is not None and one.renews:
        renewal = _renewal(row, brief, one)
        changes.add(_SET_BRIEF, {"rests": diff.state, **_new_values(outline, renewal)})
    if diff.state == row.state and brief is not None and one.reason != row.reason:
        changes.add(_SET_REASON, _new_values(outline, {"reason": one.reason}))


def _new_row(
    campaign_id: int, brief: Brief, position: int, diff: Diff, at: float
) -> dict[str, Any]:
    return {
        "campaign_id": campaign_id,
        "row": brief.row,
        "first_id": brief.was,
        "state": diff.state,
        "since": at,
        "reason": diff.why,
        "nth": 1,
        **_asked(brief),
        **_wishes(brief, position),
    }


def _asked(brief: Brief) -> dict[str, Any]:
    asked = brief.request
    traits = {name: asked.get(member) for name, member in _TRAITS.items()}
    traits["title"] = asked.get("title") or asked.get("topic")
    return {
        "operation": brief.operation,
        **{name: str(value) if value else None for name, value in traits.items()},
        "request": canonical_json(brief.request).decode(),
        "digest": brief.digest,
    }


def _wishes(brief: Brief, position: int) -> dict[str, Any]:
    """Return what may change at any time, since nothing of it is asked of the service."""
    said = {name: getattr(brief, name) for name in _WISHES if name != "position"}
    copies = json.dumps(brief.copies, ensure_ascii=False) if brief.copies else None
    cells = json.dumps([*brief.cells], ensure_ascii=False)
    return {**ROWS.line(**said), "position": position, "copies": copies, "cells": cells}


class RowFiles(NamedTuple):
    """What the files of a row are called, and where they are copied to (place and name)."""

    name: str | None
    copies: tuple[tuple[str, str], ...]


#: Those of a row that the ledger does not have.
NO_FILES = RowFiles(None, ())


def files_of(connection: Connection, campaign_id: int, ids: Sequence[str]) -> dict[str, RowFiles]:
    """Return what files of rows are called and where they are copied to, by row id."""
    found: dict[str, RowFiles] = {}
    for page in pages_of(ids):
        query = select(rows.c.row, rows.c.name, rows.c.copies).where(
            rows.c.campaign_id == campaign_id, rows.c.row.in_(page)
        )
        for row, name, text in connection.execute(query):
            copies = tuple((place, named) for place, named in json.loads(text or "[]"))
            found[row] = RowFiles(name, copies)
    return found


def _renewal(row: CampaignRow, brief: Brief, one: RowDiff) -> dict[str, Any]:
    """Return what becomes of a row's brief; a key that was given up (its nth) is not used again."""
    earlier, same = one.earlier, row.digest == brief.digest
    price = earlier.quoted if earlier else None
    return {
        "nth": row.nth if same else earlier.nth if earlier else one.given_up + 1,
        "take_id": earlier.id if earlier else (row.take.id if row.take else None),
        "quoted": to_micro(price),
        # New attempts were approved for one brief, and are none for another.
        "retries": row.retries if same else None,
        **_asked(brief),
        "operation": one.operation,
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


# What is known of a campaign's report in the store: the column `reported`.
#
# Whatever changes a row on its way leaves an event; what a sheet changes besides that makes
# `sync_sheet` forget the report.


#: Instead of a digest of what a report was made of, once it is not what would be written now.
_OUT_OF_DATE = "-"


@dataclass(frozen=True, kw_only=True, slots=True)
class Reported:
    """A report: a digest of what it was made of, and those of its files, manifest first.

    One that is out of date still says which files this ledger has written last, at the end of a
    run: what they tell of, it knows.
    """

    made_of: str
    files: tuple[str, str]

    @classmethod
    def read(cls, text: str | None) -> Reported | None:
        """Read what `as_text` wrote; None for what is none."""
        words = (text or "").split()
        if len(words) != 3:
            return None
        made_of, manifest, status = words
        return cls(made_of=made_of, files=(manifest, status))

    def as_text(self) -> str:
        """Return it as words between blanks."""
        return " ".join((self.made_of, *self.files))


def note_report(
    connection: Connection, campaign_id: int, reported: Reported | None, *, instead_of: str | None
) -> None:
    """Remember a campaign's report, unless what is noted is not what it was: `instead_of`."""
    connection.execute(
        update(campaigns)
        .where(campaigns.c.id == campaign_id, campaigns.c.reported.is_not_distinct_from(instead_of))
        .values(reported=reported.as_text() if reported else None)
    )


def forget_report(connection: Connection, campaign_id: int) -> None:
    """Have the next report written, though no event tells of what has changed."""
    this = campaigns.c.id == campaign_id
    reported = Reported.read(connection.scalar(select(campaigns.c.reported).where(this)))
    if reported is not None:
        text = replace(reported, made_of=_OUT_OF_DATE).as_text()
        connection.execute(update(campaigns).where(this).values(reported=text))
