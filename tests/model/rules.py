"""What is true at every moment: the promises about money and about rows, checked from outside.

Reads the ledger's tables and the service's own log, and asks no function that is under test.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select

from callsheet.tasks.ledger.schema import calls, campaigns, events, rows, takes
from callsheet.tasks.ledger.values import TRANSITIONS
from callsheet.tasks.values.briefs import CREATE
from tests.model.service import SimulatedService, Violation

MICRO = 1_000_000


@dataclass(frozen=True)
class Account:
    """The campaign's account, in millionths of a credit."""

    budget: int | None
    reserved: int
    charged: int


def account_of(connection: Connection) -> Account | None:
    """Return the account of the one campaign, if it is there yet."""
    columns = (campaigns.c.budget, campaigns.c.reserved, campaigns.c.charged)
    found = connection.execute(select(*columns)).first()
    return None if found is None else Account(*found)


def check_spending(before: Account | None, after: Account | None) -> None:
    """Raise Violation when one change sets more aside than the budget of that moment allows.

    A charge is a fact, and may be above what nobody could quote; setting aside is our own act.
    """
    if before is None or after is None or after.budget is None:
        return
    if after.reserved > before.reserved and after.reserved + after.charged > after.budget:
        raise Violation(f"{after} is above the budget")


def check_intent(connection: Connection, operation: str, body: bytes) -> int | None:
    """Return the take that a paid call is sent for; raise Violation when none was committed."""
    open_calls = select(calls.c.take_id).where(calls.c.closed_at.is_(None), calls.c.body == body)
    wanted = takes.c.body == body
    if b"idempotency_key" not in body:
        found = list(connection.scalars(open_calls))
        if len(found) != 1:
            raise Violation(f"{operation} was sent with {len(found)} calls open for it")
        wanted = takes.c.id == found[0]
    intended = select(takes, rows.c.state).join(rows, rows.c.take_id == takes.c.id).where(wanted)
    take = connection.execute(intended).first()
    if take is None or take.body != body or take.refused_at or take.abandoned_at:
        raise Violation(f"{operation} was sent without an intent: {body.decode()}")
    return int(take.id)


def check_ledger(connection: Connection, service: SimulatedService, now: float) -> None:
    """Raise Violation unless rows, takes, events, files and money fit each other."""
    found = {row.id: row for row in connection.execute(select(rows))}
    sent = {take.id: take for take in connection.execute(select(takes))}
    _check_account(connection, list(sent.values()))
    _check_history(connection, found)
    _check_videos(service, sent, found, now)
    files = {take.id: set(json.loads(take.files or "{}")) for take in sent.values()}
    for row in found.values():
        if row.state == "delivered" and not {"mp4", *row.captions.split()} <= files[row.take_id]:
            raise Violation(f"{row.row} is delivered with {sorted(files[row.take_id])}")
        own = (take.id for take in sent.values() if take.row_id == row.id)
        videos = [take for take in own if "mp4" in files[take]]
        wanted = row.take_id if row.take_id in videos else row.video_take_id
        if row.video_take_id != wanted or row.video_take_id not in (videos or [None]):
            raise Violation(f"{row.row} shows the video of take {row.video_take_id} of {videos}")
    open_calls = [c for c in connection.execute(select(calls)) if c.closed_at is None]
    if len(open_calls) > 1:
        raise Violation(f"{len(open_calls)} calls without a key are open at once")


def check_sheet(connection: Connection, wanted: set[str]) -> None:
    """Raise Violation unless the ledger has each row of an adopted sheet once, in one state."""
    known: dict[str, list[str]] = defaultdict(list)
    for row in connection.execute(select(rows.c.row, rows.c.state)):
        known[row.row].append(row.state)
    for row in wanted:
        states = known.pop(row, [])
        if len(states) != 1 or states[0] == "retired":
            raise Violation(f"{row} is in the sheet and in the ledger as {states}")


def _check_account(connection: Connection, sent: list[Any]) -> None:
    account = account_of(connection)
    if account is None:
        return
    sums = (sum(take.reserved for take in sent), sum(take.charged or 0 for take in sent))
    if (account.reserved, account.charged) != sums or min(sums) < 0:
        raise Violation(f"{account}, but its takes add up to {sums}")


def _check_history(connection: Connection, found: dict[int, Any]) -> None:
    at, states = 0.0, dict.fromkeys(found, "planned")
    for event in connection.execute(select(events).order_by(events.c.id)):
        if event.at < at:
            raise Violation(f"event {event.id} comes after a later one")
        at = event.at
        if event.kind != "state":
            continue
        if states[event.row_id] != event.old or event.new not in TRANSITIONS[event.old]:
            raise Violation(f"event {event.id}: {event.old} -> {event.new} is no lawful move")
        states[event.row_id] = event.new
    for row in found.values():
        if row.state != states[row.id]:
            raise Violation(f"{row.row} is {row.state}, but its last event says {states[row.id]}")


def _check_videos(
    service: SimulatedService, sent: dict[int, Any], found: dict[int, Any], now: float
) -> None:
    owners: dict[str, int] = {}
    for take in sent.values():
        made = service.videos.get(take.video_id)
        if made is None:
            continue
        if made.take != take.id:
            raise Violation(f"take {take.id} has {made.id}, which was made for {made.take}")
        if owners.setdefault(made.id, take.id) != take.id:
            raise Violation(f"{made.id} belongs to two takes")
    paid: dict[int, int] = defaultdict(int)
    for made in service.videos.values():
        if made.take is None:
            continue
        paid[made.take] += 1
        take = sent[made.take]
        if paid[take.id] > 1:
            raise Violation(f"take {take.id} was paid for twice: {made}")
        known = take.reserved + (take.charged or 0)
        # A clip has no price but the limit of its row: what it costs beyond that is booked when it
        # is ready.
        is_open = found[take.row_id].operation != CREATE and take.charged is None
        if take.quoted is None or (is_open and take.quoted < made.price * MICRO):
            continue
        if made.costs(now) * MICRO > known:
            raise Violation(f"{made.id} costs {made.costs(now)}, of which we know {known / MICRO}")
