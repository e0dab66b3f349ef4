"""The lane of paid calls that take no idempotency key: baseline, intent, one send, evidence.

What is sent here is sent once, on a connection of its own. When its answer is lost it is never
sent again by itself: what it made is looked for (`evidence`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

from sqlalchemy import Connection

from callsheet.tasks.engine.context import Context
from callsheet.tasks.engine.lanes.evidence import made_by
from callsheet.tasks.engine.lanes.failures import closed, observation_of
from callsheet.tasks.engine.lanes.submit import LOST, reread
from callsheet.tasks.engine.policy.observations import (
    Accepted,
    Busy,
    Missing,
    NothingFound,
    Observation,
    RefusedAs,
    Troubled,
    Unknown,
    Unmade,
)
from callsheet.tasks.engine.shared_pace import heed
from callsheet.tasks.errors import NotSent, RateLimited, Refused, ServiceError
from callsheet.tasks.ledger import (
    CampaignRow,
    PaidCall,
    Take,
    drop_call,
    gate_of_group,
    join_call,
    open_call,
    open_take,
    unsettled_calls,
)

#: So many calls whose outcome nobody knows stop all further ones.
BREAKER = 3


async def submit_unkeyed(
    row: CampaignRow, at: Context, may_pay: Callable[[], bool]
) -> tuple[CampaignRow, Observation] | None:
    """Send an approved row's call once; return the row as it then is and what was observed.

    Returns None when the row had moved on, the budget does not cover it (see the ledger), or
    `may_pay` says no: it is asked before the call is begun, that is, its intent written.
    """
    try:
        await at.baseline.refresh(at=at.clock())
    except ServiceError as error:
        observation = observation_of(error, at.clock())
        return row, Troubled("the service lists no videos") if isinstance(
            observation, Missing
        ) else observation
    if not may_pay():
        return None
    intended, closed_until = await at.ledger.write(partial(_intend, row=row, at=at))
    heed(at.service, closed_until)
    if isinstance(intended, Busy):
        return row, intended
    if intended is None:
        return None
    row = replace(row, state="submitting", since=at.clock(), reason=None, take=intended)
    return row, await _send(row, intended, at)


async def search_made(row: CampaignRow, at: Context) -> tuple[CampaignRow, Observation] | None:
    """Look for what a call with a lost answer has made; pay nothing.

    Returns None when the row had moved on.
    """
    whole = await reread(row, at)
    if whole is None:
        return None
    row = whole
    assert row.take is not None, "a row is searched for by its take"
    try:
        found, candidates = await made_by(at.baseline, row.take.asked(), row.take.intended_at)
    except ServiceError as error:
        return row, observation_of(error, at.clock())
    if found is not None:
        return row, Accepted(found.id, found.poll_after)
    return row, NothingFound(candidates)


def _intend(
    connection: Connection, row: CampaignRow, at: Context
) -> tuple[Take | Busy | None, float]:
    """Commit intent, body and money; nothing is sent while another such call is unsettled.

    Returns also until when the gate is closed.
    """
    now, organisation = at.clock(), at.baseline.organisation
    body = row.body(None)
    gate = gate_of_group(connection, organisation)
    unsettled = unsettled_calls(connection, organisation)
    if len(unsettled) >= BREAKER:
        return Busy(_words(unsettled), since=None), gate
    call_id = open_call(
        connection, organisation=organisation, operation=row.operation, body=body, at=now
    )
    if call_id is None:
        under_way = [call for call in unsettled if call.closed_at is None]
        since = min((call.opened_at for call in under_way), default=now)
        return Busy(_words(under_way), since=since), gate
    take = open_take(connection, row, key=row.key(), body=body, at=now, terms=at.terms)
    if take is None:
        drop_call(connection, call_id)
    else:
        join_call(connection, call_id, take_id=take.id)
    return take, gate


async def _send(row: CampaignRow, take: Take, at: Context) -> Observation:
    if not await at.in_charge():
        return Unmade(LOST)
    try:
        created = await at.service.make(row.operation, take.body, key=None)
    except RateLimited as error:
        return Unmade(str(error), closed(error, at.clock()).until)
    except NotSent as error:
        return Unmade(str(error))
    except Refused as error:
        return RefusedAs(error.status, str(error))
    except ServiceError as error:
        return Unknown(str(error))
    return Accepted(created.video_id, created.poll_after)


def _words(found: Iterable[PaidCall]) -> str:
    named = ", ".join(str(call) for call in found) or "another process"
    return f"waits for paid calls without a key whose outcome is not known yet: {named}"
