"""What a person decides about a row whose paid call has an unknown outcome.

Each function is one change for `Ledger.write` and returns False when the row was not `uncertain`.
"""

from __future__ import annotations

from decimal import Decimal

from sqlalchemy import Connection, bindparam, update

from tasks.credits import to_micro
from tasks.ledger.accounts import book
from tasks.ledger.moves import move
from tasks.ledger.paid_calls import resolve_call
from tasks.ledger.schema import rows, takes
from tasks.ledger.states import State
from tasks.ledger.values import CampaignRow, Take

_TAKE = update(takes).where(takes.c.id == bindparam("the_take"))
_ADOPT = _TAKE.values(accepted_at=bindparam("moment"), video_id=bindparam("video"))
_ABANDON = _TAKE.values(abandoned_at=bindparam("moment"), reserved=0, charged=bindparam("cost"))


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
