"""Owns the list of what was tried: every attempt is written down, the last fifty are shown."""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

from deployments.sandbox.video import stamp
from deployments.sandbox.webhooks import webhook
from deployments.sandbox.webhooks.sender import Answer

#: Specification, section 8.
LISTED = 50


class Tried(NamedTuple):
    """One attempt that was made; `started_at` in seconds since 1970."""

    event_id: str
    kind: str
    attempt: int
    started_at: float
    answer: Answer


def log(
    connection: sqlite3.Connection, webhook_id: str, tried: Tried, *, again: float | None
) -> None:
    """Write down one attempt and when the next is planned, unless its webhook is gone."""
    connection.execute(
        "INSERT INTO attempts (webhook_id, event_id, event, attempt, status, error, started_at,"
        " milliseconds, next_attempt_at)"
        " SELECT id, ?, ?, ?, ?, ?, ?, ?, ? FROM webhooks WHERE id = ?",
        (
            *(tried.event_id, tried.kind, tried.attempt),
            *(tried.answer.status, tried.answer.error),
            *(tried.started_at, tried.answer.milliseconds, again, webhook_id),
        ),
    )


def listed(connection: sqlite3.Connection, webhook_id: str) -> list[dict[str, object]]:
    """Show the last attempts of a webhook, newest first."""
    webhook.get(connection, webhook_id)
    rows = connection.execute(
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
