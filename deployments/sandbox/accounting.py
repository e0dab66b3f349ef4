"""Credits, renders and limits: prices, charges, and how long a render takes.

The specification shows no cost of any operation (section 8); these are the sandbox's own. The log
is written in the transaction that moves the credits, so neither can be without the other, and it
is kept apart from the videos: one that is deleted or changed leaves it as it is.
"""

from __future__ import annotations

import math
import sqlite3
import zlib
from dataclasses import dataclass
from email.utils import formatdate

from callsheet.deployments.sandbox.bodies import CreateVideo
from callsheet.deployments.sandbox.database import stamp
from callsheet.deployments.sandbox.envelope import Refusal
from callsheet.deployments.sandbox.options import Options
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


def clip_price(operation: str, duration: int) -> int:
    """Say what a clip of so many seconds costs."""
    return CLIP_PER_SECOND[operation] * duration


def scene_price(seconds: float) -> int:
    """Say what one scene costs when it is made again."""
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
    db.execute(
        "INSERT INTO charges (time, event, video_id, idempotency_key, title, credits, operation,"
        " render, key_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(now, event, video.id, video.idempotency_key, video.title),
            *(render.credits, render.operation, render.number, render.key),
        ),
    )


# Owns what a paid call is made under: who calls and when, the rate limit and the spend limit, and
# how long a render takes, which is minutes divided by the time scale.


SPREAD = 0.3


class Timing:
    """How long a render lasts in this sandbox."""

    def __init__(self, time_scale: float, *, instant: bool) -> None:
        self._time_scale = time_scale
        self._instant = instant

    def render_seconds(self, video_id: str, duration: float) -> float:
        """Say how long it takes to make so many seconds of video; a video always takes the same."""
        if self._instant:
            return 0.0
        share = zlib.crc32(video_id.encode()) / 0xFFFFFFFF
        factor = 1 - SPREAD + 2 * SPREAD * share
        return (60 + 3 * duration) * factor / self._time_scale


class Limits:
    """Counts calls and credits, each in a window of its own; None is no limit."""

    def __init__(self, options: Options) -> None:
        self._calls = _Window(options.rate, options.rate_window)
        self._credits = _Window(options.spend_limit, options.spend_window)
        self._form = options.retry_after
        self._refused = 0

    def count(self, *, now: float) -> None:
        """Count one call, or refuse it."""
        if not self._calls.take(1, now):
            told = f"More than {self._calls.limit} calls in {self._calls.length:g} s"
            raise self._refusal("rate_limited", told, self._calls.again, now)

    def spend(self, credits: int, *, now: float) -> None:
        """Count credits, or refuse all of them."""
        if not self._credits.take(credits, now):
            told = f"More than {self._credits.limit} credits in {self._credits.length:g} s"
            raise self._refusal("spend_limited", told, self._credits.again, now)

    def _refusal(self, code: str, told: str, again: float, now: float) -> Refusal:
        self._refused += 1
        by_turns = "seconds" if self._refused % 2 else "date"
        form = by_turns if self._form == "turns" else self._form
        # A date has whole seconds: rounded up, so that coming back then is never too early.
        after = max(1, math.ceil(again - now)) if form == "seconds" else None
        header = str(after) if after else formatdate(math.ceil(again), usegmt=True)
        message = f"{told}; come back after Retry-After."
        return Refusal(429, code, message, headers={"retry-after": header})


class _Window:
    def __init__(self, limit: int | None, length: float) -> None:
        self.limit = limit
        self.length = length
        self._began = -math.inf
        self._taken = 0

    @property
    def again(self) -> float:
        """The moment when the next window begins."""
        return self._began + self.length

    def take(self, amount: int, now: float) -> bool:
        """Take an amount whole, or nothing of it."""
        if self.limit is None:
            return True
        if now >= self.again:
            self._began, self._taken = now, 0
        if self._taken + amount > self.limit:
            return False
        self._taken += amount
        return True


@dataclass(frozen=True, kw_only=True)
class CallTerms:
    """What one call is made under: `operation`, its name in the charge log, the id of the caller's
    key, and the limits."""

    operation: str
    key: str
    now: float
    timing: Timing
    limits: Limits

    def count(self) -> None:
        """Count this call against the rate limit, or refuse it with 429."""
        self.limits.count(now=self.now)

    def spend(self, credits: int) -> None:
        """Count credits against the spend limit, or refuse with 429."""
        self.limits.spend(credits, now=self.now)
