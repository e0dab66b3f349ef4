"""Write a decision into the ledger, and say how the row stands after it.

Chooses the one change that fits what was seen: acceptance, refusal, settlement, delivery, or a
plain move. Money never moves anywhere else.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from functools import partial

from sqlalchemy import Connection

from tasks.engine.policy.decision import Decision
from tasks.engine.policy.observations import (
    Accepted,
    FilmReady,
    Looked,
    Missing,
    NothingFound,
    NotStored,
    RefusedAs,
    Released,
    Seen,
    Stored,
    Unmade,
)
from tasks.ledger import (
    CampaignRow,
    Ledger,
    accept,
    close_call,
    deliver,
    move_row,
    refuse,
    remark,
    settle,
)


async def record(
    ledger: Ledger, row: CampaignRow, seen: Seen, decision: Decision, *, now: float
) -> CampaignRow | None:
    """Commit what was decided; return the row as it then is, or None if it had moved on."""
    if decision.to is None and decision.reason is None:
        return row
    change = partial(_change, row=row, seen=seen, decision=decision, now=now)
    if not await ledger.write(change):
        return None
    return _after(row, seen, decision, now)


def _change(
    connection: Connection, *, row: CampaignRow, seen: Seen, decision: Decision, now: float
) -> bool:
    to, reason = decision.to, decision.reason
    if to is None:
        return remark(
            connection,
            campaign_id=row.campaign_id,
            row_id=row.id,
            state=row.state,
            at=now,
            words=reason or "",
        )
    take = row.take
    if take is not None:
        match seen:
            case Accepted():
                return accept(connection, row, take, video_id=seen.video_id, at=now)
            case RefusedAs() | Unmade() if to != "uncertain":
                return refuse(connection, row, take, new=to, reason=reason or "", at=now)
            case NothingFound() if not take.keyed:
                close_call(connection, take_id=take.id, outcome="unknown", at=now)
            case FilmReady():
                charged = decision.memory.charged
                return settle(connection, row, take, new=to, charged=charged, at=now)
            case Looked() | Released() | Missing() if to in ("failed", "cancelled"):
                cost = _cost_of_ending(seen, decision)
                return settle(connection, row, take, new=to, charged=cost, at=now, reason=reason)
            case Stored() | NotStored():
                files = decision.memory.files
                return deliver(connection, row, take, files=files, at=now, new=to, reason=reason)
            case _:
                pass
    taken = take.id if take else None
    return move_row(connection, row, to, at=now, reason=reason, take_id=taken)


def _cost_of_ending(seen: Seen, decision: Decision) -> Decimal | None:
    """A cancelled render releases its credits (specification, section 1); a failed one may not.

    None, for what was set aside, also where the service no longer knows the video.
    """
    charged = decision.memory.charged
    released = decision.to == "cancelled" and not isinstance(seen, Missing)
    return Decimal(0) if released and charged is None else charged


def _after(row: CampaignRow, seen: Seen, decision: Decision, now: float) -> CampaignRow:
    take = row.take
    if decision.to is None:
        return replace(row, reason=decision.reason)
    if take is not None:
        match seen:
            case Accepted():
                take = replace(take, video_id=seen.video_id, accepted_at=now)
            case RefusedAs() | Unmade() if decision.to != "uncertain":
                take = replace(take, refused_at=now, reserved=Decimal(0))
            case FilmReady():
                cost = decision.memory.charged
                cost = take.reserved if cost is None else cost
                take = replace(take, ready_at=now, charged=cost, reserved=Decimal(0))
            case Looked() | Released() | Missing() if decision.to in ("failed", "cancelled"):
                cost = _cost_of_ending(seen, decision)
                cost = take.reserved if cost is None else cost
                take = replace(take, charged=cost, reserved=Decimal(0))
            case Stored() if decision.to == "delivered":
                take = replace(take, delivered_at=now)
            case _:
                pass
    return replace(row, state=decision.to, since=now, reason=decision.reason, take=take)
