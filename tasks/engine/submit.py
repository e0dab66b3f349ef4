"""Submits paid calls: intent first, then the create, then its outcome.

Calls without a key are sent once.

The frozen bytes of a keyed create are committed before the first of them leaves; after that only
the same bytes under the same key are ever sent for this take.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial

from sqlalchemy import Connection

from callsheet.tasks.engine.context import Context, heed
from callsheet.tasks.engine.evidence import Before, before, find_edit, made_by
from callsheet.tasks.engine.free_calls import closed, observation_of
from callsheet.tasks.engine.policy.decision import (
    Accepted,
    Busy,
    Missing,
    NeverSent,
    NothingFound,
    NotMade,
    Observation,
    RefusedAs,
    Rules,
    Troubled,
    Unknown,
    is_young,
)
from callsheet.tasks.ledger.moves import move
from callsheet.tasks.ledger.service_state import (
    NEW,
    PaidCall,
    drop_call,
    gate_of_group,
    join_call,
    open_call,
    unsettled_calls,
)
from callsheet.tasks.ledger.statements import gathers
from callsheet.tasks.ledger.takes import open_take
from callsheet.tasks.ledger.values import (
    CampaignRow,
    Take,
    last_made,
    rows_by_number,
    takes_of,
)
from callsheet.tasks.runtime.errors import (
    Conflict,
    NotFound,
    NotSent,
    RateLimited,
    Refused,
    ServiceError,
)
from callsheet.tasks.service import Created, Operation, Started
from callsheet.tasks.service import operations as ops
from callsheet.tasks.values.briefs import canonical_json
from callsheet.tasks.values.edits import Edit, EditOf, edit_between, edit_of

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
        try:
            if _sent_elsewhere(row, at) or not await _is_remembered(row, at):
                return await search(row, at)
        except ServiceError as error:
            return row, observation_of(error, at.clock())
    return row, await _create(row, at)


def _sent_elsewhere(row: CampaignRow, at: Context) -> str | None:
    """Return the service that a row's request went to, where that is another one."""
    assert row.take is not None, "a row in submitting has a take"
    return None if row.take.service in (None, at.service_address) else row.take.service


async def _is_remembered(row: CampaignRow, at: Context) -> bool:
    """Whether the service remembers a row's key by its own clock: ours may have been set back."""
    assert row.take is not None, "a row in submitting has a take"
    return is_young(row.take, await at.service_time(), Rules.of(at.settings))


async def search(row: CampaignRow, at: Context) -> tuple[CampaignRow, Observation]:
    """Look for the video of a create whose key may be forgotten; pay nothing.

    Only a record that has our own key is adopted: titles are not unique, and the
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
    return row, NothingFound(sent_to=_sent_elsewhere(row, at))


async def _intend(row: CampaignRow, at: Context) -> CampaignRow | None:
    key = row.key()
    now = at.clock()
    organisation = at.baseline.organisation
    intent = partial(
        open_take,
        row=row,
        key=key,
        body=row.body(key),
        at=now,
        service=at.service_address,
        terms=at.terms,
    )
    take, closed_until = await at.ledger.write(
        _opened, row=row, organisation=organisation, intent=intent
    )
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

    Another process may have observed its take since: what was refused by then has no money set
    aside any more.
    """
    (found,) = await at.ledger.read(rows_by_number, numbers=[row.id])
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
        # Anyone who has the campaign now sends it, under the same key.
        return NeverSent(LOST)
    try:
        created = await at.service.make(row.operation, row.take.body, key=row.take.key)
    except RateLimited as error:
        return closed(error, at.clock())
    except NotSent as error:
        return NeverSent(str(error))
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


# The lane of paid calls that take no idempotency key: baseline, intent, one send, evidence.
#
# What is sent here is sent once, on a connection of its own. When its answer is lost it is never
# sent again by itself: what it made is looked for (`evidence`).


#: So many calls whose outcome no one knows stop all further ones.
BREAKER = 3


async def submit_unkeyed(
    row: CampaignRow, at: Context, may_pay: Callable[[], bool]
) -> tuple[CampaignRow, Observation] | None:
    """Send an approved row's call once; return the row as it then is and what was observed.

    Returns None when the row had moved on, the budget does not cover it (see the ledger), or
    `may_pay` says no: it is asked before the call is begun, that is, its intent written.
    """
    change: _Change | None = None
    try:
        if edit_of(row.operation) is None:
            await at.baseline.refresh(at=at.clock())
        else:
            change = await _change_of(row, at)
            if change is None:
                return None
            if change.before is not None and change.before.running:
                return row, Troubled(f"{change.video_id} is being rendered")
    except ServiceError as error:
        observation = observation_of(error, at.clock())
        return row, Troubled("the service lists no videos") if isinstance(
            observation, Missing
        ) else observation
    if not may_pay():
        return None
    intended, closed_until = await at.ledger.write(_intend_unkeyed, row=row, at=at, change=change)
    heed(at.service, closed_until)
    if isinstance(intended, Busy):
        return row, intended
    if intended is None:
        return None
    row = replace(row, state="submitting", since=at.clock(), reason=None, take=intended)
    return row, await _send(row, intended, at, change)


