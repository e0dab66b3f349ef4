"""Owns credits: the balance, what is reserved of it, and the log that is only ever appended to.

The log is written in the transaction that moves the credits, so neither can be without the other.
"""

from __future__ import annotations

import sqlite3

from deployments.sandbox.envelope import Refusal
from deployments.sandbox.video import Video, stamp


def reserve(connection: sqlite3.Connection, video: Video, *, now: float) -> None:
    """Set the price of a video aside, or refuse with 402."""
    enough = connection.execute(
        "UPDATE account SET reserved = reserved + :price WHERE balance - reserved >= :price",
        {"price": video.price},
    )
    if enough.rowcount == 0:
        available = account(connection)["available"]
        message = f"This takes {video.price} credits and {available} are available."
        raise Refusal(402, "insufficient_credits", message)
    _write(connection, "reserve", video, video.price, now)


def charge(connection: sqlite3.Connection, video: Video, *, now: float) -> None:
    """Take what was reserved for a video for good."""
    connection.execute(
        "UPDATE account SET balance = balance - :credits, reserved = reserved - :credits",
        {"credits": video.reserved},
    )
    _write(connection, "charge", video, video.reserved, now)


def release(connection: sqlite3.Connection, video: Video, *, now: float) -> None:
    """Give back what was reserved for a video."""
    connection.execute("UPDATE account SET reserved = reserved - ?", (video.reserved,))
    _write(connection, "release", video, video.reserved, now)


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
    connection: sqlite3.Connection, event: str, video: Video, credits: int, now: float
) -> None:
    connection.execute(
        "INSERT INTO charges (time, event, video_id, idempotency_key, title, credits)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        (now, event, video.id, video.asked["idempotency_key"], video.asked["title"], credits),
    )
