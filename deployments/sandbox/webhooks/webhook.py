"""Webhooks and what is on its way to them: the records, which are answered as they are kept, and
every change of them, each of which is one transaction.

active --twenty consecutive failures, or PATCH is_active false--> disabled
disabled --PATCH is_active true--> active          any --DELETE--> (gone)

A delivery is one event on its way to one webhook. It is written in the transaction that makes the
event true, so a crash can neither lose one nor invent one. Its body is made once and never again:
every retry sends the very same bytes.

pending --2xx--> delivered          pending --sixth failure--> failed
pending --webhook disabled--> stopped          pending --fault `missing`--> lost
"""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections import Counter
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, BaseModel, Field, StringConstraints

from callsheet.deployments.sandbox.database import Document, Moment, drop, every, find, put, stamp
from callsheet.deployments.sandbox.envelope import Refusal, RequestBody

READY = "video.ready"
PING = "ping"
EVENT_KINDS = (READY, PING)
BY_OWNER = "It was switched off with PATCH."
#: Seconds from a failure to the next attempt (specification, section 6); after the last of them
#: there is none.
RETRIES = (30.0, 120.0, 600.0, 3600.0, 21600.0)
FAILURES_BEFORE_DISABLING = 20
DISABLED = f"{FAILURES_BEFORE_DISABLING} attempts in a row failed."
#: Specification, section 8.
LISTED = 50


def _known(kinds: list[str]) -> list[str]:
    unknown = [kind for kind in kinds if kind not in EVENT_KINDS]
    if unknown:
        raise ValueError(f"must hold known kinds only: {', '.join(EVENT_KINDS)}")
    return list(dict.fromkeys(kinds))


EventKinds = Annotated[
    list[str],
    Field(min_length=1, json_schema_extra={"items": {"type": "string", "enum": list(EVENT_KINDS)}}),
    AfterValidator(_known),
]
#: `check_url` has the rule; it depends on how the sandbox was started.
WebhookUrl = Annotated[
    str,
    Field(
        json_schema_extra={"format": "uri", "pattern": "^https?://", "maxLength": 2048},
        description="Public and https; http only for a sandbox that allows loopback webhooks.",
    ),
]
WebhookName = Annotated[str, StringConstraints(max_length=200)]


class CreateWebhook(RequestBody):
    """What `POST /webhooks` takes (specification, section 4)."""

    url: WebhookUrl
    events: EventKinds
    name: WebhookName = ""


class PatchWebhook(RequestBody):
    """What `PATCH /webhooks/{id}` takes."""

    url: WebhookUrl | None = None
    events: EventKinds | None = None
    name: WebhookName | None = None
    is_active: bool | None = None


class WebhookShown(Document):
    """A webhook as every answer shows it; the secret is in none but the first."""

    url: str
    events: list[str]
    name: str
    is_active: bool
    consecutive_failures: int
    disabled_at: Moment | None
    disabled_reason: str | None
    created_at: Moment
    updated_at: Moment


class Webhook(WebhookShown):
    """A webhook as it is kept, and as the answer to its create shows it, with its secret."""

    secret: str


class WebhookList(BaseModel):
    """Every webhook of the organization, oldest first."""

    webhooks: list[WebhookShown]


class WebhookDeleted(BaseModel):
    """The answer to a delete."""

    id: str
    deleted: bool


class Attempt(Document):
    """One attempt at a delivery, as `GET /webhooks/{id}/deliveries` lists it."""

    event_id: str
    event: str
    attempt: int
    outcome: str
    status: int | None
    error: str | None
    started_at: Moment
    milliseconds: int
    next_attempt_at: Moment | None


class KeptAttempt(Attempt):
    """One attempt as it is kept."""

    webhook_id: str

    def found_by(self) -> tuple[str, str, float]:
        return self.webhook_id, "", self.started_at


class AttemptList(BaseModel):
    """The last 50 attempts, newest first."""

    deliveries: list[Attempt]


