"""What a person decides about a row: what its paid call did, or another take of it.

Each function is one change for `Ledger.write`. A paid call of unknown outcome is settled with the
video it made, or given up; another take has a new key and is approved at a price, and what the
take before it had set aside is accounted for in the same transaction.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from decimal import Decimal

from sqlalchemy import Connection, bindparam, select, update

from callsheet.tasks.credits import in_credits, to_micro
from callsheet.tasks.ledger.accounts import book
from callsheet.tasks.ledger.moves import move, note
from callsheet.tasks.ledger.paid_calls import resolve_call
from callsheet.tasks.ledger.quotes import Quoted
from callsheet.tasks.ledger.reviews import is_kept
from callsheet.tasks.ledger.schema import rows, takes
from callsheet.tasks.ledger.states import State
from callsheet.tasks.ledger.values import CampaignRow, Take

#: The states in which a row may be taken again. `retired` has left the sheet.
RETAKEABLE: frozenset[State] = frozenset(
    {"failed", "stalled", "rejected", "cancelled", "delivered", "held", "uncertain"}
)

_TAKE = update(takes).where(takes.c.id == bindparam("the_take"))
_ADOPT = _TAKE.values(accepted_at=bindparam("moment"), video_id=bindparam("video"))
_ABANDON = _TAKE.values(abandoned_at=bindparam("moment"), reserved=0, charged=bindparam("cost"))
_LET_GO = _TAKE.values(abandoned_at=bindparam("moment"))
_NOW = (
    select(rows.c.state, rows.c.digest, rows.c.nth, rows.c.take_id)
    .where(rows.c.id == bindparam("the_row"))
    .with_for_update()
)
_LAST = (
    select(takes.c.nth, takes.c.refused_at)
    .where(takes.c.row_id == bindparam("the_row"), takes.c.digest == bindparam("the_digest"))
    .order_by(takes.c.nth.desc())
    .limit(1)
)
_RENEW = (
    update(rows)
    .where(rows.c.id == bindparam("the_row"))
    .values(
        nth=bindparam("attempt"),
        quoted=bindparam("price"),
        quoted_at=bindparam("moment"),
        approved=bindparam("price"),
    )
)


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

    `words` say who knows, where it is not a person.
    """
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
    even_kept: bool = False,
) -> list[CampaignRow]:
    """Approve another take of each row; return those that had moved on, which stay as they are.

    So does, without `even_kept`, a row whose present take somebody keeps.
    """
    late = []
    for one in wanted:
        if not _unmoved(connection, one.row) or (not even_kept and _is_kept(connection, one.row)):
            late.append(one.row)
            continue
        attempt = _attempt(connection, one.row)
        _leave(connection, one.row, because, at)
        price = to_micro(one.amount)
        renewed = {"the_row": one.row.id, "attempt": attempt, "price": price, "moment": at}
        connection.execute(_RENEW, renewed)
        planned, quoted = replace(one.row, state="planned"), replace(one.row, state="quoted")
        move(connection, planned, "quoted", at=at, words=f"{in_credits(one.amount)}")
        move(connection, quoted, "approved", at=at, words=by)
    return late


def _unmoved(connection: Connection, row: CampaignRow) -> bool:
    """Whether the row is still what a person was shown; held so until the transaction ends."""
    if row.state not in RETAKEABLE:
        return False
    taken = row.take.id if row.take else None
    found = connection.execute(_NOW, {"the_row": row.id}).one()
    return tuple(found) == (row.state, row.digest, row.nth, taken)


def _is_kept(connection: Connection, row: CampaignRow) -> bool:
    # Asked once the row is locked: whoever keeps it now waits until this is over.
    return row.take is not None and is_kept(connection, row.take.id)


def _attempt(connection: Connection, row: CampaignRow) -> int:
    """Return the number in the next key: the first that was not used up for this very brief.

    A create that was refused for lack of credits has used nothing up: its key goes out again. One
    whose brief was refused has, since a service may remember its answer under that key.
    """
    values = {"the_row": row.id, "the_digest": row.digest}
    last = connection.execute(_LAST, values).first()
    if last is None:
        return 1
    unused = last.refused_at is not None and row.state != "rejected"
    return int(last.nth) + (0 if unused else 1)


def _leave(connection: Connection, row: CampaignRow, because: str | None, at: float) -> None:
    """Move the row to `planned`, and account for the take that it leaves behind."""
    take = row.take
    reason = f"another take: {because}" if because else "another take"
    if row.state == "uncertain" and take is not None:
        # It may have been paid for, and nothing will ever tell: it counts as paid.
        give_up(connection, row, take, charged=take.reserved, again=True, at=at)
        if because:
            note(connection, row, "retake", reason, at=at)
        return
    move(connection, row, "planned", at=at, words=reason)
    if row.state == "stalled" and take is not None:
        # Its video may still be finished and charged: its reserved credits stay reserved.
        connection.execute(_LET_GO, {"the_take": take.id, "moment": at})
