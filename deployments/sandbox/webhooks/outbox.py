"""Owns what is on its way: events, which deliveries of them are due, and what an attempt changes.

An event is written in the transaction that makes it true, so a crash can neither lose one nor
invent one. Its body is made once and never again: every retry sends the very same bytes. The
schedule of retries, and when a webhook is given up, are those of section 6 of the specification.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
from dataclasses import dataclass
from typing import Any, NamedTuple

from callsheet.deployments.sandbox.database import insert
from callsheet.deployments.sandbox.video import stamp
from callsheet.deployments.sandbox.webhooks import webhook
from callsheet.deployments.sandbox.webhooks.sender import SendResult

#: Seconds from a failure to the next attempt; after the last of them there is none.
RETRIES = (30.0, 120.0, 600.0, 3600.0, 21600.0)
FAILURES_BEFORE_DISABLING = 20
DISABLED = f"{FAILURES_BEFORE_DISABLING} attempts in a row failed."
#: Specification, section 8.
LISTED = 50


def emit(db: sqlite3.Connection, *, kind: str, data: dict[str, object], now: float) -> None:
    """Write an event and a delivery for every active webhook that wants its kind.

    Call it in the transaction of the change it tells of, and `container.webhooks.wake()` after the
    commit. An event that no webhook wants is not kept: nothing is ever replayed.
    """
    webhooks = [
        row["id"]
        for row in db.execute("SELECT id, events FROM webhooks WHERE is_active ORDER BY seq")
        if kind in json.loads(row["events"])
    ]
    if not webhooks:
        return
    event_id = new_event_id()
    body = body_of_event(event_id, kind=kind, data=data, now=now)
    insert(db, "events", id=event_id, kind=kind, body=body)
    for webhook_id in webhooks:
        insert(db, "deliveries", webhook_id=webhook_id, event_id=event_id, due_at=now)


def new_event_id() -> str:
    return f"evt_{secrets.token_hex(12)}"


def body_of_event(event_id: str, *, kind: str, data: dict[str, object], now: float) -> bytes:
    """Make the raw bytes of a delivery; the specification does not show their shape."""
    said = {"id": event_id, "type": kind, "created_at": stamp(now), "data": data}
    return json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode()


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """One event on its way to one webhook.

    `attempt` is the one to make now, from 1; `held` is 1 when a fault has put it off already.
    """

    n: int
    webhook_id: str
    url: str
    secret: str
    event_id: str
    kind: str
    body: bytes
    attempt: int
    held: int


def due(db: sqlite3.Connection, *, now: float, most: int) -> dict[str, list[Delivery]]:
    """Give what is due, by webhook and the longest due first; at most so many of each."""
    found = {}
    for webhook_id in _active(db):
        rows = db.execute(
            "SELECT d.n, d.webhook_id, w.url, w.secret, d.event_id, e.kind, e.body,"
            " d.attempts + 1 AS attempt, d.held"
            " FROM deliveries d JOIN webhooks w ON w.id = d.webhook_id"
            " JOIN events e ON e.id = d.event_id"
            " WHERE d.webhook_id = ? AND d.state = 'pending' AND d.due_at <= ?"
            " ORDER BY d.due_at, d.n LIMIT ?",
            (webhook_id, now, most),
        )
        found[webhook_id] = [Delivery(**dict(row)) for row in rows]
    return found


def next_due(db: sqlite3.Connection, *, now: float) -> float | None:
    """Give the moment when more will be due than is due now."""
    moment: float | None = db.execute(
        "SELECT min(due_at) FROM deliveries WHERE state = 'pending' AND due_at > ?", (now,)
    ).fetchone()[0]
    return moment


def hold(db: sqlite3.Connection, delivery: Delivery, *, until: float) -> None:
    """Put off an attempt; the fault that asked for it does not strike this attempt again."""
    db.execute(
        "UPDATE deliveries SET due_at = ?, held = 1 WHERE n = ? AND state = 'pending'",
        (until, delivery.n),
    )


def lose(db: sqlite3.Connection, delivery: Delivery) -> None:
    """Forget a delivery as if there had been no event."""
    db.execute(
        "UPDATE deliveries SET state = 'lost' WHERE n = ? AND state = 'pending'", (delivery.n,)
    )


def record(
    db: sqlite3.Connection,
    delivery: Delivery,
    tried: DeliveryAttempt,
    *,
    now: float,
    time_scale: float,
) -> None:
    """Write down an attempt and what follows: the end, a retry, or the end of the webhook."""
    again = _next_attempt(tried, now=now, time_scale=time_scale)
    state = "delivered" if tried.result.delivered else "failed" if again is None else "pending"
    moved = db.execute(
        "UPDATE deliveries SET state = ?, attempts = ?, due_at = coalesce(?, due_at), held = 0"
        " WHERE n = ? AND state = 'pending'",
        (state, tried.attempt, again, delivery.n),
    )
    # A webhook that was disabled or deleted in the meantime has no pending deliveries: what
    # comes in late counts neither way and leads to nothing.
    log_attempt(db, delivery.webhook_id, tried, again=again if moved.rowcount else None)
    if moved.rowcount:
        _count(db, delivery.webhook_id, delivered=tried.result.delivered, now=now)


def counts(db: sqlite3.Connection) -> dict[str, Any]:
    """Say what is pending, and how many deliveries ended in which way."""
    pending = db.execute(
        "SELECT webhook_id, event_id, attempts + 1 AS attempt, due_at FROM deliveries"
        " WHERE state = 'pending' ORDER BY due_at, n"
    ).fetchall()
    ended = db.execute("SELECT state, count(*) FROM deliveries GROUP BY state")
    states = dict.fromkeys(("pending", "delivered", "failed", "stopped", "lost"), 0)
    return {
        "counts": {**states, **dict(ended)},
        "pending": [{**dict(row), "due_at": stamp(row["due_at"])} for row in pending],
    }


def _next_attempt(tried: DeliveryAttempt, *, now: float, time_scale: float) -> float | None:
    if tried.result.delivered or tried.attempt > len(RETRIES):
        return None
    return now + RETRIES[tried.attempt - 1] / time_scale


def _active(db: sqlite3.Connection) -> list[str]:
    rows = db.execute("SELECT id FROM webhooks WHERE is_active ORDER BY seq").fetchall()
    return [row["id"] for row in rows]


def _count(db: sqlite3.Connection, webhook_id: str, *, delivered: bool, now: float) -> None:
    db.execute(
        "UPDATE webhooks SET failures = CASE WHEN ? THEN 0 ELSE failures + 1 END WHERE id = ?",
        (delivered, webhook_id),
    )
    if webhook.get(db, webhook_id).failures >= FAILURES_BEFORE_DISABLING:
        webhook.disable(db, webhook_id, reason=DISABLED, now=now)


class DeliveryAttempt(NamedTuple):
    """One attempt that was made; `started_at` in seconds since 1970."""

    event_id: str
    kind: str
    attempt: int
    started_at: float
    result: SendResult


def log_attempt(
    db: sqlite3.Connection, webhook_id: str, tried: DeliveryAttempt, *, again: float | None
) -> None:
    """Write down one attempt and when the next is planned, unless its webhook is gone."""
    db.execute(
        "INSERT INTO attempts (webhook_id, event_id, event, attempt, status, error, started_at,"
        " milliseconds, next_attempt_at)"
        " SELECT id, ?, ?, ?, ?, ?, ?, ?, ? FROM webhooks WHERE id = ?",
        (
            *(tried.event_id, tried.kind, tried.attempt),
            *(tried.result.status, tried.result.error),
            *(tried.started_at, tried.result.milliseconds, again, webhook_id),
        ),
    )


def listed_attempts(db: sqlite3.Connection, webhook_id: str) -> list[dict[str, object]]:
    """Show the last attempts of a webhook, newest first."""
    webhook.get(db, webhook_id)
    rows = db.execute(
        "SELECT * FROM attempts WHERE webhook_id = ? ORDER BY started_at DESC, n DESC LIMIT ?",
        (webhook_id, LISTED),
    )
    return [_shown(row) for row in rows]


def _shown(row: sqlite3.Row) -> dict[str, object]:
    return {
        "id": f"att_{row['n']}",
        "event_id": row["event_id"],
        "event": row["event"],
        "attempt": row["attempt"],
        "outcome": "delivered" if row["error"] is None else "failed",
        "status": row["status"],
        "error": row["error"],
        "started_at": stamp(row["started_at"]),
        "milliseconds": row["milliseconds"],
        "next_attempt_at": stamp(row["next_attempt_at"]),
    }
