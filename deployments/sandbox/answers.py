"""The shapes of answers, as the OpenAPI document describes them.

What the specification leaves open (section 2, "not shown") is the sandbox's own choice.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, create_model

from callsheet.deployments.sandbox.auth.keys import KeyShown
from callsheet.deployments.sandbox.database import Moment
from callsheet.deployments.sandbox.video import RenderShown, Status, Video


def list_of(name: str, kind: type[Any] = dict) -> type[BaseModel]:
    """Make the answer that holds a list, under its name, and nothing else."""
    return create_model(f"ListOf{name.capitalize()}", **{name: (list[kind], ...)})  # type: ignore[call-overload, no-any-return, valid-type]


class VideoCreated(BaseModel):
    """The answer to every operation that starts a render. A repeat can name a deleted video."""

    id: str
    status: Status
    poll_after_seconds: int


class VideoList(BaseModel):
    """A page of videos, newest first; without a `next_cursor` it is the last."""

    videos: list[Video]
    next_cursor: str | None


class Deleted(BaseModel):
    """The answer to a delete."""

    id: str
    deleted: Literal[True]


class Quote(BaseModel):
    """What a video would cost, in whole credits, and what the sum is made of."""

    credits: int
    breakdown: dict[str, int]


class Link(BaseModel):
    """An address that is good for a while: `expires_in` is in seconds."""

    url: str
    expires_at: Moment
    expires_in: int


class ShareLink(Link):
    """A public link to the MP4, and to a page that plays it."""

    page_url: str


class RenderProgress(BaseModel):
    """How far the latest render is; `idle` where there was none yet."""

    status: Literal["idle", "running", "completed", "failed", "cancelled"]
    percent: int
    render: RenderShown | None


class VoiceProgress(BaseModel):
    """How far the latest change of the voice is; `idle` where there was none."""

    status: Literal["idle", "running", "completed", "failed"]
    percent: int
    voice_id: str | None
    failure_reason: str | None


class Credits(BaseModel):
    """The organization's credits: `available` is the balance without what is reserved."""

    balance: int
    reserved: int
    available: int


class Organization(BaseModel):
    """Whom a key belongs to."""

    id: str
    name: str


class Me(BaseModel):
    """Whose key this is."""

    organization: Organization
    key: KeyShown
