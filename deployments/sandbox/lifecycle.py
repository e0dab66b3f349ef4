"""What a caller does to a video, and the plans that its renders follow.

(none) --create--> draft | generating        any but generating --start--> generating
generating --finish--> completed             generating --fail--> failed
generating --cancel--> cancelled             any --delete--> deleted
"""

from __future__ import annotations

import colorsys
import hashlib
import json
import math
import sqlite3
import zlib
from collections.abc import Callable, Mapping
from typing import Any

from callsheet.deployments.sandbox import accounting
from callsheet.deployments.sandbox.accounting import CallTerms, clip_price, price
from callsheet.deployments.sandbox.bodies import (
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
from callsheet.deployments.sandbox.database import Document, every, find, put
from callsheet.deployments.sandbox.envelope import Refusal, invalid
from callsheet.deployments.sandbox.mp4.video_plan import (
    Captions,
    ClipSource,
    Scene,
    VideoPlan,
    scenes_of,
)
from callsheet.deployments.sandbox.rendering import (
    RenderOrder,
    leave,
    refuse_if_generating,
    start,
)
from callsheet.deployments.sandbox.video import (
    CANCELLED,
    COMPLETED,
    DELETED,
    DRAFT,
    GENERATING,
    Render,
    Video,
    get,
    newest,
)

#: The picture itself is kept as a file; longer addresses are cut in the record.
LONGEST_ECHO = 2000


class KnownKey(Document):
    """An idempotency key that came, what came with it, and the video that it made."""

    digest: str
    video_id: str


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
    made = Video(
        id=video_id, number=newest(db) + 1, kind="video", status=DRAFT, price=price(asked),
        created_at=call.now, updated_at=call.now, **asked.model_dump(),
    )  # fmt: skip
    if asked.idempotency_key is not None:
        put(db, KnownKey(id=asked.idempotency_key, digest=_digest(asked), video_id=video_id))
    if not asked.start_generation:
        return put(db, made), False
    return start(db, made, _first_order(made), call), True


def create_clip(
    db: sqlite3.Connection, asked: ClipBody, video_id: str, picture: str | None, call: CallTerms
) -> Video:
    """Make a clip and begin its render; `picture` is the file of the picture that came with it."""
    call.count()
    said: dict[str, Any] = {name: _echo(value) for name, value in asked.model_dump().items()}
    if isinstance(asked, TalkingAvatar):
        said["duration_seconds"] = seconds_to_say(asked.script)
    # The calls of an operation that makes clips go by the kind that it makes.
    cost = clip_price(call.operation, said["duration_seconds"])
    made = Video(
        id=video_id, number=newest(db) + 1, kind=call.operation, status=DRAFT, price=cost,  # type: ignore[arg-type]
        picture=picture, created_at=call.now, updated_at=call.now, **said,
    )  # fmt: skip
    return start(db, made, _first_order(made), call)


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
    if "script" in said and video.script is None and video.kind != "video":
        raise invalid(f"script: a video made by {video.kind} has none to edit")
    return put(db, video.changed(**said, updated_at=now))


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
    finished = every(db, Render, owner=video_id, state=COMPLETED, newest=True, most=1)
    if not finished:
        message = f"This video is {video.status} and has no finished video; generate it first."
        raise Refusal(409, "not_finished", message)
    order = order_of(video, finished[0].plan)
    call.count()
    return start(db, video, order, call)


def one_scene(_: Video, plan: VideoPlan, *, number: int, asked: RegenerateScene) -> RenderOrder:
    """Order one scene again, with other words if there are any, in the time it has; 404 when there
    is no such scene."""
    if not 1 <= number <= len(plan.scenes):
        message = f"There is no scene {number}: this video has {len(plan.scenes)}, counted from 1."
        raise Refusal(404, "not_found", message)
    old = plan.scenes[number - 1]
    again = {"take": old.take + 1, "narration": asked.narration or old.narration}
    new, seconds = old.model_copy(update=again), old.end - old.start
    scenes = [new if one is old else one for one in plan.scenes]
    return RenderOrder(
        kind="scene", plan=plan.but(scenes=scenes), credits=accounting.scene_price(seconds),
        seconds=seconds, scene=number,
    )  # fmt: skip


def another_voice(_: Video, plan: VideoPlan, *, asked: ChangeVoice) -> RenderOrder:
    """Order the same words with another voice; 409 where nothing is said."""
    if not plan.spoken:
        message = "Nothing is spoken in this video, so it has no voiceover to make again."
        raise Refusal(409, "no_voiceover", message)
    return RenderOrder(
        kind="voice", plan=plan.but(voice=asked.voice_id),
        credits=accounting.voice_price(plan.duration), seconds=plan.duration / 2,
    )  # fmt: skip


def another_export(video: Video, plan: VideoPlan, *, asked: ExportAgain) -> RenderOrder:
    """Order the file again: the scenes there are, with the titles and caption settings as they are
    edited now."""
    edited = plan.but(
        title=video.title or plan.title,
        topic=video.topic if video.title and video.topic else plan.topic,
        captions=_captions(video),
        aspect_ratio=asked.aspect_ratio or video.aspect_ratio,
    )
    seconds = plan.duration / 3
    return RenderOrder(kind="export", plan=edited, credits=accounting.EXPORT, seconds=seconds)


def _first_order(video: Video) -> RenderOrder:
    plan = first_plan(video)
    return RenderOrder(kind="generate", plan=plan, credits=video.price, seconds=plan.duration)


def _remembered(db: sqlite3.Connection, asked: CreateVideo) -> Video | None:
    """Find the video this key made; refuse the key when it comes with another body."""
    if asked.idempotency_key is None:
        return None
    known = find(db, KnownKey, asked.idempotency_key)
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


# Owns what a video is made from: the plan of a first video, and plans made from finished ones.
#
# Pure functions: the same request gives the same plan, and what is not to change is copied.


WORDS_PER_SECOND = 2.5
SHORTEST, LONGEST = 3, 600


def first_plan(video: Video) -> VideoPlan:
    """Plan a video from what is asked of it now."""
    titled = bool(video.title and video.topic)
    return VideoPlan(
        id=video.id,
        seed=video.number,
        title=video.title or video.topic or video.tool or _untitled(video),
        topic=(video.topic or "") if titled else "",
        language=video.language or "en",
        aspect_ratio=video.aspect_ratio or "9:16",
        duration=video.duration_seconds or 0,
        scenes=_scenes(video),
        voice=video.voice_id,
        captions=_captions(video),
        clip=_clip(video),
    )


def seconds_to_say(script: Mapping[str, Any] | str) -> int:
    """Say how long a script takes to speak, in whole seconds."""
    scenes = scenes_of(
        script=_as_script(script), tool=None, fields=None, title=None, topic=None, duration=1
    )
    words = sum(len(scene.narration.split()) for scene in scenes)
    return min(LONGEST, max(SHORTEST, math.ceil(words / WORDS_PER_SECOND)))


def _scenes(video: Video) -> list[Scene]:
    duration = video.duration_seconds or 0
    if video.kind in ("image-to-video", "character-swap"):
        said = video.narration or ""
        return [Scene(number=1, narration=said, visual="", start=0.0, end=float(duration))]
    return scenes_of(
        script=_as_script(video.script), tool=video.tool, fields=video.fields, title=video.title,
        topic=video.topic, duration=duration,
    )  # fmt: skip


def _as_script(script: Mapping[str, Any] | str | None) -> Mapping[str, Any] | None:
    return {"text": script} if isinstance(script, str) else script


def _clip(video: Video) -> ClipSource | None:
    if video.kind == "video":
        return None
    source = _name(video.image or video.clip or "")
    if video.kind == "character-swap":
        photos = len(video.photos or ())
        who = f"character {video.character_id}" if not photos else f"{photos} photo(s)"
        source = f"{source}, with {who}"
    return ClipSource(operation=video.kind, source=source, picture=video.picture)


def _name(address: str) -> str:
    """Call a picture or clip by the last part of its address."""
    if address.startswith("data:"):
        return "A picture of its own"
    return address.partition("?")[0].rstrip("/").rpartition("/")[2] or address


def _untitled(video: Video) -> str:
    return "Untitled" if video.kind == "video" else video.kind.replace("-", " ").capitalize()


def _captions(video: Video) -> Captions:
    style, said = video.caption_style, video.caption_settings or {}
    return Captions(
        enabled=said.get("enabled", style != "none"),
        bold=said.get("bold", style == "bold"),
        position=said.get("position", "bottom"),
        color=said.get("color") or _colour_of(style),
    )


def _colour_of(style: str | None) -> str:
    """Give every named style a light colour of its own; white without one."""
    if not style:
        return "#ffffff"
    hue = (zlib.crc32(style.encode()) % 360) / 360
    return "#" + "".join(f"{round(part * 255):02x}" for part in colorsys.hsv_to_rgb(hue, 0.4, 1.0))