@dataclass(frozen=True, kw_only=True)
class _Change:
    """An edit of a made video, and how the video is before it (None: it cannot be found)."""

    edit: Edit
    video_id: str
    before: Before | None

    @property
    def body(self) -> bytes:
        return canonical_json(self.edit.body) if self.edit.body else b""


#: The paid call of each edit (specification, section 4).
_CALLS: dict[EditOf, Operation[Started]] = {
    "title": ops.RENDER, "captions": ops.RENDER, "scene": ops.SCENE, "voice": ops.VOICE
}  # fmt: skip


async def _change_of(row: CampaignRow, at: Context) -> _Change | None:
    """Return the edit that was approved for a row; put the row on hold where it does not fit."""
    made = last_made(
        [
            take
            for _, take in await at.ledger.read(
                takes_of, campaign_id=row.campaign_id, numbers=[row.id]
            )
        ]
    )
    edit = made and edit_between(made.asked(), row.asked())
    if made is None or made.video_id is None or not edit or edit.of != edit_of(row.operation):
        why = "its video has changed since the edit was approved; nothing was spent: run again"
        await at.ledger.write(move, row=row, new="held", at=at.clock(), reason=why)
        return None
    try:
        seen = await before(at.service, made.video_id)
    except NotFound:
        seen = None
    return _Change(edit=edit, video_id=made.video_id, before=seen)


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
        if edit_of(row.operation):
            edited = await find_edit(at.ledger, at.service, row.take)
            return row, Accepted(edited) if edited else NothingFound()
        found, candidates = await made_by(at.baseline, row.take.asked(), row.take.intended_at)
    except ServiceError as error:
        return row, observation_of(error, at.clock())
    if found is not None:
        return row, Accepted(found.id, found.poll_after)
    return row, NothingFound(candidates)


def _intend_unkeyed(
    connection: Connection, row: CampaignRow, at: Context, change: _Change | None
) -> tuple[Take | Busy | None, float]:
    """Commit intent, body and money; nothing is sent while another such call is unsettled.

    Returns also until when the gate is closed.
    """
    now, organisation = at.clock(), at.baseline.organisation
    body = row.body(None)
    target, seen = (change.video_id, change.before) if change else (NEW, None)
    gate = gate_of_group(connection, organisation)
    unsettled = unsettled_calls(connection, organisation)
    if len(unsettled) >= BREAKER:
        return Busy(_words(unsettled), since=None), gate
    call_id = open_call(
        connection,
        organisation=organisation,
        operation=row.operation,
        body=change.body if change else body,
        at=now,
        target=target,
        before=seen.as_text() if seen else None,
    )
    if call_id is None:
        under_way = [one for one in unsettled if not one.closed_at and one.target == target]
        since = min((call.opened_at for call in under_way), default=now)
        return Busy(_words(under_way), since=since), gate
    take = open_take(
        connection,
        row,
        key=row.key(),
        body=body,
        at=now,
        service=at.service_address,
        terms=at.terms,
    )
    if take is None:
        drop_call(connection, call_id)
    else:
        join_call(connection, call_id, take_id=take.id)
    return take, gate


async def _send(row: CampaignRow, take: Take, at: Context, change: _Change | None) -> Observation:
    if not await at.in_charge():
        return NotMade(LOST)
    made: Created | Started
    try:
        if change is None:
            made = await at.service.make(row.operation, take.body, key=None)
        else:
            await _patch(change, at)
            made = await at.service.ask(
                _CALLS[change.edit.of],
                change.video_id,
                change.body or None,
                scene=change.edit.scene,
            )
    except RateLimited as error:
        return NotMade(str(error), closed(error, at.clock()).until)
    except NotSent as error:
        return NotMade(str(error))
    except Refused as error:
        return RefusedAs(error.status, f"{error}{_already(change, error)}")
    except ServiceError as error:
        return Unknown(str(error))
    return Accepted(change.video_id if change else made.video_id, made.poll_after)


async def _patch(change: _Change, at: Context) -> None:
    """Change what is free to change; a lost answer means that nothing was paid."""
    if not change.edit.changes:
        return
    try:
        await at.service.ask(ops.EDIT, change.video_id, change.edit.changes)
    except (RateLimited, NotSent, Refused):
        raise
    except ServiceError as error:
        words = f"not sent, since the change before it failed: {error}"
        raise NotSent(words, operation=ops.EDIT.name) from error


def _already(change: _Change | None, refused: Refused) -> str:
    """Say what of an edit whose paid call was refused the service has taken on before it."""
    if change is None or not change.edit.changes or refused.operation == ops.EDIT.name:
        return ""
    names = " and ".join(sorted(change.edit.changes))
    return f"; the service has the new {names} already, and shows it once the video is exported"


def _words(found: Iterable[PaidCall]) -> str:
    named = ", ".join(str(call) for call in found) or "another process"
    return f"waits for paid calls without a key whose outcome is not known yet: {named}"
