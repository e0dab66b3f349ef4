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

import ipaddress
import json
import secrets
import sqlite3
from collections import Counter
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, StringConstraints, computed_field

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
LONGEST_URL = 2048
#: Names that never leave a machine or a network (RFC 6761, RFC 6762, RFC 8375).
PRIVATE_NAMES = (".localhost", ".local", ".internal", ".home.arpa")


class AddressRefused(ValueError):
    """A webhook cannot have this address; the message says why, without repeating it."""


def check_url(url: str, *, allow_loopback: bool) -> None:
    """Pass a public https address, and one of this machine if it is allowed; refuse any other."""
    try:
        said = urlsplit(url)
        host, port = (said.hostname or "").removesuffix("."), said.port
    except ValueError:
        host, port = "", 0
    printable = url.isascii() and url.isprintable() and " " not in url
    if not host or port == 0 or len(url) > LONGEST_URL or not printable:
        raise AddressRefused(f"must be a URL in ASCII of at most {LONGEST_URL} characters")
    if "@" in said.netloc or "#" in url:
        raise AddressRefused("must not hold a user name, a password or a fragment")
    try:
        address = ipaddress.ip_address(host)
        address = getattr(address, "ipv4_mapped", None) or address
        here, public = address.is_loopback, address.is_global and not address.is_multicast
    except ValueError:
        last = host.rpartition(".")[2]
        # No top-level domain is a number: this is an address in disguise, such as 127.1.
        public = last not in (host, "") and not last.isdigit() and not host.endswith(PRIVATE_NAMES)
        here = host == "localhost"
    if here and allow_loopback and said.scheme in ("http", "https"):
        return
    if said.scheme != "https":
        raise AddressRefused("must be an https URL")
    if not public:
        raise AddressRefused("must have a public host: this one is not reachable from outside")


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
        json_schema_extra={"format": "uri", "pattern": "^https?://", "maxLength": LONGEST_URL},
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
    is_active: bool = True
    consecutive_failures: int = 0
    disabled_at: Moment | None = None
    disabled_reason: str | None = None
    created_at: Moment
    updated_at: Moment


class Webhook(WebhookShown):
    """A webhook as it is kept, and as the answer to its create shows it, with its secret."""

    secret: str


class Attempt(Document):
    """One attempt at a delivery: `status` is null when the receiver did not answer."""

    webhook_id: str
    event_id: str
    event: str
    attempt: int
    status: int | None
    error: str | None
    started_at: Moment
    milliseconds: int
    next_attempt_at: Moment | None = None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def delivered(self) -> bool:
        return self.error is None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def outcome(self) -> str:
        return "delivered" if self.delivered else "failed"

    def found_by(self) -> tuple[str, str, float]:
        return self.webhook_id, "", self.started_at


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


def create(db: sqlite3.Connection, asked: CreateWebhook, *, now: float) -> Webhook:
    """Make a webhook with an id and a secret of its own."""
    made = Webhook(
        id=f"wh_{secrets.token_hex(8)}", secret=secrets.token_urlsafe(32), **asked.model_dump(),
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
        tried = find(db, Attempt, delivery.tried)
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
    drop(db, Attempt, owner=webhook_id)


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


def due(db: sqlite3.Connection, *, now: float, most: int) -> tuple[list[Delivery], float | None]:
    """Give what is due, at most so many of each webhook, and the moment when more will be due."""
    found = [
        delivery
        for one in every(db, Webhook)
        if one.is_active
        for delivery in every(db, Delivery, owner=one.id, state="pending", until=now, most=most)
    ]
    sql = "SELECT min(due) FROM documents WHERE kind = 'Delivery' AND state = 'pending' AND due > ?"
    following: float | None = db.execute(sql, (now,)).fetchone()[0]
    return found, following


def move(db: sqlite3.Connection, delivery: Delivery, /, **changes: object) -> bool:
    """Change a delivery; False when it is on its way no more."""
    found = find(db, Delivery, delivery.id)
    if found is None or found.state != "pending":
        return False
    put(db, found.changed(**changes))
    return True


def record(
    db: sqlite3.Connection, delivery: Delivery, tried: Attempt, *, now: float, time_scale: float
) -> None:
    """Write down an attempt and what follows: the end, a retry, or the end of the webhook."""
    webhook = find(db, Webhook, delivery.webhook_id)
    if webhook is None:
        return
    again = None
    if not tried.delivered and tried.attempt <= len(RETRIES):
        again = now + RETRIES[tried.attempt - 1] / time_scale
    state = tried.outcome if again is None else "pending"
    moved = {"state": state, "attempts": tried.attempt, "held": False, "tried": tried.id}
    if not move(db, delivery, **moved, due_at=again or delivery.due_at):
        # The webhook was disabled in the meantime: this counts neither way and leads to nothing.
        put(db, tried)
        return
    put(db, tried.changed(next_attempt_at=again))
    failures = 0 if tried.delivered else webhook.consecutive_failures + 1
    webhook = put(db, webhook.changed(consecutive_failures=failures))
    if failures >= FAILURES_BEFORE_DISABLING:
        _disable(db, webhook, reason=DISABLED, now=now)


def attempts_at(db: sqlite3.Connection, webhook_id: str) -> list[Attempt]:
    """Give the last attempts at deliveries to a webhook, newest first."""
    get(db, webhook_id)
    return every(db, Attempt, owner=webhook_id, newest=True, most=LISTED)


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
