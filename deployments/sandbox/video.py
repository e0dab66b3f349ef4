"""The records of videos, their renders and reports, answered as they are kept.

Every video that was ever asked of a video is a render:

running --finish--> completed      running --fail--> failed      running --cancel--> cancelled
"""

from __future__ import annotations

import math
import secrets
import sqlite3
from collections.abc import Sequence
from typing import Any, Final, Literal

from pydantic import BaseModel

from callsheet.deployments.sandbox.bodies import ReportVideo
from callsheet.deployments.sandbox.database import Document, Moment, every, find, put
from callsheet.deployments.sandbox.envelope import not_found
from callsheet.deployments.sandbox.mp4.script import Scene

DRAFT: Final = "draft"
GENERATING: Final = "generating"
RUNNING: Final = "running"
COMPLETED: Final = "completed"
FAILED: Final = "failed"
CANCELLED: Final = "cancelled"
DELETED: Final = "deleted"
STATUSES = (DRAFT, GENERATING, COMPLETED, FAILED, CANCELLED)
RenderKind = Literal["generate", "scene", "voice", "export"]
Status = Literal["draft", "generating", "completed", "failed", "cancelled", "deleted"]


class Video(Document):
    """A video, its latest render, and everything that was asked for in it; null where it was not.

    `kind` is `video` or the clip operation that made it, `number` counts the videos of the
    organization from 1, and `price` is what each generate costs. The plan of a render is such a
    record too: the video as it is made.
    """

    status: Status
    poll_after_seconds: int = 0
    kind: Literal["video", "image-to-video", "talking-avatar", "character-swap"] = "video"
    number: int
    price: int = 0
    progress: int = 0
    render: int = 0
    scenes: Sequence[Scene] = ()
    credits_reserved: int = 0
    credits_charged: int = 0
    created_at: Moment
    updated_at: Moment
    started_at: Moment | None = None
    due_at: Moment | None = None
    finished_at: Moment | None = None
    failure_reason: str | None = None
    tool: str | None = None
    fields: dict[str, Any] | None = None
    duration_seconds: int = 0
    script: str | dict[str, Any] | None = None
    title: str | None = None
    topic: str | None = None
    mode: str | None = None
    style: str | None = None
    character_id: int | None = None
    voice_id: str | None = None
    music_id: str | None = None
    caption_style: str | None = None
    caption_settings: dict[str, Any] | None = None
    aspect_ratio: str = "9:16"
    language: str = "en"
    start_generation: bool | None = None
    idempotency_key: str | None = None
    video_model: str | None = None
    image: str | None = None
    narration: str | None = None
    clip: str | None = None
    photos: list[str] | None = None

    def found_by(self) -> tuple[str, str, float]:
        return "", self.status, self.number

    @property
    def spoken(self) -> bool:
        """Say whether there are any words in it, and so a voice and captions."""
        return any(scene.narration for scene in self.scenes)

    def at(self, now: float) -> Video:
        """Give the video as it is at this moment."""
        percent = percent_of(self.status, self.started_at, self.due_at, now)
        return self.changed(progress=percent, poll_after_seconds=self._wait(now))

    def _wait(self, now: float) -> int:
        """Say in whole seconds when a look is worth while; 0 where nothing will change by itself.

        A render that is due at once, as instant ones are, may be looked at at once.
        """
        if self.status != GENERATING or self.due_at is None or self.due_at == self.started_at:
            return 0
        return max(1, math.ceil(self.due_at - now))


class KnownKey(Document):
    """An idempotency key that came, what came with it, and the video that it made."""

    digest: str
    video_id: str


class RenderShown(BaseModel):
    """One render: the first video, a video with a scene or the voice again, or another export."""

    number: int
    kind: RenderKind
    status: Literal["running", "completed", "failed", "cancelled"]
    percent: int = 0
    credits: int
    scene: int | None = None
    voice_id: str | None
    aspect_ratio: str
    started_at: Moment
    finished_at: Moment | None = None
    sha256: str | None = None
    bytes: int | None = None
    failure_reason: str | None = None


class Render(Document, RenderShown):
    """One render as it is kept. `number` counts the renders of its video from 1; `operation` and
    `key` say what call pays for it, and whose; `fault` is what goes wrong, for a `reason`."""

    video_id: str
    operation: str
    key: str
    plan: Video
    due_at: float
    file: str | None = None
    fault: str | None = None
    reason: str | None = None

    def found_by(self) -> tuple[str, str, float]:
        return self.video_id, self.status, self.number

    def at(self, now: float) -> Render:
        """Give it as it is at this moment."""
        return self.changed(percent=percent_of(self.status, self.started_at, self.due_at, now))


def percent_of(status: str, started_at: float | None, due_at: float | None, now: float) -> int:
    """Say how far something is: 100 when it is finished, 0 to 99 while it is under way, and 0 when
    it came to nothing."""
    if status == COMPLETED:
        return 100
    if status not in (GENERATING, RUNNING) or started_at is None or due_at is None:
        return 0
    length = max(due_at - started_at, 0.001)
    return max(0, min(99, int(100 * (now - started_at) / length)))


def get(db: sqlite3.Connection, video_id: str) -> Video:
    """Find a video that is still there, or refuse with 404."""
    found = find(db, Video, video_id)
    if found is None or found.status == DELETED:
        raise not_found(video_id)
    return found


def newest(db: sqlite3.Connection) -> int:
    """Give the number of the video that was made last; 0 where there is none."""
    sql = "SELECT coalesce(max(due), 0) FROM documents WHERE kind = 'Video'"
    return int(db.execute(sql).fetchone()[0])


def listed(
    db: sqlite3.Connection,
    *,
    limit: int,
    before: int | None,
    after: int = 0,
    status: str | None = None,
) -> tuple[list[Video], int | None]:
    """Give a page of videos, newest first, and where the next page begins."""
    where = "AND state <> 'deleted'" if status is None else "AND state = :status"
    rows = db.execute(
        f"SELECT body FROM documents WHERE kind = 'Video' {where} AND due < :before"
        " AND due > :after ORDER BY due DESC LIMIT :most",
        {"status": status, "before": before or 2**62, "after": after, "most": limit + 1},
    ).fetchall()
    page = [Video.model_validate_json(row["body"]) for row in rows[:limit]]
    return page, page[-1].number if len(rows) > limit else None


def render_of(db: sqlite3.Connection, video_id: str, number: int) -> Render | None:
    """Find one render of a video."""
    return find(db, Render, f"{video_id} {number}")


def renders_of(db: sqlite3.Connection, video_id: str) -> list[Render]:
    """Give the renders of a video that is there, newest first."""
    get(db, video_id)
    return every(db, Render, owner=video_id, newest=True)


class Report(Document):
    """A video that was flagged for review, and the key that did it."""

    video_id: str
    reason: str
    details: str | None
    created_at: Moment
    key_id: str


def keep_report(
    db: sqlite3.Connection, video_id: str, asked: ReportVideo, *, key: str, now: float
) -> Report:
    """Keep a report about a video that exists."""
    get(db, video_id)
    kept = {"id": f"rep_{secrets.token_hex(8)}", "video_id": video_id, **asked.model_dump()}
    return put(db, Report(**kept, created_at=now, key_id=key))
