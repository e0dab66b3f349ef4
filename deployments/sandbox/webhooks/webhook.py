"""Owns the record of a webhook, what its operations take and answer, and every change of it, each
of which is one transaction.

active --twenty consecutive failures, or PATCH is_active false--> disabled
disabled --PATCH is_active true--> active          any --DELETE--> (gone)
"""

from __future__ import annotations

import json
import secrets
import sqlite3
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, BaseModel, Field, StringConstraints

from callsheet.deployments.sandbox.database import insert
from callsheet.deployments.sandbox.envelope import Refusal, RequestBody
from callsheet.deployments.sandbox.video import stamp

READY = "video.ready"
PING = "ping"
EVENT_KINDS = (READY, PING)
BY_OWNER = "It was switched off with PATCH."


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


class WebhookShown(BaseModel):
    """A webhook as every answer shows it; the secret is in none but the first."""

    id: str
    url: str
    events: list[str]
    name: str
    is_active: bool
    consecutive_failures: int
    disabled_at: str | None
    disabled_reason: str | None
    created_at: str
    updated_at: str


class WebhookCreated(WebhookShown):
    """The answer to a create, and the only one that holds the signing secret."""

    secret: str


class WebhookList(BaseModel):
    """Every webhook of the organization, oldest first."""

    webhooks: list[WebhookShown]


class WebhookDeleted(BaseModel):
    """The answer to a delete."""

    id: str
    deleted: bool


class PingResult(BaseModel):
    """What became of a test ping: `status` is null when the receiver did not answer."""

    delivered: bool
    event_id: str
    status: int | None
    error: str | None
    milliseconds: int


class AttemptShown(BaseModel):
    """One attempt at a delivery, as `GET /webhooks/{id}/deliveries` lists it."""

    id: str
    event_id: str
    event: str
    attempt: int
    outcome: str
    status: int | None
    error: str | None
    started_at: str
    milliseconds: int
    next_attempt_at: str | None


class AttemptList(BaseModel):
    """The last 50 attempts, newest first."""

    deliveries: list[AttemptShown]


@dataclass(frozen=True, kw_only=True)
class Webhook:
    id: str
    url: str
    events: list[str]
    name: str
    secret: str
    is_active: bool
    failures: int
    disabled_at: float | None
    disabled_reason: str | None
    created_at: float
    updated_at: float

    @classmethod
    def from_row(cls, row: sqlite3.Row) -> Webhook:
        kept = {name: row[name] for name in row.keys() if name != "seq"}  # noqa: SIM118
        kept |= {"events": json.loads(row["events"]), "is_active": bool(row["is_active"])}
        return cls(**kept)

    def shown(self) -> dict[str, object]:
        """Show all of it but the secret."""
        return {
            "id": self.id,
            "url": self.url,
            "events": self.events,
            "name": self.name,
            "is_active": self.is_active,
            "consecutive_failures": self.failures,
            "disabled_at": stamp(self.disabled_at),
            "disabled_reason": self.disabled_reason,
            "created_at": stamp(self.created_at),
            "updated_at": stamp(self.updated_at),
        }


def create(db: sqlite3.Connection, asked: CreateWebhook, *, now: float) -> Webhook:
    """Make a webhook with an id and a secret of its own."""
    webhook_id = f"wh_{secrets.token_hex(8)}"
    said = {"url": asked.url, "name": asked.name, "events": json.dumps(asked.events)}
    moments = {"created_at": now, "updated_at": now}
    insert(db, "webhooks", id=webhook_id, secret=secrets.token_urlsafe(32), **said, **moments)
    return get(db, webhook_id)


def get(db: sqlite3.Connection, webhook_id: str) -> Webhook:
    """Find a webhook, or refuse with 404."""
    row = db.execute("SELECT * FROM webhooks WHERE id = ?", (webhook_id,)).fetchone()
    if row is None:
        raise Refusal(404, "not_found", f"There is no webhook {webhook_id[:80]}.")
    return Webhook.from_row(row)


def listed(db: sqlite3.Connection) -> list[Webhook]:
    """Give every webhook, oldest first."""
    return [Webhook.from_row(row) for row in db.execute("SELECT * FROM webhooks ORDER BY seq")]


def patch(db: sqlite3.Connection, webhook_id: str, changes: PatchWebhook, *, now: float) -> Webhook:
    """Edit a webhook. Deliveries already waiting go to its new address."""
    get(db, webhook_id)
    said = changes.model_dump(exclude_unset=True)
    if "events" in said:
        said["events"] = json.dumps(said["events"])
    is_active = said.pop("is_active", None)
    # The names of the columns are fields of the body, never words of the caller.
    columns = ", ".join(f"{name} = :{name}" for name in (*said, "updated_at"))
    db.execute(
        f"UPDATE webhooks SET {columns} WHERE id = :id",
        {**said, "updated_at": now, "id": webhook_id},
    )
    if is_active is True:
        _enable(db, webhook_id)
    elif is_active is False:
        disable(db, webhook_id, reason=BY_OWNER, now=now)
    return get(db, webhook_id)


def disable(db: sqlite3.Connection, webhook_id: str, *, reason: str, now: float) -> None:
    """Switch a webhook off and stop what was on its way to it; nothing of it is sent later."""
    db.execute(
        "UPDATE webhooks SET is_active = 0, disabled_at = ?, disabled_reason = ?, updated_at = ?"
        " WHERE id = ? AND is_active",
        (now, reason, now, webhook_id),
    )
    # What was planned after the last attempt of each delivery will not happen.
    db.execute(
        "UPDATE attempts SET next_attempt_at = NULL WHERE webhook_id = :id AND (event_id, attempt)"
        " IN (SELECT event_id, attempts FROM deliveries"
        " WHERE webhook_id = :id AND state = 'pending')",
        {"id": webhook_id},
    )
    db.execute(
        "UPDATE deliveries SET state = 'stopped' WHERE webhook_id = ? AND state = 'pending'",
        (webhook_id,),
    )


def delete(db: sqlite3.Connection, webhook_id: str) -> None:
    """Forget a webhook, what was on its way to it, and what was tried."""
    get(db, webhook_id)
    db.execute("DELETE FROM webhooks WHERE id = ?", (webhook_id,))
    db.execute("DELETE FROM deliveries WHERE webhook_id = ?", (webhook_id,))
    db.execute("DELETE FROM attempts WHERE webhook_id = ?", (webhook_id,))
    db.execute("DELETE FROM events WHERE id NOT IN (SELECT event_id FROM deliveries)")


def _enable(db: sqlite3.Connection, webhook_id: str) -> None:
    db.execute(
        "UPDATE webhooks SET is_active = 1, failures = 0, disabled_at = NULL,"
        " disabled_reason = NULL WHERE id = ?",
        (webhook_id,),
    )
