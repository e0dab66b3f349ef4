"""Owns the shapes of answers about videos, and of what the service says about itself, as the
OpenAPI document describes them.

What the specification leaves open (section 2, "not shown") is the sandbox's own choice.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, create_model

from callsheet.deployments.sandbox.video import ASKABLE

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
    """One render: the first video, a video with a scene or the voice anew, or another export."""

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
    created_at: str
    expires_at: str | None


class Me(Record):
    """Whose key this is."""

    organization: Organization
    key: KeyRecord
