"""The shapes of answers, as the OpenAPI document describes them.

What the specification leaves open (section 2, "not shown") is the sandbox's own choice.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from callsheet.deployments.sandbox.database import Moment
from callsheet.deployments.sandbox.video import RenderShown, Status, VideoShown


class Record(BaseModel):
    """Every member is always there, and no other is."""

    model_config = ConfigDict(extra="forbid")


class VideoCreated(BaseModel):
    """The answer to every operation that starts a render. A repeat can name a deleted video."""

    id: str
    status: Status | Literal["deleted"]
    poll_after_seconds: int


class VideoList(Record):
    """A page of videos, newest first; without a `next_cursor` it is the last."""

    videos: list[VideoShown]
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
    expires_at: Moment
    expires_in: int


class ShareLink(Link):
    """A public link to the MP4, and to a page that plays it."""

    page_url: str


class RenderList(Record):
    """Every render of a video, newest first."""

    renders: list[RenderShown]


class RenderProgress(Record):
    """How far the latest render is; `idle` where there was none yet."""

    status: Literal["idle", "running", "completed", "failed", "cancelled"]
    percent: int
    render: RenderShown | None


class VoiceProgress(Record):
    """How far the latest change of the voice is; `idle` where there was none."""

    status: Literal["idle", "running", "completed", "failed"]
    percent: int
    voice_id: str | None
    failure_reason: str | None


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
    required: bool = False


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
