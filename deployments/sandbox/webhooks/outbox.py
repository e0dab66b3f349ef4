"""Owns what is on its way: which deliveries are due, and what every attempt changes.

The schedule of retries, and when a webhook is given up, are those of section 6 of the
specification. Each function is one transaction of its caller.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Any

from deployments.sandbox.video import stamp
from deployments.sandbox.webhooks import attempts, webhook
from deployments.sandbox.webhooks.attempts import Tried

#: Seconds from a failure to the next attempt; after the last of them there is none.
RETRIES = (30.0, 120.0, 600.0, 3600.0, 21600.0)
FAILURES_BEFORE_DISABLING = 20
DISABLED = f"{FAILURES_BEFORE_DISABLING} attempts in a row failed."


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


def due(connection: sqlite3.Connection, *, now: float, most: int) -> dict[str, list[Delivery]]:
    """Give what is due, by webhook and the longest due first; at most so many of each."""
    found = {}
    for webhook_id in _active(connection):
        rows = connection.execute(
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


def next_due(connection: sqlite3.Connection, *, now: float) -> float | None:
    """Give the moment when more will be due than is due now."""
    moment: float | None = connection.execute(
        "SELECT min(due_at) FROM deliveries WHERE state = 'pending' AND due_at > ?", (now,)
    ).fetchone()[0]
    return moment


def hold(connection: sqlite3.Connection, delivery: Delivery, *, until: float) -> None:
    """Put off an attempt; the fault that asked for it does not strike this attempt again."""
    connection.execute(
        "UPDATE deliveries SET due_at = ?, held = 1 WHERE n = ? AND state = 'pending'",
        (until, delivery.n),
    )


def lose(connection: sqlite3.Connection, delivery: Delivery) -> None:
    """Forget a delivery as if there had been no event."""
    connection.execute(
        "UPDATE deliveries SET state = 'lost' WHERE n = ? AND state = 'pending'", (delivery.n,)
    )


def record(
    connection: sqlite3.Connection,
    delivery: Delivery,
    tried: Tried,
    *,
    now: float,
    time_scale: float,
) -> None:
    """Write down an attempt and what follows: the end, a retry, or the end of the webhook."""
    again = _next_attempt(tried, now=now, time_scale=time_scale)
    state = "delivered" if tried.answer.delivered else "failed" if again is None else "pending"
    moved = connection.execute(
        "UPDATE deliveries SET state = ?, attempts = ?, due_at = coalesce(?, due_at), held = 0"
        " WHERE n = ? AND state = 'pending'",
        (state, tried.attempt, again, delivery.n),
    )
    # A webhook that was disabled or deleted in the meantime has no pending deliveries: what
    # comes in late counts neither way and leads to nothing.
    attempts.log(connection, delivery.webhook_id, tried, again=again if moved.rowcount else None)
    if moved.rowcount:
        _count(connection, delivery.webhook_id, delivered=tried.answer.delivered, now=now)


def counts(connection: sqlite3.Connection) -> dict[str, Any]:
    """Say what is pending, and how many deliveries ended in which way."""
    pending = connection.execute(
        "SELECT webhook_id, event_id, attempts + 1 AS attempt, due_at FROM deliveries"
        " WHERE state = 'pending' ORDER BY due_at, n"
    ).fetchall()
    ended = connection.execute("SELECT state, count(*) FROM deliveries GROUP BY state")
    states = dict.fromkeys(("pending", "delivered", "failed", "stopped", "lost"), 0)
    return {
        "counts": {**states, **dict(ended)},
        "pending": [{**dict(row), "due_at": stamp(row["due_at"])} for row in pending],
    }


def _next_attempt(tried: Tried, *, now: float, time_scale: float) -> float | None:
    if tried.answer.delivered or tried.attempt > len(RETRIES):
        return None
    return now + RETRIES[tried.attempt - 1] / time_scale


def _active(connection: sqlite3.Connection) -> list[str]:
    rows = connection.execute("SELECT id FROM webhooks WHERE is_active ORDER BY seq").fetchall()
    return [row["id"] for row in rows]


def _count(connection: sqlite3.Connection, webhook_id: str, *, delivered: bool, now: float) -> None:
    connection.execute(
        "UPDATE webhooks SET failures = CASE WHEN ? THEN 0 ELSE failures + 1 END WHERE id = ?",
        (delivered, webhook_id),
    )
    if webhook.get(connection, webhook_id).failures >= FAILURES_BEFORE_DISABLING:
        webhook.disable(connection, webhook_id, reason=DISABLED, now=now)
