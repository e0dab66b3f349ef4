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
from callsheet.deployments.sandbox.mp4.video_plan import Scene, SceneShown, VideoPlan

DRAFT: Final = "draft"
GENERATING: Final = "generating"
RUNNING: Final = "running"
COMPLETED = "completed"
FAILED = "failed"
CANCELLED = "cancelled"
DELETED = "deleted"
STATUSES = (DRAFT, GENERATING, COMPLETED, FAILED, CANCELLED)
Status = Literal["draft", "generating", "completed", "failed", "cancelled"]


class VideoShown(Document):
    """A video, its latest render, and everything that was asked for in it; null where it was not.

    `kind` is `video` or the clip operation that made it.
    """

    status: Status
    poll_after_seconds: int = 0
    kind: Literal["video", "image-to-video", "talking-avatar", "character-swap"]
    progress: int = 0
    render: int = 0
    scenes: Sequence[SceneShown] = ()
    credits_reserved: int = 0
    credits_charged: int = 0
    created_at: Moment
    updated_at: Moment
    started_at: Moment | None = None
    finished_at: Moment | None = None
    failure_reason: str | None = None
    tool: str | None = None
    fields: dict[str, Any] | None = None
    duration_seconds: int | None = None
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
    aspect_ratio: str | None = None
    language: str | None = None
    start_generation: bool | None = None
    idempotency_key: str | None = None
    video_model: str | None = None
    image: str | None = None
    narration: str | None = None
    clip: str | None = None
    photos: list[str] | None = None


class Video(VideoShown):
    """A video as it is kept. `number` counts the videos of the organization from 1."""

    status: Status | Literal["deleted"]  # type: ignore[assignment]
    scenes: Sequence[Scene] = ()
    number: int
    price: int
    picture: str | None = None
    due_at: float | None = None

    def found_by(self) -> tuple[str, str, float]:
        return "", self.status, self.number

    def at(self, now: float) -> Video:
        """Give the video as it is at this moment."""
        return self.changed(progress=self._progress(now), poll_after_seconds=self._wait(now))

    def _wait(self, now: float) -> int:
        """Say in whole seconds when a look is worth while; 0 where nothing will change by itself.

        A render that is due at once, as instant ones are, may be looked at at once.
        """
        if self.status != GENERATING or self.due_at is None or self.due_at == self.started_at:
            return 0
        return max(1, math.ceil(self.due_at - now))

    def _progress(self, now: float) -> int:
        if self.status == GENERATING:
            return percent(self.started_at, self.due_at, now)
        return 100 if self.status == COMPLETED else 0


class RenderShown(BaseModel):
    """One render: the first video, a video with a scene or the voice again, or another export."""

    number: int
    kind: Literal["generate", "scene", "voice", "export"]
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


class RenderFault(BaseModel):
    """What goes wrong with a render; `message` is the reason of a failure."""

    do: str
    message: str | None = None


class Render(Document, RenderShown):
    """One render as it is kept. `number` counts the renders of its video from 1; `operation` and
    `key` say what call pays for it, and whose."""

    video_id: str
    operation: str
    key: str
    plan: VideoPlan
    due_at: float
    file: str | None = None
    fault: RenderFault | None = None

    def found_by(self) -> tuple[str, str, float]:
        return self.video_id, self.status, self.number

    def at(self, now: float) -> Render:
        """Give it as it is at this moment: 100 percent when it is finished, 0 when it came to
        nothing."""
        if self.status == RUNNING:
            return self.changed(percent=percent(self.started_at, self.due_at, now))
        return self.changed(percent=100 if self.status == COMPLETED else 0)


def percent(started_at: float | None, due_at: float | None, now: float) -> int:
    """Say how far something that is still under way is: 0 to 99."""
    if started_at is None or due_at is None:
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


class ReportKept(Document):
    """The answer to a report."""

    video_id: str
    reason: str
    details: str | None
    created_at: Moment


class Report(ReportKept):
    """A report as it is kept."""

    key_id: str


def keep_report(
    db: sqlite3.Connection, video_id: str, asked: ReportVideo, *, key: str, now: float
) -> Report:
    """Keep a report about a video that exists."""
    get(db, video_id)
    kept = {"id": f"rep_{secrets.token_hex(8)}", "video_id": video_id, **asked.model_dump()}
    return put(db, Report(**kept, created_at=now, key_id=key))
