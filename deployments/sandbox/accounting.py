"""Credits, renders and limits: prices, charges, and how long a render takes.

The specification shows no cost of any operation (section 8); these are the sandbox's own. The log
is written in the transaction that moves the credits, so neither can be without the other, and it
is kept apart from the videos: one that is deleted or changed leaves it as it is.
"""

from __future__ import annotations

import math
import sqlite3
import zlib
from email.utils import formatdate

from callsheet.deployments.sandbox.bodies import CreateVideo
from callsheet.deployments.sandbox.database import stamp
from callsheet.deployments.sandbox.envelope import Refusal
from callsheet.deployments.sandbox.options import Options, RetryAfter
from callsheet.deployments.sandbox.video import Render, Video

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


#: How the account changes with each event of a render.
MOVES = {
    "reserve": "reserved = reserved + :credits WHERE balance - reserved >= :credits",
    "charge": "balance = balance - :credits, reserved = reserved - :credits",
    "release": "reserved = reserved - :credits",
}


def move(db: sqlite3.Connection, event: str, video: Video, render: Render, *, now: float) -> None:
    """Reserve the price of a render, or refuse with 402; charge or release what was reserved."""
    changed = db.execute(f"UPDATE account SET {MOVES[event]}", {"credits": render.credits})
    if changed.rowcount == 0:
        available = account(db)["available"]
        message = f"This takes {render.credits} credits and {available} are available."
        raise Refusal(402, "insufficient_credits", message)
    db.execute(
        "INSERT INTO charges (time, event, video_id, idempotency_key, title, credits, operation,"
        " render, key_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(now, event, video.id, video.idempotency_key, video.title),
            *(render.credits, render.operation, render.number, render.key),
        ),
    )


def account(db: sqlite3.Connection) -> dict[str, int]:
    """Say what there is, what of it is set aside, and what can be spent."""
    row = db.execute("SELECT balance, reserved FROM account").fetchone()
    balance, reserved = row
    return {"balance": balance, "reserved": reserved, "available": balance - reserved}


def charge_log(db: sqlite3.Connection) -> list[dict[str, object]]:
    """Give the whole log, oldest first."""
    rows = db.execute("SELECT * FROM charges ORDER BY n")
    return [{**dict(row), "time": stamp(row["time"])} for row in rows]


SPREAD = 0.3


def render_seconds(options: Options, video_id: str, duration: float) -> float:
    """Say how long it takes to make so many seconds of video: minutes divided by the time scale. A
    video always takes the same."""
    if options.render == "instant":
        return 0.0
    share = zlib.crc32(video_id.encode()) / 0xFFFFFFFF
    factor = 1 - SPREAD + 2 * SPREAD * share
    return (60 + 3 * duration) * factor / options.time_scale


class Limit:
    """So much in a window of so many seconds; None is no limit."""

    def __init__(
        self, most: int | None, length: float, code: str, what: str, form: RetryAfter
    ) -> None:
        self._most, self._length, self._code, self._what = most, length, code, what
        self._form = form
        self._began = -math.inf
        self._taken = self._refused = 0

    def take(self, amount: int, now: float) -> None:
        """Take an amount whole, or refuse it with 429."""
        if self._most is None:
            return
        if now >= self._began + self._length:
            self._began, self._taken = now, 0
        if self._taken + amount > self._most:
            raise self._refusal(self._began + self._length, now)
        self._taken += amount

    def _refusal(self, again: float, now: float) -> Refusal:
        self._refused += 1
        by_turns = "seconds" if self._refused % 2 else "date"
        form = by_turns if self._form == "turns" else self._form
        # A date has whole seconds: rounded up, so that coming back then is never too early.
        after = str(max(1, math.ceil(again - now)))
        header = after if form == "seconds" else formatdate(math.ceil(again), usegmt=True)
        message = (
            f"More than {self._most} {self._what} in {self._length:g} s; come back after "
            "Retry-After."
        )
        return Refusal(429, self._code, message, headers={"retry-after": header})
