"""Owns the record of a webhook, and every change of it: each is one transaction.

active --twenty consecutive failures, or PATCH is_active false--> disabled
disabled --PATCH is_active true--> active          any --DELETE--> (gone)
"""

from __future__ import annotations

import json
import secrets
import sqlite3
from dataclasses import dataclass

from deployments.sandbox.envelope import Refusal
from deployments.sandbox.video import stamp
from deployments.sandbox.webhooks.bodies import CreateWebhook, PatchWebhook

BY_OWNER = "It was switched off with PATCH."


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


def create(connection: sqlite3.Connection, asked: CreateWebhook, *, now: float) -> Webhook:
    """Make a webhook with an id and a secret of its own."""
    webhook_id = f"wh_{secrets.token_hex(8)}"
    connection.execute(
        "INSERT INTO webhooks (id, url, events, name, secret, created_at, updated_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            *(webhook_id, asked.url, json.dumps(asked.events), asked.name),
            *(secrets.token_urlsafe(32), now, now),
        ),
    )
    return get(connection, webhook_id)


def get(connection: sqlite3.Connection, webhook_id: str) -> Webhook:
    """Find a webhook, or refuse with 404."""
    row = connection.execute("SELECT * FROM webhooks WHERE id = ?", (webhook_id,)).fetchone()
    if row is None:
        raise Refusal(404, "not_found", f"There is no webhook {webhook_id[:80]}.")
    return Webhook.from_row(row)


def listed(connection: sqlite3.Connection) -> list[Webhook]:
    """Give every webhook, oldest first."""
    return [
        Webhook.from_row(row) for row in connection.execute("SELECT * FROM webhooks ORDER BY seq")
    ]


def patch(
    connection: sqlite3.Connection, webhook_id: str, changes: PatchWebhook, *, now: float
) -> Webhook:
    """Edit a webhook. Deliveries already waiting go to its new address."""
    get(connection, webhook_id)
    said = changes.model_dump(exclude_unset=True)
    if "events" in said:
        said["events"] = json.dumps(said["events"])
    is_active = said.pop("is_active", None)
    # The names of the columns are fields of the body, never words of the caller.
    columns = ", ".join(f"{name} = :{name}" for name in (*said, "updated_at"))
    connection.execute(
        f"UPDATE webhooks SET {columns} WHERE id = :id",
        {**said, "updated_at": now, "id": webhook_id},
    )
    if is_active is True:
        _enable(connection, webhook_id)
    elif is_active is False:
        disable(connection, webhook_id, reason=BY_OWNER, now=now)
    return get(connection, webhook_id)


def disable(connection: sqlite3.Connection, webhook_id: str, *, reason: str, now: float) -> None:
    """Switch a webhook off and stop what was on its way to it; nothing of it is sent later."""
    connection.execute(
        "UPDATE webhooks SET is_active = 0, disabled_at = ?, disabled_reason = ?, updated_at = ?"
        " WHERE id = ? AND is_active",
        (now, reason, now, webhook_id),
    )
    # What was planned after the last attempt of each delivery will not happen.
    connection.execute(
        "UPDATE attempts SET next_attempt_at = NULL WHERE webhook_id = :id AND (event_id, attempt)"
        " IN (SELECT event_id, attempts FROM deliveries"
        " WHERE webhook_id = :id AND state = 'pending')",
        {"id": webhook_id},
    )
    connection.execute(
        "UPDATE deliveries SET state = 'stopped' WHERE webhook_id = ? AND state = 'pending'",
        (webhook_id,),
    )


def delete(connection: sqlite3.Connection, webhook_id: str) -> None:
    """Forget a webhook, what was on its way to it, and what was tried."""
    get(connection, webhook_id)
    connection.execute("DELETE FROM webhooks WHERE id = ?", (webhook_id,))
    connection.execute("DELETE FROM deliveries WHERE webhook_id = ?", (webhook_id,))
    connection.execute("DELETE FROM attempts WHERE webhook_id = ?", (webhook_id,))
    connection.execute("DELETE FROM events WHERE id NOT IN (SELECT event_id FROM deliveries)")


def _enable(connection: sqlite3.Connection, webhook_id: str) -> None:
    connection.execute(
        "UPDATE webhooks SET is_active = 1, failures = 0, disabled_at = NULL,"
        " disabled_reason = NULL WHERE id = ?",
        (webhook_id,),
    )