class Delivery(Document):
    """One event on its way to one webhook, or a test ping.

    `held` says that a fault has put off the next attempt already; `tried` is the id of the last.
    """

    webhook_id: str
    event_id: str
    kind: str
    body: str
    state: str = "pending"
    attempts: int = 0
    due_at: float
    held: bool = False
    tried: str = ""

    def found_by(self) -> tuple[str, str, float]:
        return self.webhook_id, self.state, self.due_at


class SendResult(NamedTuple):
    """What became of a request: a status, or the reason why there is none."""

    status: int | None
    error: str | None
    milliseconds: int


def create(db: sqlite3.Connection, asked: CreateWebhook, *, now: float) -> Webhook:
    """Make a webhook with an id and a secret of its own."""
    made = Webhook(
        id=f"wh_{secrets.token_hex(8)}", secret=secrets.token_urlsafe(32), **asked.model_dump(),
        is_active=True, consecutive_failures=0, disabled_at=None, disabled_reason=None,
        created_at=now, updated_at=now,
    )  # fmt: skip
    return put(db, made)


def get(db: sqlite3.Connection, webhook_id: str) -> Webhook:
    """Find a webhook, or refuse with 404."""
    found = find(db, Webhook, webhook_id)
    if found is None:
        raise Refusal(404, "not_found", f"There is no webhook {webhook_id[:80]}.")
    return found


def patch(db: sqlite3.Connection, webhook_id: str, changes: PatchWebhook, *, now: float) -> Webhook:
    """Edit a webhook. Deliveries already waiting go to its new address."""
    found = get(db, webhook_id)
    said = changes.model_dump(exclude_unset=True)
    is_active = said.pop("is_active", found.is_active)
    changed = put(db, found.changed(**said, updated_at=now))
    if not is_active:
        return _disable(db, changed, reason=BY_OWNER, now=now)
    if not changed.is_active or changes.is_active:
        fresh = {"consecutive_failures": 0, "disabled_at": None, "disabled_reason": None}
        changed = put(db, changed.changed(is_active=True, **fresh))
    return changed


def _disable(db: sqlite3.Connection, webhook: Webhook, *, reason: str, now: float) -> Webhook:
    """Switch a webhook off and stop what was on its way to it; nothing of it is sent later."""
    for delivery in every(db, Delivery, owner=webhook.id, state="pending"):
        put(db, delivery.changed(state="stopped"))
        # What was planned after the last attempt of each delivery will not happen.
        tried = find(db, KeptAttempt, delivery.tried)
        if tried is not None:
            put(db, tried.changed(next_attempt_at=None))
    if not webhook.is_active:
        return webhook
    off = {"is_active": False, "disabled_at": now, "disabled_reason": reason, "updated_at": now}
    return put(db, webhook.changed(**off))


def delete(db: sqlite3.Connection, webhook_id: str) -> None:
    """Forget a webhook, what was on its way to it, and what was tried."""
    get(db, webhook_id)
    drop(db, Webhook, id=webhook_id)
    drop(db, Delivery, owner=webhook_id)
    drop(db, KeptAttempt, owner=webhook_id)


def new_delivery(webhook_id: str, kind: str, data: dict[str, Any], *, now: float) -> Delivery:
    """Make an event with its raw body, whose shape the specification does not show."""
    event_id = new_event_id()
    said = {"id": event_id, "type": kind, "created_at": stamp(now), "data": data}
    return Delivery(
        id=f"{event_id} {webhook_id}", webhook_id=webhook_id, event_id=event_id, kind=kind,
        body=json.dumps(said, ensure_ascii=False, separators=(",", ":")), due_at=now,
    )  # fmt: skip


def new_event_id() -> str:
    return f"evt_{secrets.token_hex(12)}"


