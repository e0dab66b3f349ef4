"""What a caller does to a video. Every paid act begins a render, by the plan that it follows.

(none) --create--> draft | generating        any but generating --start--> generating
generating --finish--> completed             generating --fail--> failed
generating --cancel--> cancelled             any --delete--> deleted
"""

from __future__ import annotations

import hashlib
import json
import math
import sqlite3
from typing import Any

from callsheet.deployments.sandbox import accounting
from callsheet.deployments.sandbox.bodies import (
    ChangeVoice,
    ClipBody,
    CreateVideo,
    ExportAgain,
    PatchVideo,
    RegenerateScene,
    TalkingAvatar,
)
from callsheet.deployments.sandbox.database import every, find, put
from callsheet.deployments.sandbox.envelope import Refusal, invalid
from callsheet.deployments.sandbox.mp4.script import Scene, scenes_of
from callsheet.deployments.sandbox.operations import Call
from callsheet.deployments.sandbox.rendering import leave
from callsheet.deployments.sandbox.video import (
    CANCELLED,
    COMPLETED,
    DELETED,
    DRAFT,
    GENERATING,
    RUNNING,
    KnownKey,
    Render,
    RenderKind,
    Video,
    get,
    newest,
)

#: Longer addresses, which hold the picture itself, are cut in the record.
LONGEST_ECHO = 2000
WORDS_PER_SECOND = 2.5
SHORTEST, LONGEST = 3, 600


def create(
    db: sqlite3.Connection, asked: CreateVideo, video_id: str, call: Call
) -> tuple[Video, bool]:
    """Make a video, or find the one this key already made; say whether its render begins now.

    A repeat with a known key is neither counted nor charged.
    """
    known = _remembered(db, asked)
    if known is not None:
        return known, False
    made = Video(
        id=video_id, number=newest(db) + 1, status=DRAFT, price=accounting.price(asked),
        created_at=call.now, updated_at=call.now, **asked.model_dump(),
    )  # fmt: skip
    if asked.idempotency_key is not None:
        put(db, KnownKey(id=asked.idempotency_key, digest=_digest(asked), video_id=video_id))
    if not asked.start_generation:
        call.service.rate.take(1, call.now)
        return put(db, made), False
    return _first(db, made, call), True


def create_clip(db: sqlite3.Connection, asked: ClipBody, video_id: str, call: Call) -> Video:
    """Make a clip and begin its render."""
    said: dict[str, Any] = {name: _echo(value) for name, value in asked.model_dump().items()}
    if isinstance(asked, TalkingAvatar):
        said["duration_seconds"] = seconds_to_say(asked.script)
    # The calls of an operation that makes clips go by the kind that it makes.
    kind: Any = call.operation.name
    price = accounting.CLIP_PER_SECOND[kind] * said["duration_seconds"]
    made = Video(
        id=video_id, number=newest(db) + 1, kind=kind, status=DRAFT, price=price,
        created_at=call.now, updated_at=call.now, **said,
    )  # fmt: skip
    return _first(db, made, call)


def generate(db: sqlite3.Connection, video_id: str, call: Call) -> Video:
    """Start a render, of a draft or again; what was edited since takes effect."""
    return _first(db, _idle(db, video_id), call)


def cancel(db: sqlite3.Connection, video_id: str, *, now: float) -> Video:
    """Stop a running render and give its credits back."""
    video = get(db, video_id)
    if video.status != GENERATING:
        raise Refusal(409, "not_running", "No render of this video is running.")
    leave(db, video, CANCELLED, now)
    return get(db, video_id)


def delete(db: sqlite3.Connection, video_id: str, *, now: float) -> None:
    """Forget a video. Its row stays, so that its idempotency key never buys a second one."""
    leave(db, get(db, video_id), DELETED, now)


def patch(db: sqlite3.Connection, video_id: str, changes: PatchVideo, *, now: float) -> Video:
    """Edit what may be edited; the next generate uses it, a running render does not."""
    video = get(db, video_id)
    said = changes.model_dump(exclude_unset=True)
    if "script" in said and video.script is None and video.kind != "video":
        raise invalid(f"script: a video made by {video.kind} has none to edit")
    return put(db, video.changed(**said, updated_at=now))


def make_scene(
    db: sqlite3.Connection, video_id: str, number: int, asked: RegenerateScene, call: Call
) -> Video:
    """Make one scene again, with other words if there are any, in the time it has; 404 when there
    is no such scene."""
    video, plan = _finished(db, video_id)
    if not 1 <= number <= len(plan.scenes):
        message = f"There is no scene {number}: this video has {len(plan.scenes)}, counted from 1."
        raise Refusal(404, "not_found", message)
    old = plan.scenes[number - 1]
    again = {"take": old.take + 1, "narration": asked.narration or old.narration}
    new, seconds = old.model_copy(update=again), old.end - old.start
    plan = plan.changed(scenes=[new if one is old else one for one in plan.scenes])
    credits = accounting.SCENE_PER_SECOND * math.ceil(seconds)
    return _start(db, video, "scene", plan, credits, seconds, call, scene=number)


