"""What a person decides about a row: what its paid call did, or another take of it.

Each function is one change for `Ledger.write`. A paid call of unknown outcome is settled with the
video it made, or given up; another take has a new key and is approved at a price, and what the
take before it had set aside is accounted for in the same transaction.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, bindparam, select, update

from callsheet.tasks.ledger.accounts import book
from callsheet.tasks.ledger.dialect import dialect_of
from callsheet.tasks.ledger.figures import pages_of
from callsheet.tasks.ledger.moves import move, move_all, note
from callsheet.tasks.ledger.quotes import Quoted
from callsheet.tasks.ledger.schema import rows, takes
from callsheet.tasks.ledger.service_state import resolve_call
from callsheet.tasks.ledger.values import THIS_TAKE, CampaignRow, State, Take
from callsheet.tasks.values.amounts import in_credits, to_micro
from callsheet.tasks.values.edits import made_by

#: The states in which a row may be taken again. `retired` has left the sheet.
RETAKEABLE: frozenset[State] = frozenset(
    {"failed", "stalled", "rejected", "cancelled", "delivered", "held", "uncertain"}
)

_ADOPT = THIS_TAKE.values(accepted_at=bindparam("moment"), video_id=bindparam("video"))
#: The takes of other rows that have a video; those of one row may share it: edits change it.
_OF_ANOTHER = select(takes.c.id).where(
    takes.c.video_id == bindparam("the_video"), takes.c.row_id != bindparam("the_row")
)
_ABANDON = THIS_TAKE.values(abandoned_at=bindparam("moment"), reserved=0, charged=bindparam("cost"))
_LET_GO = THIS_TAKE.values(abandoned_at=bindparam("moment"))
_LAST = (
    select(takes.c.row_id, takes.c.digest, takes.c.nth, takes.c.refused_at)
    .where(takes.c.row_id.in_(bindparam("the_rows", expanding=True)))
    .order_by(takes.c.nth)
)
_RENEW = (
    update(rows)
    .where(rows.c.id == bindparam("the_row"))
    .values(
        nth=bindparam("attempt"),
        operation=bindparam("made_by"),
        quoted=bindparam("price"),
        quoted_at=bindparam("asked_at"),
        approved=bindparam("agreed"),
        retries=bindparam("more"),
    )
)


def hold_videos(connection: Connection) -> None:
    """Have no other transaction give a video to a row until this one ends."""
    dialect_of(connection).hold_table(connection, "takes")


def adopt_video(
    connection: Connection,
    row: CampaignRow,
    take: Take,
    *,
    video_id: str,
    at: float,
    words: str | None = None,
) -> bool:
    """Record which video the take made: `uncertain -> rendering`, paid for as reserved.

    `words` say who knows, where it is not a person. Nothing changes if another row has the video
    by now: two people may settle two rows at once.
    """
    hold_videos(connection)
    if connection.execute(_OF_ANOTHER, {"the_video": video_id, "the_row": row.id}).first():
        return False
    words = words or f"a person says it made {video_id}"
    if not move(connection, row, "rendering", at=at, words=words, take=take):
        return False
    connection.execute(_ADOPT, {"the_take": take.id, "moment": at, "video": video_id})
    resolve_call(connection, take_id=take.id, video_id=video_id, at=at)
    return True


def give_up(
    connection: Connection,
    row: CampaignRow,
    take: Take,
    *,
    charged: Decimal,
    again: bool,
    at: float,
) -> bool:
    """Give a take up, counting `charged` credits as spent on it.

    With `again` the row becomes `planned` for another take, quoted and approved like any other;
    without, it is `cancelled`.
    """
    new: State = "planned" if again else "cancelled"
    words = f"take {take.number} given up by a person" + (": another take" if again else "")
    if not move(connection, row, new, at=at, reason=words, take=take):
        return False
    cost = to_micro(charged)
    connection.execute(_ABANDON, {"the_take": take.id, "moment": at, "cost": cost})
    released = to_micro(take.reserved)
    book(connection, campaign_id=row.campaign_id, take_id=take.id, released=released, cost=cost)
    if again:
        connection.execute(
            update(rows)
            .where(rows.c.id == row.id)
            .values(nth=take.nth + 1, quoted=None, quoted_at=None)
        )
    resolve_call(connection, take_id=take.id, at=at)
    return True


def approve_retakes(
    connection: Connection,
    wanted: Collection[Quoted],
    *,
    by: str,
    because: str | None,
    at: float,
    priced_at: float | None = None,
) -> None:
    """Approve another take of each row at its price: of rows that are locked and as they are.

    `because` is the reason, for the history of the rows. Prices were asked for at `priced_at`.
    """
    found = [one.row for one in wanted]
    attempts = _next_attempts(connection, found)
    _leave(connection, found, because, at)
    asked: dict[str, Any] = {"quoted_at": priced_at or at, "retries": None}
    rows = [replace(one.row, quoted=one.amount, approved=one.amount, **asked) for one in wanted]
    if rows:
        connection.execute(_RENEW, [_renewed(row, attempts[row.id]) for row in rows])
    planned = [replace(row, state="planned") for row in rows]
    words = [f"{in_credits(row.quoted)}" for row in rows]
    move_all(connection, planned, "quoted", at=at, words=words)
    quoted = [replace(row, state="quoted") for row in rows]
    move_all(connection, quoted, "approved", at=at, words=[by] * len(rows))


def renew(connection: Connection, row: CampaignRow, *, attempt: int, by: str, at: float) -> None:
    """Move a row that is planned again to `approved`, at its price, for the next attempt at it.

    What was agreed to stays so: within a tolerance, no price rises from attempt to attempt.
    """
    connection.execute(_RENEW, _renewed(row, attempt))
    planned, quoted = replace(row, state="planned"), replace(row, state="quoted")
    move(connection, planned, "quoted", at=at, words=f"{in_credits(row.quoted)}")
    move(connection, quoted, "approved", at=at, words=by)


def _renewed(row: CampaignRow, attempt: int) -> dict[str, Any]:
    price, agreed = to_micro(row.quoted), to_micro(row.approved)
    priced = {"price": price, "agreed": agreed, "asked_at": row.quoted_at, "more": row.retries}
    return {**priced, "the_row": row.id, "attempt": attempt, "made_by": made_by(row.operation)}


def next_attempt(connection: Connection, row: CampaignRow) -> int:
    """Return the number in the next key: the first that was not used up for this very brief.

    Never one before the row's own: another ledger may have used those up. A create that was refused
    for lack of credits has used nothing up: its key goes out again. One whose brief was refused
    has, since a service may remember its answer under that key.
    """
    return _next_attempts(connection, [row])[row.id]


def _next_attempts(connection: Connection, found: Collection[CampaignRow]) -> dict[int, int]:
    """Return the number in the next key of each row, by the number of the row."""
    last: dict[tuple[int, str], tuple[int, bool]] = {}
    for page in pages_of([row.id for row in found]):
        for row_id, digest, nth, refused_at in connection.execute(_LAST, {"the_rows": page}):
            last[row_id, digest] = nth, refused_at is not None

    def following(row: CampaignRow) -> int:
        nth, refused = last.get((row.id, row.digest), (0, False))
        return max(row.nth, nth + (0 if refused and row.state != "rejected" else 1))

    return {row.id: following(row) for row in found}


def _leave(
    connection: Connection, found: Collection[CampaignRow], because: str | None, at: float
) -> None:
    """Move rows to `planned`, and account for the takes that they leave behind."""
    reason = f"another take: {because}" if because else "another take"
    plain = [row for row in found if row.state != "uncertain" or row.take is None]
    move_all(connection, plain, "planned", at=at, words=[reason] * len(plain))
    # Their videos may still be finished and charged: their reserved credits stay reserved.
    stalled = [row.take.id for row in plain if row.state == "stalled" and row.take is not None]
    if stalled:
        connection.execute(_LET_GO, [{"the_take": take, "moment": at} for take in stalled])
    for row in found:
        if row.state == "uncertain" and row.take is not None:
            # It may have been paid for, and nothing will ever tell: it counts as paid.
            give_up(connection, row, row.take, charged=row.take.reserved, again=True, at=at)
            if because:
                note(connection, row, "retake", reason, at=at)
