"""The one guarded move, and the events next to it.

Every change of a row's state is one `move`: `UPDATE ... WHERE id = :row AND state = :old`, of its
present take where it is about one, with its event in the same transaction. No row changed means
that someone else was first, which is answered with False and is not an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select, update

from callsheet.tasks.ledger.schema import events, rows
from callsheet.tasks.ledger.statements import Prepared, gathers, later
from callsheet.tasks.ledger.values import TRANSITIONS, CampaignRow, State, Take
from callsheet.tasks.runtime.errors import CallsheetError
from callsheet.tasks.runtime.redact import redact

# Built once: making a statement costs more than running it.
_THIS = update(rows).where(rows.c.id == bindparam("the_row"), rows.c.state == bindparam("old"))
_MOVED = _THIS.values(
    state=bindparam("new"), since=bindparam("the_moment"), reason=bindparam("the_reason")
)
_MOVE = Prepared(_MOVED)
# What is observed of a take says nothing of the one that came after it.
_MOVED_OF_TAKE = _MOVED.where(rows.c.take_id == bindparam("the_take"))
_MOVE_OF_TAKE = Prepared(_MOVED_OF_TAKE)
_MOVE_TO_VIDEO = Prepared(_MOVED_OF_TAKE.values(video_take_id=bindparam("the_take")))
_BEGIN = Prepared(_MOVED.values(take_id=bindparam("take")))
_REMARK = _THIS.values(reason=bindparam("the_reason"))
_STILL = (
    select(rows.c.id)
    .where(rows.c.state == bindparam("old"), rows.c.id.in_(bindparam("these", expanding=True)))
    .with_for_update()
)
#: Ids in one statement at most.
MANY = 500
_EVENT = Prepared(
    insert(events).inline(),
    columns=("campaign_id", "row_id", "take_id", "at", "kind", "old", "new", "words"),
)


class UnknownMove(CallsheetError):
    """A move that the life of a row does not have; this is a fault in Callsheet."""


@gathers
def move(
    connection: Connection,
    row: CampaignRow,
    new: State,
    *,
    at: float,
    reason: str | None = None,
    words: str | None = None,
    take: Take | None = None,
    has_video: bool = False,
) -> bool:
    """Move a row, as it was read, to `new` and write the event; return False if it has moved on.

    A `reason` stays next to the row for people, `words` stand in the event alone. With a `take` it
    is a move for what became of that take: a row that has another one by now has moved on. If the
    take `has_video`, that is the row's from now on.

    Raises UnknownMove for a pair that `TRANSITIONS` does not list.
    """
    if new not in TRANSITIONS[row.state]:
        raise UnknownMove(f"a row cannot move from {row.state} to {new}")
    moved = {"the_row": row.id, "old": row.state, "new": new, "the_moment": at}
    values = {**moved, "the_reason": storable(reason)}
    if take is None:
        changed = _MOVE.execute(connection, values)
    else:
        statement = _MOVE_TO_VIDEO if has_video else _MOVE_OF_TAKE
        changed = statement.execute(connection, {**values, "the_take": take.id})
    if changed.rowcount != 1:
        return False
    states = {"old": row.state, "new": new}
    said = words or reason
    _append(connection, row.campaign_id, "state", said, row=row, take=take, at=at, **states)
    return True


def move_all(
    connection: Connection,
    found: Sequence[CampaignRow],
    new: State,
    *,
    at: float,
    words: Sequence[str | None],
) -> set[int]:
    """Move rows to `new`, each with its own words in its event; return the ids of those moved.

    The others had moved on. Raises UnknownMove for a pair that `TRANSITIONS` does not list.
    """
    for row in found:
        if new not in TRANSITIONS[row.state]:
            raise UnknownMove(f"a row cannot move from {row.state} to {new}")
    still = _still_there(connection, found)
    going = [(row, said) for row, said in zip(found, words, strict=True) if row.id in still]
    if not going:
        return still
    kept = {"new": new, "the_reason": None, "the_moment": at}
    _MOVE.execute_many(connection, [{"the_row": r.id, "old": r.state, **kept} for r, _ in going])
    events = [
        _event(r.campaign_id, "state", w, row=r, at=at, old=r.state, new=new) for r, w in going
    ]
    later(connection, _EVENT, events)
    return still


def _still_there(connection: Connection, found: Sequence[CampaignRow]) -> set[int]:
    """Return the ids of rows that are as they were read, and stay so for this transaction."""
    states: dict[State, list[int]] = {}
    for row in found:
        states.setdefault(row.state, []).append(row.id)
    still: set[int] = set()
    for state, ids in states.items():
        for begin in range(0, len(ids), MANY):
            values = {"old": state, "these": ids[begin : begin + MANY]}
            still.update(connection.scalars(_STILL, values))
    return still


def begin(connection: Connection, row: CampaignRow, take: Take, *, at: float) -> None:
    """Move a row that is locked, and is as it was read, to `submitting` with the take it now has.

    Raises UnknownMove where that is none.
    """
    if "submitting" not in TRANSITIONS[row.state]:
        raise UnknownMove(f"a row cannot move from {row.state} to submitting")
    moved = {"the_row": row.id, "old": row.state, "new": "submitting", "the_moment": at}
    _BEGIN.execute(connection, {**moved, "the_reason": None, "take": take.id})
    states = {"old": row.state, "new": "submitting"}
    _append(connection, row.campaign_id, "state", None, row=row, take=take, at=at, **states)


@gathers
def remark(connection: Connection, row: CampaignRow, words: str, *, at: float) -> bool:
    """Put a reason next to a row that stays where it is; return False if it has moved on."""
    values = {"the_row": row.id, "old": row.state, "the_reason": storable(words)}
    if connection.execute(_REMARK, values).rowcount != 1:
        return False
    note(connection, row, "remark", words, at=at)
    return True


def note(
    connection: Connection,
    row: CampaignRow,
    kind: str,
    words: str,
    *,
    at: float,
    take: Take | None = None,
) -> None:
    """Append an event to a row's history."""
    _append(connection, row.campaign_id, kind, words, row=row, take=take, at=at)