def make_voice(db: sqlite3.Connection, video_id: str, asked: ChangeVoice, call: Call) -> Video:
    """Say the same words with another voice; 409 where nothing is said."""
    video, plan = _finished(db, video_id)
    if not plan.spoken:
        message = "Nothing is spoken in this video, so it has no voiceover to make again."
        raise Refusal(409, "no_voiceover", message)
    seconds = plan.duration_seconds
    credits = accounting.VOICE_PER_SECOND * seconds
    plan = plan.changed(voice_id=asked.voice_id)
    return _start(db, video, "voice", plan, credits, seconds / 2, call)


def make_export(db: sqlite3.Connection, video_id: str, asked: ExportAgain, call: Call) -> Video:
    """Make the file again: the scenes there are, with the titles and caption settings as they are
    edited now."""
    video, plan = _finished(db, video_id)
    plan = plan.changed(
        title=video.title or plan.title,
        topic=video.topic or plan.topic,
        caption_style=video.caption_style,
        caption_settings=video.caption_settings,
        aspect_ratio=asked.aspect_ratio or video.aspect_ratio,
    )
    return _start(db, video, "export", plan, accounting.EXPORT, plan.duration_seconds / 3, call)


def _idle(db: sqlite3.Connection, video_id: str) -> Video:
    """Find a video of which no render is running, or refuse with 404 or 409."""
    video = get(db, video_id)
    if video.status == GENERATING:
        raise Refusal(409, "already_generating", "This video is already being generated.")
    return video


def _finished(db: sqlite3.Connection, video_id: str) -> tuple[Video, Video]:
    """Give a video with the plan of its last finished render, of which a part is made again; a
    later generate begins with the script again. Refuses with 404 or 409."""
    video = _idle(db, video_id)
    finished = every(db, Render, owner=video_id, state=COMPLETED, newest=True, most=1)
    if not finished:
        message = f"This video is {video.status} and has no finished video; generate it first."
        raise Refusal(409, "not_finished", message)
    return video, finished[0].plan


def _first(db: sqlite3.Connection, video: Video, call: Call) -> Video:
    """Begin a render of what is asked for in a video now."""
    plan, seconds = video.changed(scenes=_scenes(video)), video.duration_seconds
    return _start(db, video, "generate", plan, video.price, seconds, call)


def _start(
    db: sqlite3.Connection,
    video: Video,
    kind: RenderKind,
    plan: Video,
    credits: int,
    seconds: float,
    call: Call,
    scene: int | None = None,
) -> Video:
    """Begin a render: reserve its credits and move the video to generating.

    `seconds` of it are made again, which says how long it takes. Raises 402 without credits and 429
    over the spend limit; nothing has happened then.
    """
    number, now = video.render + 1, call.now
    assert call.key is not None
    call.service.rate.take(1, now)
    due_at = now + accounting.render_seconds(call.service.options, video.id, seconds)
    render = Render(
        id=f"{video.id} {number}", video_id=video.id, number=number, kind=kind, status=RUNNING,
        operation=call.operation.name, key=call.key.id, credits=credits,
        plan=plan.changed(render=number), voice_id=plan.voice_id, aspect_ratio=plan.aspect_ratio,
        scene=scene, started_at=now, due_at=due_at,
    )  # fmt: skip
    accounting.move(db, "reserve", video, render, now=now)
    call.service.spending.take(credits, now)
    put(db, render)
    begun = video.changed(
        status=GENERATING, render=number, scenes=plan.scenes, due_at=due_at,
        credits_reserved=credits, started_at=now, finished_at=None, failure_reason=None,
        updated_at=now,
    )  # fmt: skip
    return put(db, begun)


def _remembered(db: sqlite3.Connection, asked: CreateVideo) -> Video | None:
    """Find the video this key made; refuse the key when it comes with another body."""
    known = find(db, KnownKey, asked.idempotency_key) if asked.idempotency_key else None
    if known is None:
        return None
    if known.digest != _digest(asked):
        message = "This idempotency_key was used before with another body."
        raise Refusal(422, "idempotency_key_reuse", message)
    return find(db, Video, known.video_id)


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


def seconds_to_say(script: dict[str, Any] | str) -> int:
    """Say how long a script takes to speak, in whole seconds."""
    words = sum(len(scene.narration.split()) for scene in scenes_of(script=script))
    return min(LONGEST, max(SHORTEST, math.ceil(words / WORDS_PER_SECOND)))


def _scenes(video: Video) -> list[Scene]:
    """Say what happens in a video; the same request always gives the same scenes."""
    seconds = video.duration_seconds
    if video.kind in ("image-to-video", "character-swap"):
        said = video.narration or ""
        return [Scene(number=1, narration=said, start=0.0, end=float(seconds))]
    return scenes_of(
        script=video.script, tool=video.tool, fields=video.fields, title=video.title,
        topic=video.topic, duration=seconds,
    )  # fmt: skip
