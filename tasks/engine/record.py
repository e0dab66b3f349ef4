"""Write a decision into the ledger, and say how the row stands after it.

One table: what was observed -> the change that fits it (acceptance, refusal, settlement, delivery
or a plain move) and the row as that change leaves it. Money never moves anywhere else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from functools import partial

from sqlalchemy import Connection

from callsheet.tasks.engine.policy.decision import Decision
from callsheet.tasks.engine.policy.observations import (
    Accepted,
    FilesStored,
    Missing,
    NothingFound,
    NotStored,
    Observation,
    Polled,
    RefusedAs,
    Released,
    Unmade,
    VideoReady,
)
from callsheet.tasks.ledger import (
    CampaignRow,
    Ledger,
    State,
    Take,
    accept,
    close_call,
    deliver,
    move,
    refuse,
    remark,
    settle,
)

Change = Callable[[Connection], bool]
NOTHING = Decimal(0)


async def record(
    ledger: Ledger, row: CampaignRow, observation: Observation, decision: Decision, *, now: float
) -> CampaignRow | None:
    """Commit what was decided; return the row as it then is, or None if it had moved on."""
    to, reason = decision.to, decision.reason
    if to is None:
        if reason is None:
            return row
        change: Change = partial(remark, row=row, words=reason, at=now)
        after = replace(row, reason=reason)
    else:
        change, take = _moved(row, to, observation, decision, now)
        after = replace(row, state=to, since=now, reason=reason, take=take)
    return after if await ledger.write(change) else None


def _moved(
    row: CampaignRow, to: State, observation: Observation, decision: Decision, now: float
) -> tuple[Change, Take | None]:
    """Return the move of a row to the state `to`, and its take as it then is."""
    take, reason = row.take, decision.reason
    if take is None:
        return partial(move, row=row, new=to, at=now, reason=reason), None
    change: Change
    match observation:
        case Accepted(video_id=video_id):
            change = partial(accept, row=row, take=take, video_id=video_id, at=now)
            return change, replace(take, video_id=video_id, accepted_at=now)
        case RefusedAs() | Unmade() if to != "uncertain":
            change = partial(refuse, row=row, take=take, new=to, reason=reason or "", at=now)
            return change, replace(take, refused_at=now, reserved=NOTHING)
        case VideoReady():
            charged = decision.memory.charged
            change = partial(settle, row=row, take=take, new=to, charged=charged, at=now)
            return change, _settled(take, charged, ready_at=now)
        case Polled() | Released() | Missing() if to in ("failed", "cancelled"):
            charged = _cost_of_ending(observation, decision)
            settlement = partial(settle, row=row, take=take, new=to, charged=charged, at=now)
            change = partial(settlement, reason=reason)
            return change, _settled(take, charged)
        case FilesStored() | NotStored():
            files, findings = decision.memory.files, decision.memory.findings
            delivery = partial(deliver, row=row, take=take, files=files, new=to, at=now)
            change = partial(delivery, reason=reason, findings=findings)
            return change, replace(take, delivered_at=now) if to == "delivered" else take
    change = partial(move, row=row, new=to, at=now, reason=reason, take=take)
    if isinstance(observation, NothingFound) and not take.keyed:
        return partial(_given_up, take_id=take.id, at=now, change=change), take
    return change, take


def _given_up(connection: Connection, *, take_id: int, at: float, change: Change) -> bool:
    close_call(connection, take_id=take_id, outcome="unknown", at=at)
    return change(connection)


def _settled(take: Take, charged: Decimal | None, *, ready_at: float | None = None) -> Take:
    """Return a take as `settle` leaves it: what was set aside is the charge, unless one is said."""
    charged = take.reserved if charged is None else charged
    return replace(take, charged=charged, reserved=NOTHING, ready_at=ready_at or take.ready_at)


def _cost_of_ending(observation: Observation, decision: Decision) -> Decimal | None:
    """A cancelled render releases its credits (specification, section 1); a failed one may not.

    None, for what was set aside, also where the service no longer knows the video.
    """
    charged = decision.memory.charged
    released = decision.to == "cancelled" and not isinstance(observation, Missing)
    return NOTHING if released and charged is None else charged
