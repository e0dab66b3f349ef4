"""The record of a video, and the shapes in which the service answers."""

from __future__ import annotations

import json
import math
import secrets
import sqlite3
from collections.abc import Collection
from dataclasses import dataclass, fields
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, create_model

from callsheet.deployments.sandbox.bodies import (
    CharacterSwap,
    CreateVideo,
    ImageToVideo,
    ReportVideo,
    TalkingAvatar,
)
from callsheet.deployments.sandbox.database import Moment, insert, stamp
from callsheet.deployments.sandbox.envelope import not_found

DRAFT = "draft"
GENERATING = "generating"
COMPLETED = "completed"
FAILED = "failed"
CANCELLED = "cancelled"
DELETED = "deleted"
STATUSES = (DRAFT, GENERATING, COMPLETED, FAILED, CANCELLED)

#: Everything that can be asked for in any operation that makes a video; null where it was not.
ASKABLE = dict.fromkeys(
    name
    for body in (CreateVideo, ImageToVideo, TalkingAvatar, CharacterSwap)
    for name in (*body.model_fields, "caption_settings")
)


@dataclass(frozen=True, kw_only=True)
class Video:
    """A video and its latest render. `kind` is `video` or the clip operation that made it."""

    seq: int
    id: str
    kind: str
    status: str
    asked: dict[str, Any]
    picture: str | None
    price: int
    render: int
    plan: str | None
    reserved: int
    charged: int
    created_at: float
    updated_at: float
    started_at: float | None
    due_at: float | None
    finished_at: float | None
    failure: str | None

    @classmethod
    def from_row(cls, row: sqlite3.Row) -> Video:
        kept = {field.name: row[field.name] for field in fields(cls)}
        return cls(**{**kept, "asked": {**ASKABLE, **json.loads(row["asked"])}})

    def poll_after(self, now: float) -> int:
        """Say in whole seconds when a look is worth while; 0 where nothing will change by itself.

        A render that is due at once, as instant ones are, may be looked at at once.
        """
        if self.status != GENERATING or self.due_at is None or self.due_at == self.started_at:
            return 0
        return max(1, math.ceil(self.due_at - now))

    def progress(self, now: float) -> int:
        """Say how far the video is, in percent; only a finished one has all hundred."""
        if self.status == COMPLETED:
            return 100
        if self.status != GENERATING:
            return 0
        return percent(self.started_at, self.due_at, now)

    def created(self, now: float) -> dict[str, object]:
        """Show what every operation that starts a render answers."""
        return {"id": self.id, "status": self.status, "poll_after_seconds": self.poll_after(now)}

    def shown(self, now: float) -> dict[str, object]:
        """Show all of it."""
        return {
            **self.created(now),
            "kind": self.kind,
            "progress": self.progress(now),
            "render": self.render,
            "scenes": self._scenes(),
            "credits_reserved": self.reserved,
            "credits_charged": self.charged,
            "created_at": stamp(self.created_at),
            "updated_at": stamp(self.updated_at),
            "started_at": stamp(self.started_at),
            "finished_at": stamp(self.finished_at),
            "failure_reason": self.failure,
            **self.asked,
        }

    def _scenes(self) -> list[dict[str, object]]:
        """Show the scenes of the latest render, by the numbers that regenerate takes."""
        names = ("number", "narration", "visual", "start", "end")
        scenes = json.loads(self.plan)["scenes"] if self.plan else []
        return [{name: scene[name] for name in names} for scene in scenes]


def percent(started_at: float | None, due_at: float | None, now: float) -> int:
    """Say how far something that is still under way is: 0 to 99."""
    if started_at is None or due_at is None:
        return 0
    length = max(due_at - started_at, 0.001)
    return max(0, min(99, int(100 * (now - started_at) / length)))


def get(db: sqlite3.Connection, video_id: str) -> Video:
    """Find a video that is still there, or refuse with 404."""
    row = db.execute(
        "SELECT * FROM videos WHERE id = ? AND status <> ?", (video_id, DELETED)
    ).fetchone()
    if row is None:
        raise not_found(video_id)
    return Video.from_row(row)


def listed(
    db: sqlite3.Connection,
    *,
    limit: int,
    before: int | None,
    after: int = 0,
    statuses: Collection[str] = STATUSES,
) -> tuple[list[Video], int | None]:
    """Give a page of videos, newest first, and where the next page begins."""
    marks = ", ".join("?" * len(statuses))
    rows = db.execute(
        f"SELECT * FROM videos WHERE status IN ({marks}) AND seq < ? AND seq > ?"
        " ORDER BY seq DESC LIMIT ?",
        (*statuses, before if before is not None else 2**62, after, limit + 1),
    ).fetchall()
    page = [Video.from_row(row) for row in rows[:limit]]
    return page, page[-1].seq if len(rows) > limit else None


def newest(db: sqlite3.Connection) -> int:
    """Give the number of the video that was made last; 0 where there is none."""
    return int(db.execute("SELECT COALESCE(MAX(seq), 0) FROM videos").fetchone()[0])


def generating(db: sqlite3.Connection) -> list[Video]:
    """Give every video whose render was under way."""
    rows = db.execute("SELECT * FROM videos WHERE status = ? ORDER BY seq", (GENERATING,))
    return [Video.from_row(row) for row in rows]


