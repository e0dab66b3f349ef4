"""The submit lane: intent first, then the create, then what came of it.

The one place that pays under a key; what takes none is in `submit_unkeyed`. The frozen bytes are
committed before the first of them leaves; after that only the same bytes under the same key are
ever sent for this take.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from sqlalchemy import Connection

from callsheet.tasks.engine.context import Context
from callsheet.tasks.engine.lanes.failures import closed, observation_of
from callsheet.tasks.engine.policy.observations import (
    Accepted,
    NothingFound,
    Observation,
    RefusedAs,
    Unknown,
    Unreached,
)
from callsheet.tasks.engine.shared_pace import heed
from callsheet.tasks.errors import (
    Conflict,
    NotSent,
    RateLimited,
    Refused,
    ServiceError,
)
from callsheet.tasks.ledger import (
    CampaignRow,
    Take,
    gate_of_group,
    gathers,
    open_take,
    rows_by_number,
)

#: Why nothing is sent by a run whose lease has lapsed.
LOST = "another run has taken this campaign over"


async def submit(row: CampaignRow, at: Context) -> tuple[CampaignRow, Observation] | None:
    """Send a row's create; return the row as it then is and what was observed.

    Returns None when the row had moved on, or the budget does not cover it: see the ledger.
    """
    if row.state == "approved":
        intended = await _intend(row, at)
        if intended is None:
            return None
        row = intended
    else:
        waiting = await reread(row, at)
        if waiting is None:
            return None
        row = waiting
    return row, await _create(row, at)


async def search(row: CampaignRow, at: Context) -> tuple[CampaignRow, Observation]:
    """Look for the video of a create whose key may be forgotten; pay nothing.

    Only a record that carries our own key is adopted: titles are not unique, and the
    organisation is shared. Absence in a list proves nothing, so nothing found asks a person.
    """
    assert row.take is not None, "a row is searched for by its take"
    try:
        async for video in at.service.list_videos():
            raw = video.raw if isinstance(video.raw, dict) else {}
            if raw.get("idempotency_key") == row.take.key:
                return row, Accepted(video.id)
    except ServiceError as error:
        return row, observation_of(error, at.clock())
    return row, NothingFound()


async def _intend(row: CampaignRow, at: Context) -> CampaignRow | None:
    key = row.key()
    now = at.clock()
    organisation = at.baseline.organisation
    intent = partial(open_take, row=row, key=key, body=row.body(key), at=now, terms=at.terms)
    opening = partial(_opened, row=row, organisation=organisation, intent=intent)
    take, closed_until = await at.ledger.write(opening)
    heed(at.service, closed_until)
    if take is None:
        return None
    return replace(row, state="submitting", since=now, reason=None, take=take)


@gathers
def _opened(
    connection: Connection,
    row: CampaignRow,
    *,
    organisation: str,
    intent: Callable[[Connection], Take | None],
) -> tuple[Take | None, float]:
    """Record the intent of a row; return its take, and until when the gate is closed."""
    return intent(connection), gate_of_group(connection, organisation)


async def reread(row: CampaignRow, at: Context) -> CampaignRow | None:
    """Return a row that is under way whole, as the ledger has it, or None if it has moved on.

    Another process may have heard of its take since: what was refused by then has no money set
    aside any more.
    """
    (found,) = await at.ledger.read(partial(rows_by_number, numbers=[row.id]))
    if _stands(found) != _stands(row):
        return None
    return found


def _stands(row: CampaignRow) -> tuple[object, ...]:
    assert row.take is not None, "a row under way has a take"
    return row.state, row.take.id, row.take.intended_at


async def _create(row: CampaignRow, at: Context) -> Observation:
    assert row.take is not None, "a row in submitting has a take"
    assert row.take.body, "what is sent is read whole before"
    if not await at.in_charge():
        # Whoever has the campaign now sends it, under the same key.
        return Unreached(LOST)
    try:
        created = await at.service.make(row.operation, row.take.body, key=row.take.key)
    except RateLimited as error:
        return closed(error, at.clock())
    except NotSent as error:
        return Unreached(str(error))
    except Conflict as error:
        # Most likely the first call under this key is still at work: ask again, same key.
        return Unknown(str(error))
    except Refused as error:
        return RefusedAs(error.status, str(error), of_key=_of_key(error))
    except ServiceError as error:
        return Unknown(str(error))
    return Accepted(created.video_id, created.poll_after)


def _of_key(error: Refused) -> bool:
    """Whether a 422 is about the key and not about the brief; the specification has neither."""
    return error.status == 422 and "idempot" in f"{error.code or ''} {error}".lower()