def emit(db: sqlite3.Connection, *, kind: str, data: dict[str, Any], now: float) -> None:
    """Write a delivery of one event for every active webhook that wants its kind.

    Call it in the transaction of the change it tells of, and `container.webhooks.wake()` after the
    commit. An event that no webhook wants is not kept: nothing is ever replayed.
    """
    wanting = [one for one in every(db, Webhook) if one.is_active and kind in one.events]
    if not wanting:
        return
    event = new_delivery("", kind, data, now=now)
    for one in wanting:
        put(db, event.changed(id=f"{event.event_id} {one.id}", webhook_id=one.id))


def due(
    db: sqlite3.Connection, *, now: float, most: int
) -> tuple[dict[str, list[Delivery]], float | None]:
    """Give what is due, by webhook and the longest due first, at most so many of each; and the
    moment when more will be due."""
    active = [one.id for one in every(db, Webhook) if one.is_active]
    found = {
        owner: every(db, Delivery, owner=owner, state="pending", until=now, most=most)
        for owner in active
    }
    sql = "SELECT min(due) FROM documents WHERE kind = 'Delivery' AND state = 'pending' AND due > ?"
    following: float | None = db.execute(sql, (now,)).fetchone()[0]
    return found, following


def _pending(db: sqlite3.Connection, delivery: Delivery) -> Delivery | None:
    """Give a delivery as it is now; None when it is on its way no more."""
    found = find(db, Delivery, delivery.id)
    return found if found is not None and found.state == "pending" else None


def hold(db: sqlite3.Connection, delivery: Delivery, *, until: float) -> None:
    """Put off an attempt; the fault that asked for it does not strike this attempt again."""
    if _pending(db, delivery):
        put(db, delivery.changed(due_at=until, held=True))


def lose(db: sqlite3.Connection, delivery: Delivery) -> None:
    """Forget a delivery as if there had been no event."""
    if _pending(db, delivery):
        put(db, delivery.changed(state="lost"))


def record(
    db: sqlite3.Connection, delivery: Delivery, tried: KeptAttempt, *, now: float, time_scale: float
) -> None:
    """Write down an attempt and what follows: the end, a retry, or the end of the webhook."""
    webhook, pending = find(db, Webhook, delivery.webhook_id), _pending(db, delivery)
    if webhook is None:
        return
    if pending is None:
        # The webhook was disabled in the meantime: this counts neither way and leads to nothing.
        put(db, tried)
        return
    delivered = tried.error is None
    again = None
    if not delivered and tried.attempt <= len(RETRIES):
        again = now + RETRIES[tried.attempt - 1] / time_scale
    put(db, tried.changed(next_attempt_at=again))
    state = "delivered" if delivered else "failed" if again is None else "pending"
    moved = {"state": state, "attempts": tried.attempt, "held": False, "tried": tried.id}
    put(db, pending.changed(**moved, due_at=again or pending.due_at))
    failures = 0 if delivered else webhook.consecutive_failures + 1
    webhook = put(db, webhook.changed(consecutive_failures=failures))
    if failures >= FAILURES_BEFORE_DISABLING:
        _disable(db, webhook, reason=DISABLED, now=now)


def listed_attempts(db: sqlite3.Connection, webhook_id: str) -> list[KeptAttempt]:
    """Give the last attempts of a webhook, newest first."""
    get(db, webhook_id)
    return every(db, KeptAttempt, owner=webhook_id, newest=True, most=LISTED)


def counts(db: sqlite3.Connection) -> dict[str, Any]:
    """Say what is pending, and how many deliveries ended in which way."""
    sql = "SELECT state, count(*) FROM documents WHERE kind = 'Delivery' GROUP BY state"
    states = Counter(dict.fromkeys(("pending", "delivered", "failed", "stopped", "lost"), 0))
    states.update(dict(db.execute(sql).fetchall()))
    pending = [
        {"webhook_id": one.webhook_id, "event_id": one.event_id, "attempt": one.attempts + 1,
         "due_at": stamp(one.due_at)}
        for one in every(db, Delivery, state="pending")
    ]  # fmt: skip
    return {"counts": states, "pending": pending}
