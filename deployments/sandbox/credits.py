"""Owns credits, in whole numbers: prices, which are the same for quote and bill; the balance and
what is reserved of it; and the log of charges, which is only ever appended to.

The specification shows no cost of any operation (section 8); these are the sandbox's own. The log
is written in the transaction that moves the credits, so neither can be without the other, and it
is kept apart from the videos: one that is deleted or changed leaves it as it is.
"""

from __future__ import annotations

import math
import sqlite3

from callsheet.deployments.sandbox.envelope import Refusal
from callsheet.deployments.sandbox.renders import Render
from callsheet.deployments.sandbox.tables import insert
from callsheet.deployments.sandbox.video import Video, stamp
from callsheet.deployments.sandbox.video_bodies import CreateVideo

PER_SECOND = {
    None: 2,
    "talking-head": 2,
    "cinematic": 3,
    "hybrid": 3,
    "stock-narrated": 1,
    "smart-mix": 2,
}
CLIP_PER_SECOND = {"image-to-video": 4, "talking-avatar": 4, "character-swap": 5}
TOOL = 5
VIDEO_MODEL_PER_SECOND = 1
SCENE_PER_SECOND = 3
VOICE_PER_SECOND = 1
EXPORT = 2


def quote(asked: CreateVideo) -> dict[str, int]:
    """Give every part of the price that is not zero."""
    seconds = asked.duration_seconds
    parts = {
        "seconds": seconds * PER_SECOND[asked.mode],
        "script_writing": TOOL if asked.tool else 0,
        "video_model": seconds * VIDEO_MODEL_PER_SECOND if asked.video_model else 0,
    }
    return {name: credits for name, credits in parts.items() if credits}


def price(asked: CreateVideo) -> int:
    """Say what the video costs; each generate costs it again."""
    return sum(quote(asked).values())


def clip_price(operation: str, duration: int) -> int:
    """Say what a clip of so many seconds costs."""
    return CLIP_PER_SECOND[operation] * duration


def scene_price(seconds: float) -> int:
    """Say what one scene costs when it is made anew."""
    return SCENE_PER_SECOND * math.ceil(seconds)


def voice_price(duration: int) -> int:
    """Say what another voice over the whole video costs."""
    return VOICE_PER_SECOND * duration


def reserve(db: sqlite3.Connection, video: Video, render: Render, *, now: float) -> None:
    """Set the price of a render aside, or refuse with 402."""
    enough = db.execute(
        "UPDATE account SET reserved = reserved + :price WHERE balance - reserved >= :price",
        {"price": render.credits},
    )
    if enough.rowcount == 0:
        available = account(db)["available"]
        message = f"This takes {render.credits} credits and {available} are available."
        raise Refusal(402, "insufficient_credits", message)
    _write(db, "reserve", video, render, now)


def charge(db: sqlite3.Connection, video: Video, render: Render, *, now: float) -> None:
    """Take what was reserved for a render for good."""
    db.execute(
        "UPDATE account SET balance = balance - :credits, reserved = reserved - :credits",
        {"credits": render.credits},
    )
    _write(db, "charge", video, render, now)


def release(db: sqlite3.Connection, video: Video, render: Render, *, now: float) -> None:
    """Give back what was reserved for a render."""
    db.execute("UPDATE account SET reserved = reserved - ?", (render.credits,))
    _write(db, "release", video, render, now)


def account(db: sqlite3.Connection) -> dict[str, int]:
    """Say what there is, what of it is set aside, and what can be spent."""
    row = db.execute("SELECT balance, reserved FROM account").fetchone()
    balance, reserved = row
    return {"balance": balance, "reserved": reserved, "available": balance - reserved}


def charge_log(db: sqlite3.Connection) -> list[dict[str, object]]:
    """Give the whole log, oldest first."""
    rows = db.execute("SELECT * FROM charges ORDER BY n")
    return [{**dict(row), "time": stamp(row["time"])} for row in rows]


def _write(db: sqlite3.Connection, event: str, video: Video, render: Render, now: float) -> None:
    asked = {name: video.asked[name] for name in ("idempotency_key", "title")}
    paid = {"credits": render.credits, "operation": render.operation, "render": render.number}
    row = {"time": now, "event": event, "video_id": video.id, "key_id": render.key}
    insert(db, "charges", **row, **asked, **paid)
