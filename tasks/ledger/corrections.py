"""What a later look at the world corrects in the ledger; each is one change for `Ledger.write`.

Nothing here moves a row. Every correction is guarded by what was read, and leaves an event.
"""

from __future__ import annotations

from decimal import Decimal

from sqlalchemy import Connection, bindparam, update

from tasks.credits import as_text, to_micro
from tasks.ledger.accounts import book
from tasks.ledger.insert import insert_unless_there
from tasks.ledger.moves import note
from tasks.ledger.schema import deliveries, takes
from tasks.ledger.takes import Delivered
from tasks.ledger.values import CampaignRow, Take

_CHARGE = (
    update(takes)
    .where(takes.c.id == bindparam("the_take"), takes.c.charged == bindparam("old"))
    .values(charged=bindparam("new"))
)


def correct_charge(
    connection: Connection, row: CampaignRow, take: Take, *, charged: Decimal, at: float
) -> bool:
    """Book what the service says a take has cost; return False if it was changed meanwhile.

    Only a take that is settled already: one under way is settled by the run that carries it.
    """
    if take.charged is None:
        return False
    old, new = to_micro(take.charged), to_micro(charged)
    changed = connection.execute(_CHARGE, {"the_take": take.id, "old": old, "new": new})
    if changed.rowcount != 1:
        return False
    book(connection, campaign_id=row.campaign_id, take_id=take.id, released=0, cost=new - old)
    note(
        connection,
        campaign_id=row.campaign_id,
        row_id=row.id,
        take_id=take.id,
        at=at,
        kind="charge",
        words=f"{as_text(charged)} credits instead of {as_text(take.charged)}, as the service says",
    )
    return True


def add_delivery(
    connection: Connection, row: CampaignRow, take: Take, *, file: Delivered, at: float
) -> bool:
    """Record a verified file that a delivered take did not have; return False if it has it."""
    values = {
        "take_id": take.id,
        "kind": file.kind,
        "uri": file.uri,
        "sha256": file.sha256,
        "bytes": file.bytes,
        "seconds": file.seconds,
        "verified_at": at,
    }
    if not insert_unless_there(connection, deliveries, values):
        return False
    note(
        connection,
        campaign_id=row.campaign_id,
        row_id=row.id,
        take_id=take.id,
        at=at,
        kind="repair",
        words=f"{file.kind} delivered afterwards",
    )
    return True
