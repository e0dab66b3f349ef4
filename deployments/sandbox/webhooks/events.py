"""Owns what the service tells of itself: the kinds of events, and the body each one is sent with.

An event is written in the transaction that makes it true, so a crash can neither lose one nor
invent one. Its body is made once and never again: every retry sends the very same bytes.
"""

from __future__ import annotations

import json
import secrets
import sqlite3

from deployments.sandbox.video import stamp

READY = "video.ready"
PING = "ping"
KINDS = (READY, PING)


def emit(connection: sqlite3.Connection, *, kind: str, data: dict[str, object], now: float) -> None:
    """Write an event and a delivery for every active webhook that wants its kind.

    Call it in the transaction of the change it tells of, and `house.webhooks.wake()` after the
    commit. An event that no webhook wants is not kept: nothing is ever replayed.
    """
    webhooks = [
        row["id"]
        for row in connection.execute(
            "SELECT id, events FROM webhooks WHERE is_active ORDER BY seq"
        )
        if kind in json.loads(row["events"])
    ]
    if not webhooks:
        return
    event_id = new_event_id()
    connection.execute(
        "INSERT INTO events (id, kind, body) VALUES (?, ?, ?)",
        (event_id, kind, body_of_event(event_id, kind=kind, data=data, now=now)),
    )
    connection.executemany(
        "INSERT INTO deliveries (webhook_id, event_id, due_at) VALUES (?, ?, ?)",
        [(webhook_id, event_id, now) for webhook_id in webhooks],
    )


def new_event_id() -> str:
    return f"evt_{secrets.token_hex(12)}"


def body_of_event(event_id: str, *, kind: str, data: dict[str, object], now: float) -> bytes:
    """Make the raw bytes of a delivery; the specification does not show their shape."""
    said = {"id": event_id, "type": kind, "created_at": stamp(now), "data": data}
    return json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode()
