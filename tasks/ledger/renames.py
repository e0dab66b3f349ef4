"""Rows that get a new id: which the sheet means, and what changes in the ledger.

A renamed row keeps its number, and with it takes, files, reviews and history. It also keeps the id
that it had first: keys are made of that, so a paid request has the same key as before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from sqlalchemy import Connection, and_, exists, func, or_, select, update

from callsheet.tasks.ledger.figures import Outline, pages_of
from callsheet.tasks.ledger.moves import move, note
from callsheet.tasks.ledger.schema import RENAMED, TOLD, earlier_takes, rows, takes
from callsheet.tasks.ledger.values import rows_by_number
from callsheet.tasks.values.briefs import Brief

#: Rows without a take, or with one that only tells what another ledger paid.
UNMADE = or_(
    rows.c.take_id.is_(None),
    exists(select(takes.c.id).where(takes.c.id == rows.c.take_id, TOLD)).correlate(rows),
)
#: Stands for an id while two rows change theirs; no row can have it.
_BETWEEN = "\n"


def find_renamed(
    connection: Connection,
    campaign_id: int | None,
    known: Mapping[str, Outline],
    briefs: Sequence[Brief],
    skipped: Collection[str] = (),
) -> dict[str, Outline]:
    """Return the rows that the sheet gives another id, by that id; `skipped` are in the sheet too.

    A row that is paid for under its new id is done, and an id that the ledger never had is new. A
    row that a matrix makes again, with the same brief, needs no `was`, and neither does one that
    gets its first id back, nor one that asks for the video of a row which is not in the sheet.
    """
    if campaign_id is None or not known:
        return {}
    first = {one: known[row] for one, row in first_ids(connection, campaign_id) if row in known}
    there = {brief.row for brief in briefs} | set(skipped)
    found: dict[str, Outline] = {}
    taken: set[str] = set()
    for brief in briefs:
        was = brief.earlier_id or ""
        now, old = known.get(brief.row), known.get(was) or first.get(was) or first.get(brief.row)
        if not old or old.row in there | taken or (now is not None and now.take_id is not None):
            continue
        is_same = old.digest == brief.digest and old.take_id is not None
        if (brief.was is not None or old is first.get(brief.row) or is_same) and (
            now is None or old.take_id is not None
        ):
            found[brief.row] = old
            taken.add(old.row)
    others = [brief for brief in briefs if brief.row not in found]
    return found | _same_briefs(known, others, there | taken)


def _same_briefs(
    known: Mapping[str, Outline], briefs: Sequence[Brief], there: Collection[str]
) -> dict[str, Outline]:
    """Return rows that left the sheet with a take, by the new ids that ask for the same video.

    Each goes on under one of them, in the order of the sheet.
    """
    left: dict[str, list[Outline]] = defaultdict(list)
    for old in known.values():
        if old.take_id is not None and old.row not in there:
            left[old.digest].append(old)
    found: dict[str, Outline] = {}
    for brief in briefs if left else ():
        now = known.get(brief.row)
        unpaid = (now is None or now.take_id is None) and brief.video_id is None
        if unpaid and (waiting := left.get(brief.digest)):
            found[brief.row] = waiting.pop(0)
    return found


def may_be_renamed(connection: Connection, campaign_id: int, briefs: Sequence[Brief]) -> bool:
    """Whether any of these rows of a sheet may be a row that has another id until now."""
    if any(brief.earlier_id for brief in briefs) or first_ids(connection, campaign_id):
        return True
    ids = {brief.row for brief in briefs}
    query = select(rows.c.row).where(rows.c.campaign_id == campaign_id, rows.c.take_id.is_not(None))
    for page in pages_of(briefs):
        same = query.where(rows.c.digest.in_([brief.digest for brief in page]))
        if any(row not in ids for row in connection.scalars(same)):
            return True
    return False


def first_ids(connection: Connection, campaign_id: int) -> list[tuple[str, str]]:
    """Return the first id and the present one of every renamed row that is, or was, of use."""
    unused = and_(rows.c.state == "retired", rows.c.take_id.is_(None))
    query = select(rows.c.first_id, rows.c.row).where(
        rows.c.campaign_id == campaign_id, RENAMED, ~unused
    )
    return [(first, row) for first, row in connection.execute(query)]


def rename_row(
    connection: Connection, campaign_id: int, old: Outline, new: str, *, at: float
) -> None:
    """Give a row another id.

    A row that has this id and was never paid for is retired under the old one: an earlier run of
    the sheet took the renamed row for a new one.
    """
    there = and_(rows.c.campaign_id == campaign_id, rows.c.row == new)
    number = connection.scalar(select(rows.c.id).where(there))
    if number is not None:
        (unpaid,) = rows_by_number(connection, [number])
        if unpaid.state != "retired":
            move(connection, unpaid, "retired", at=at, words=f"{new} is {old.row} renamed")
        _set_id(connection, unpaid.id, _BETWEEN, first=new)
    _set_id(connection, old.id, new, first=old.row)
    if number is not None:
        _set_id(connection, number, old.row, first=new)
    other = earlier_takes.alias()
    known = exists().where(
        other.c.campaign_id == campaign_id,
        other.c.row == new,
        other.c.digest == earlier_takes.c.digest,
        other.c.nth == earlier_takes.c.nth,
    )
    mine = and_(earlier_takes.c.campaign_id == campaign_id, earlier_takes.c.row == old.row)
    connection.execute(update(earlier_takes).where(mine, ~known).values(row=new))
    (row,) = rows_by_number(connection, [old.id])
    note(connection, row, "renamed", f"was {old.row}", at=at)


def _set_id(connection: Connection, number: int, row: str, *, first: str) -> None:
    kept = func.coalesce(rows.c.first_id, first)
    connection.execute(update(rows).where(rows.c.id == number).values(row=row, first_id=kept))


def set_first_ids(
    connection: Connection, campaign_id: int, named: Iterable[tuple[str, str]]
) -> None:
    """Note the first ids of rows (row, first id) that this ledger has paid nothing for.

    Also of a row that was renamed once more: to this ledger, its earlier id is its first.
    """
    for row, first in named:
        known = and_(rows.c.first_id.is_(None), rows.c.row == row) | (rows.c.first_id == row)
        this = and_(rows.c.campaign_id == campaign_id, UNMADE, known)
        connection.execute(update(rows).where(this).values(first_id=first))


def reused_ids(
    connection: Connection,
    campaign_id: int,
    briefs: Sequence[Brief],
    skipped: Collection[str] = (),
) -> Iterator[tuple[Brief, str, str]]:
    """Yield briefs whose id, or earlier id, was the first id of another row.

    With the column that says so (id or was), and the present id of that row. Its keys are made of
    its first id: a second row with it could ask for the same video.
    """
    first = dict(first_ids(connection, campaign_id))
    there = {brief.row for brief in briefs} | set(skipped) if first else set()
    for brief in briefs if first else ():
        if first.get(brief.row, brief.row) in there - {brief.row}:
            yield brief, "id", first[brief.row]
        elif brief.was and first.get(brief.was, brief.row) in there - {brief.row}:
            yield brief, "was", first[brief.was]