def keep_report(
    db: sqlite3.Connection, video_id: str, asked: ReportVideo, *, key: str, now: float
) -> dict[str, object]:
    """Keep a report about a video that exists; show it as it is answered."""
    get(db, video_id)
    report_id = f"rep_{secrets.token_hex(8)}"
    kept = {"id": report_id, "video_id": video_id, **asked.model_dump()}
    insert(db, "reports", **kept, time=now, key_id=key)
    return {**kept, "created_at": stamp(now)}


def listed_reports(db: sqlite3.Connection) -> list[dict[str, object]]:
    """Give every report, oldest first."""
    rows = db.execute("SELECT * FROM reports ORDER BY n")
    return [{**dict(row), "time": stamp(row["time"])} for row in rows]


# Owns the shapes of answers about videos, and of what the service says about itself, as the
# OpenAPI document describes them.
#
# What the specification leaves open (section 2, "not shown") is the sandbox's own choice.


Status = Literal["draft", "generating", "completed", "failed", "cancelled"]


class Record(BaseModel):
    """Every member is always there, and no other is."""

    model_config = ConfigDict(extra="forbid")


class VideoCreated(Record):
    """The answer to every operation that starts a render. A repeat can name a deleted video."""

    id: str
    status: Status | Literal["deleted"]
    poll_after_seconds: int


class SceneShown(Record):
    """A scene of the latest render; `number` is what regenerate takes. Times are in seconds."""

    number: int
    narration: str
    visual: str
    start: float
    end: float


class _ShownRecord(Record):
    id: str
    status: Status
    poll_after_seconds: int
    kind: Literal["video", "image-to-video", "talking-avatar", "character-swap"]
    progress: int
    render: int
    scenes: list[SceneShown]
    credits_reserved: int
    credits_charged: int
    created_at: str
    updated_at: str
    started_at: str | None
    finished_at: str | None
    failure_reason: str | None


_ASKED: dict[str, type] = {
    "fields": dict[str, Any],
    "script": str | dict[str, Any],  # type: ignore[dict-item]
    "caption_settings": dict[str, Any],
    "photos": list[str],
    "duration_seconds": int,
    "character_id": int,
    "start_generation": bool,
}
#: A video and everything that was asked for in it; null where it was not.
VideoRecord: type[BaseModel] = create_model(
    "VideoRecord",
    __base__=_ShownRecord,
    **{name: (_ASKED.get(name, str) | None, ...) for name in ASKABLE},  # type: ignore[call-overload]
)


class VideoList(Record):
    """A page of videos, newest first; without a `next_cursor` it is the last."""

    videos: list[VideoRecord]  # type: ignore[valid-type]
    next_cursor: str | None


class VideoDeleted(Record):
    """The answer to a delete."""

    id: str
    deleted: Literal[True]


class Quote(Record):
    """What a video would cost, in whole credits, and what the sum is made of."""

    credits: int
    breakdown: dict[str, int]


class Link(Record):
    """An address that is good for a while: `expires_in` is in seconds."""

    url: str
    expires_at: str
    expires_in: int


class ShareLink(Link):
    """A public link to the MP4, and to a page that plays it."""

    page_url: str


class RenderRecord(Record):
    """One render: the first video, a video with a scene or the voice again, or another export."""

    number: int
    kind: Literal["generate", "scene", "voice", "export"]
    status: Literal["running", "completed", "failed", "cancelled"]
    percent: int
    credits: int
    scene: int | None
    voice_id: str | None
    aspect_ratio: str
    started_at: str
    finished_at: str | None
    sha256: str | None
    bytes: int | None
    failure_reason: str | None


class RenderList(Record):
    """Every render of a video, newest first."""

    renders: list[RenderRecord]


class RenderProgress(Record):
    """How far the latest render is; `idle` where there was none yet."""

    status: Literal["idle", "running", "completed", "failed", "cancelled"]
    percent: int
    render: RenderRecord | None


class VoiceProgress(Record):
    """How far the latest change of the voice is; `idle` where there was none."""

    status: Literal["idle", "running", "completed", "failed"]
    percent: int
    voice_id: str | None
    failure_reason: str | None


class ReportKept(Record):
    """The answer to a report."""

    id: str
    video_id: str
    reason: str
    details: str | None
    created_at: str


class Template(Record):
    """A template: `request` is a body for `POST /videos`, to be completed."""

    id: str
    name: str
    description: str
    request: dict[str, Any]


class TemplateList(Record):
    """The template library."""

    templates: list[Template]


class ToolField(Record):
    """One input of a tool."""

    name: str
    description: str
    required: bool


class Tool(Record):
    """A tool: it writes a script from named fields."""

    id: str
    name: str
    description: str
    fields: list[ToolField]


class ToolList(Record):
    """Every tool."""

    tools: list[Tool]


class Character(Record):
    """A character; its id goes into `character_id`."""

    id: int
    name: str


class CharacterList(Record):
    """Every character on offer."""

    characters: list[Character]


class Voice(Record):
    """A voice; its id goes into `voice_id`."""

    id: str
    name: str
    language: str


class VoiceList(Record):
    """Every voice on offer."""

    voices: list[Voice]


class Credits(Record):
    """The organization's credits: `available` is the balance without what is reserved."""

    balance: int
    reserved: int
    available: int


class Organization(Record):
    """Whom a key belongs to."""

    id: str
    name: str


class KeyRecord(Record):
    """The key of this request; its value is never shown."""

    id: str
    name: str
    scopes: list[str]
    created_at: Moment
    expires_at: Moment | None


class Me(Record):
    """Whose key this is."""

    organization: Organization
    key: KeyRecord
