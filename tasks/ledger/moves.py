"""The one guarded move, and the events beside it.

Every change of a row's state is one `move`: `UPDATE ... WHERE id = :row AND state = :old`, with
its event in the same transaction. No row changed means that somebody else was first, which is
answered with False and is not an error.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, bindparam, insert, update

from tasks.errors import CallsheetError
from tasks.ledger.schema import events, rows
from tasks.ledger.states import TRANSITIONS, State
from tasks.ledger.values import CampaignRow
from tasks.redact import redact

# Built once: making a statement costs more than running it.
_MOVE = (
    update(rows)
    .where(rows.c.id == bindparam("the_row"), rows.c.state == bindparam("old"))
    .values(state=bindparam("new"), since=bindparam("the_moment"), reason=bindparam("the_reason"))
)
_REMARK = (
    update(rows)
    .where(rows.c.id == bindparam("the_row"), rows.c.state == bindparam("old"))
    .values(reason=bindparam("words"))
)
_EVENT = insert(events)


class UnknownMove(CallsheetError):
    """A move that the life of a row does not have; this is a fault in Callsheet."""


def move(
    connection: Connection,
    *,
    campaign_id: int,
    row_id: int,
    old: State,
    new: State,
    at: float,
    reason: str | None = None,
    words: str | None = None,
    take_id: int | None = None,
) -> bool:
    """Move a row from `old` to `new` and write the event; return False if it was not in `old`.

    A `reason` stays beside the row for people, `words` stand in the event alone.

    Raises UnknownMove for a pair that `TRANSITIONS` does not list.
    """
    if new not in TRANSITIONS[old]:
        raise UnknownMove(f"a row cannot move from {old} to {new}")
    changed = connection.execute(
        _MOVE,
        {
            "the_row": row_id,
            "old": old,
            "new": new,
            "the_moment": at,
            "the_reason": storable(reason),
        },
    )
    if changed.rowcount != 1:
        return False
    note(
        connection,
        campaign_id=campaign_id,
        row_id=row_id,
        take_id=take_id,
        at=at,
        kind="state",
        old=old,
        new=new,
        words=words or reason,
    )
    return True


def move_row(
    connection: Connection,
    row: CampaignRow,
    new: State,
    *,
    at: float,
    reason: str | None = None,
    words: str | None = None,
    take_id: int | None = None,
) -> bool:
    """Move a row, as it was read, to `new`; return False if it has moved on since."""
    return move(
        connection,
        campaign_id=row.campaign_id,
        row_id=row.id,
        old=row.state,
        new=new,
        at=at,
        reason=reason,
        words=words,
        take_id=take_id,
    )


def remark(
    connection: Connection, *, campaign_id: int, row_id: int, state: State, at: float, words: str
) -> bool:
    """Put a reason beside a row that stays where it is; return False if it was elsewhere."""
    changed = connection.execute(
        _REMARK, {"the_row": row_id, "old": state, "words": storable(words)}
    )
    if changed.rowcount != 1:
        return False
    note(connection, campaign_id=campaign_id, row_id=row_id, at=at, kind="remark", words=words)
    return True


def note(
    connection: Connection,
    *,
    campaign_id: int,
    at: float,
    kind: str,
    row_id: int | None = None,
    take_id: int | None = None,
    old: str | None = None,
    new: str | None = None,
    words: str | None = None,
) -> None:
    """Append one event; nothing in the program changes or removes one."""
    event: dict[str, Any] = {
        "campaign_id": campaign_id,
        "row_id": row_id,
        "take_id": take_id,
        "at": at,
        "kind": kind,
        "old": old,
        "new": new,
        "words": storable(words),
    }
    connection.execute(_EVENT, event)


def storable(words: str | None) -> str | None:
    """Return words without secrets, as every database takes them.

    A service may put NUL or half a pair in them; and where it repeats a key, only this keeps it
    out of the ledger.
    """
    if words is None:
        return None
    return redact(words).replace("\0", "�").encode("utf-8", "replace").decode()
