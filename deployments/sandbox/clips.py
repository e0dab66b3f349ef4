"""Owns the three operations that make a clip from the caller's own picture or footage."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from deployments.sandbox.call import Call
from deployments.sandbox.clip_bodies import CharacterSwap, ClipBody, ImageToVideo, TalkingAvatar
from deployments.sandbox.credits import clip_price
from deployments.sandbox.moves import insert
from deployments.sandbox.rendering import start
from deployments.sandbox.renders import Order
from deployments.sandbox.storyboard import first_plan, seconds_to_say
from deployments.sandbox.video import Video

KINDS: dict[type[ClipBody], str] = {
    ImageToVideo: "image-to-video",
    TalkingAvatar: "talking-avatar",
    CharacterSwap: "character-swap",
}
#: The picture itself is kept as a file; longer addresses are cut in the record.
LONGEST_ECHO = 2000


def create_clip(
    connection: sqlite3.Connection,
    asked: ClipBody,
    *,
    video_id: str,
    picture: str | None,
    call: Call,
) -> Video:
    """Make a clip and begin its render; `picture` is the file of the picture that came with it."""
    call.count()
    kind = KINDS[type(asked)]
    said: dict[str, Any] = {name: _echo(value) for name, value in asked.model_dump().items()}
    if isinstance(asked, TalkingAvatar):
        said["duration_seconds"] = seconds_to_say(asked.script)
    duration = said["duration_seconds"]
    price = clip_price(kind, duration)
    video = insert(
        connection, video_id, kind=kind, asked=json.dumps(said), price=price, picture=picture,
        now=call.now,
    )  # fmt: skip
    order = Order(kind="generate", plan=first_plan(video), credits=price, seconds=duration)
    return start(connection, video, order, call)


def pictures_in(asked: ClipBody) -> list[str]:
    """Give the addresses of pictures in a request; the first that holds one is drawn."""
    if isinstance(asked, ImageToVideo):
        return [asked.image]
    return list(asked.photos or ()) if isinstance(asked, CharacterSwap) else []


def _echo(said: object) -> object:
    if isinstance(said, list):
        return [_echo(one) for one in said]
    if isinstance(said, str) and said.startswith("data:") and len(said) > LONGEST_ECHO:
        return f"{said[:64]}... ({len(said)} characters)"
    return said
