"""Owns credits: the balance, what is reserved of it, and the log that is only ever appended to.

The log is written in the transaction that moves the credits, so neither can be without the other.
It is kept apart from the videos: a video that is deleted or changed leaves it as it is.
"""

from __future__ import annotations

import sqlite3

from deployments.sandbox.envelope import Refusal
from deployments.sandbox.renders import Render
from deployments.sandbox.video import Video, stamp


def reserve(connection: sqlite3.Connection, video: Video, render: Render, *, now: float) -> None:
    """Set the price of a render aside, or refuse with 402."""
    enough = connection.execute(
        "UPDATE account SET reserved = reserved + :price WHERE balance - reserved >= :price",
        {"price": render.credits},
    )
    if enough.rowcount == 0:
        available = account(connection)["available"]
        message = f"This takes {render.credits} credits and {available} are available."
        raise Refusal(402, "insufficient_credits", message)
    _write(connection, "reserve", video, render, now)


def charge(connection: sqlite3.Connection, video: Video, render: Render, *, now: float) -> None:
    """Take what was reserved for a render for good."""
    connection.execute(
        "UPDATE account SET balance = balance - :credits, reserved = reserved - :credits",
        {"credits": render.credits},
    )
    _write(connection, "charge", video, render, now)


def release(connection: sqlite3.Connection, video: Video, render: Render, *, now: float) -> None:
    """Give back what was reserved for a render."""
    connection.execute("UPDATE account SET reserved = reserved - ?", (render.credits,))
    _write(connection, "release", video, render, now)


def account(connection: sqlite3.Connection) -> dict[str, int]:
    """Say what there is, what of it is set aside, and what can be spent."""
    row = connection.execute("SELECT balance, reserved FROM account").fetchone()
    balance, reserved = row
    return {"balance": balance, "reserved": reserved, "available": balance - reserved}


def log(connection: sqlite3.Connection) -> list[dict[str, object]]:
    """Give the whole log, oldest first."""
    rows = connection.execute("SELECT * FROM charges ORDER BY n")
    return [{**dict(row), "time": stamp(row["time"])} for row in rows]


def _write(
    connection: sqlite3.Connection, event: str, video: Video, render: Render, now: float
) -> None:
    connection.execute(
        "INSERT INTO charges (time, event, video_id, idempotency_key, title, credits,"
        " operation, render, key_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(now, event, video.id, video.asked["idempotency_key"], video.asked["title"]),
            *(render.credits, render.operation, render.number, render.key),
        ),
    )
