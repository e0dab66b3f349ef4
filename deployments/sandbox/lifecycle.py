"""Owns what a caller does to a video: make it, generate it, edit it, make a part of it again,
cancel it, delete it.

(none) --create--> draft | generating        any but generating --start--> generating
generating --finish--> completed             generating --fail--> failed
generating --cancel--> cancelled             any --delete--> deleted
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from callsheet.deployments.sandbox import credits, renders
from callsheet.deployments.sandbox.credits import clip_price, price
from callsheet.deployments.sandbox.envelope import Refusal
from callsheet.deployments.sandbox.limits import CallTerms
from callsheet.deployments.sandbox.mp4.video_plan import VideoPlan
from callsheet.deployments.sandbox.rendering import leave, refuse_if_generating, start
from callsheet.deployments.sandbox.renders import RenderOrder
from callsheet.deployments.sandbox.storyboard import (
    exported,
    first_plan,
    seconds_to_say,
    with_scene_anew,
    with_voice,
)
from callsheet.deployments.sandbox.tables import insert
from callsheet.deployments.sandbox.video import CANCELLED, DELETED, DRAFT, GENERATING, Video, get
from callsheet.deployments.sandbox.video_bodies import (
    ChangeVoice,
    CharacterSwap,
    ClipBody,
    CreateVideo,
    ExportAgain,
    ImageToVideo,
    PatchVideo,
    RegenerateScene,
    TalkingAvatar,
)

CLIP_OPERATIONS: dict[type[ClipBody], str] = {
    ImageToVideo: "image-to-video",
    TalkingAvatar: "talking-avatar",
    CharacterSwap: "character-swap",
}
#: The picture itself is kept as a file; longer addresses are cut in the record.
LONGEST_ECHO = 2000


def create(
    db: sqlite3.Connection, asked: CreateVideo, *, video_id: str, call: CallTerms
) -> tuple[Video, bool]:
    """Make a video, or find the one this key already made; say whether its render begins now.

    A repeat with a known key is neither counted nor charged.
    """
    known = _remembered(db, asked)
    if known is not None:
        return known, False
    call.count()
    said = asked.model_dump()
    video = _draft(db, video_id, kind="video", asked=said, price=price(asked), now=call.now)
    if asked.idempotency_key is not None:
        digest = _digest(asked)
        insert(db, "idempotency", key=asked.idempotency_key, digest=digest, video_id=video_id)
    if asked.start_generation:
        video = start(db, video, _first_order(video), call)
    return video, asked.start_generation


def create_clip(
    db: sqlite3.Connection, asked: ClipBody, video_id: str, picture: str | None, call: CallTerms
) -> Video:
    """Make a clip and begin its render; `picture` is the file of the picture that came with it."""
    call.count()
    kind = CLIP_OPERATIONS[type(asked)]
    said: dict[str, Any] = {name: _echo(value) for name, value in asked.model_dump().items()}
    if isinstance(asked, TalkingAvatar):
        said["duration_seconds"] = seconds_to_say(asked.script)
    cost = clip_price(kind, said["duration_seconds"])
    video = _draft(db, video_id, kind=kind, asked=said, price=cost, picture=picture, now=call.now)
    return start(db, video, _first_order(video), call)


def pictures_in(asked: ClipBody) -> list[str]:
    """Give the addresses of pictures in a request; the first that holds one is drawn."""
    if isinstance(asked, ImageToVideo):
        return [asked.image]
    return list(asked.photos or ()) if isinstance(asked, CharacterSwap) else []


def generate(db: sqlite3.Connection, video_id: str, call: CallTerms) -> Video:
    """Start a render, of a draft or again; what was edited since takes effect."""
    video = get(db, video_id)
    refuse_if_generating(video)
    call.count()
    return start(db, video, _first_order(video), call)


def cancel(db: sqlite3.Connection, video_id: str, *, now: float) -> Video:
    """Stop a running render and give its credits back."""
    video = get(db, video_id)
    if video.status != GENERATING:
        raise Refusal(409, "not_running", "No render of this video is running.")
    leave(db, video, CANCELLED, now)
    return get(db, video_id)


def delete(db: sqlite3.Connection, video_id: str, *, now: float) -> Video:
    """Forget a video. Its row stays, so that its idempotency key never buys a second one."""
    video = get(db, video_id)
    leave(db, video, DELETED, now)
    return video


def patch(db: sqlite3.Connection, video_id: str, changes: PatchVideo, *, now: float) -> Video:
    """Edit what may be edited; the next generate uses it, a running render does not."""
    video = get(db, video_id)
    said = changes.model_dump(exclude_unset=True)
    if "script" in said and video.asked["script"] is None and video.kind != "video":
        message = f"script: a video made by {video.kind} has none to edit"
        raise Refusal(400, "invalid_request", message)
    asked = {**video.asked, **said}
    db.execute(
        "UPDATE videos SET asked = ?, updated_at = ? WHERE id = ?",
        (json.dumps(asked), now, video_id),
    )
    return replace(video, asked=asked, updated_at=now)


def remake(
    db: sqlite3.Connection,
    video_id: str,
    order_of: Callable[[Video, VideoPlan], RenderOrder],
    call: CallTerms,
) -> Video:
    """Make a part of a finished video again; 409 while a render runs, or without a video.

    It begins with the plan of the last finished video and changes what `order_of` does alone; a
    later generate begins with the script again.
    """
    video = get(db, video_id)
    refuse_if_generating(video)
    last = renders.last_finished(db, video_id)
    if last is None:
        message = f"This video is {video.status} and has no finished video; generate it first."
        raise Refusal(409, "not_finished", message)
    order = order_of(video, VideoPlan.from_json(last.plan))
    call.count()
    return start(db, video, order, call)


def one_scene(_: Video, rendered: VideoPlan, *, number: int, asked: RegenerateScene) -> RenderOrder:
    """Order one scene again; 404 when there is no such scene."""
    plan = with_scene_anew(rendered, number, asked.narration)
    seconds = plan.scenes[number - 1].end - plan.scenes[number - 1].start
    cost = credits.scene_price(seconds)
    return RenderOrder(kind="scene", plan=plan, credits=cost, seconds=seconds, scene=number)


def another_voice(_: Video, rendered: VideoPlan, *, asked: ChangeVoice) -> RenderOrder:
    """Order the same with another voice; 409 when nothing is said."""
    plan, cost = with_voice(rendered, asked.voice_id), credits.voice_price(rendered.duration)
    return RenderOrder(kind="voice", plan=plan, credits=cost, seconds=plan.duration / 2)


def another_export(video: Video, rendered: VideoPlan, *, asked: ExportAgain) -> RenderOrder:
    """Order the file again, with the titles and caption settings as they are edited now."""
    plan = exported(rendered, video.asked, asked.aspect_ratio)
    seconds = plan.duration / 3
    return RenderOrder(kind="export", plan=plan, credits=credits.EXPORT, seconds=seconds)


def _draft(
    db: sqlite3.Connection, video_id: str, *, asked: dict[str, Any], now: float, **more: object
) -> Video:
    row = {"id": video_id, "status": DRAFT, "asked": json.dumps(asked), **more}
    insert(db, "videos", **row, created_at=now, updated_at=now)
    return get(db, video_id)


def _first_order(video: Video) -> RenderOrder:
    plan = first_plan(video)
    return RenderOrder(kind="generate", plan=plan, credits=video.price, seconds=plan.duration)


def _remembered(db: sqlite3.Connection, asked: CreateVideo) -> Video | None:
    """Find the video this key made; refuse the key when it comes with another body."""
    if asked.idempotency_key is None:
        return None
    row = db.execute(
        "SELECT digest, videos.* FROM idempotency JOIN videos ON videos.id = video_id"
        " WHERE key = ?",
        (asked.idempotency_key,),
    ).fetchone()
    if row is None:
        return None
    if row["digest"] != _digest(asked):
        message = "This idempotency_key was used before with another body."
        raise Refusal(422, "idempotency_key_reuse", message)
    return Video.from_row(row)


def _digest(asked: CreateVideo) -> str:
    """Digest what was said in the body; spacing, order of fields and the key do not count."""
    said = asked.model_dump(exclude_unset=True, exclude={"idempotency_key"})
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def _echo(said: object) -> object:
    if isinstance(said, list):
        return [_echo(one) for one in said]
    if isinstance(said, str) and said.startswith("data:") and len(said) > LONGEST_ECHO:
        return f"{said[:64]}... ({len(said)} characters)"
    return said