def note_approvals(
    connection: Connection, campaign_id: int, numbers: Sequence[int], *, by: str, at: float
) -> None:
    """Append that rows, by their numbers, were approved in one statement."""
    moved = {"old": "quoted", "new": "approved", "take_id": None, "words": storable(by)}
    common = {"campaign_id": campaign_id, "at": at, "kind": "state", **moved}
    later(connection, _EVENT, [{**common, "row_id": number} for number in numbers])


def note_campaign(
    connection: Connection, campaign_id: int, kind: str, words: str, *, at: float
) -> None:
    """Append an event that is about a campaign as a whole."""
    _append(connection, campaign_id, kind, words, at=at)


def _append(
    connection: Connection, campaign_id: int, kind: str, words: str | None, **about: Any
) -> None:
    """Append one event (`_event`); nothing in the program changes or removes one."""
    later(connection, _EVENT, [_event(campaign_id, kind, words, **about)])


def _event(
    campaign_id: int,
    kind: str,
    words: str | None,
    *,
    at: float,
    row: CampaignRow | None = None,
    take: Take | None = None,
    old: State | None = None,
    new: State | None = None,
) -> dict[str, Any]:
    return {
        "campaign_id": campaign_id,
        "row_id": row.id if row else None,
        "take_id": take.id if take else None,
        "at": at,
        "kind": kind,
        "old": old,
        "new": new,
        "words": storable(words),
    }


def storable(words: str | None) -> str | None:
    """Return words without secrets, as every database takes them.

    A service may put NUL or half a pair in them; and where it repeats a key, only this keeps it
    out of the ledger.
    """
    if words is None:
        return None
    return redact(words).replace("\0", "�").encode("utf-8", "replace").decode()
