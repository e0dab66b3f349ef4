"""Owns what a video is made from: the plan of a first video, and plans made from finished ones.

Pure functions: the same request gives the same plan, and what is not to change is copied.
"""

from __future__ import annotations

import colorsys
import math
import zlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from callsheet.deployments.sandbox.envelope import Refusal
from callsheet.deployments.sandbox.mp4.video_plan import Captions, ClipSource, VideoPlan
from callsheet.deployments.sandbox.script import Scene, scenes_of
from callsheet.deployments.sandbox.video import Video

WORDS_PER_SECOND = 2.5
SHORTEST, LONGEST = 3, 600


def first_plan(video: Video) -> VideoPlan:
    """Plan a video from what is asked of it now."""
    asked = video.asked
    clip = _clip(video)
    return VideoPlan(
        id=video.id,
        seed=video.seq,
        title=asked["title"] or asked["topic"] or asked["tool"] or _untitled(video),
        topic=asked["topic"] if asked["title"] and asked["topic"] else "",
        language=asked["language"] or "en",
        aspect_ratio=asked["aspect_ratio"],
        duration=asked["duration_seconds"],
        scenes=_scenes(video),
        voice=asked["voice_id"],
        captions=_captions(asked),
        clip=clip,
    )


def with_scene_anew(plan: VideoPlan, number: int, narration: str | None) -> VideoPlan:
    """Make one scene again, with other words if there are any, in the time it has; 404 without."""
    if not 1 <= number <= len(plan.scenes):
        message = f"There is no scene {number}: this video has {len(plan.scenes)}, counted from 1."
        raise Refusal(404, "not_found", message)
    old = plan.scenes[number - 1]
    new = replace(old, take=old.take + 1, narration=narration or old.narration)
    return replace(plan, scenes=[new if one is old else one for one in plan.scenes])


def with_voice(plan: VideoPlan, voice_id: str) -> VideoPlan:
    """Say the same words with another voice; refuse with 409 where nothing is said."""
    if not plan.spoken:
        message = "Nothing is spoken in this video, so it has no voiceover to make again."
        raise Refusal(409, "no_voiceover", message)
    return replace(plan, voice=voice_id)


def exported(plan: VideoPlan, asked: Mapping[str, Any], aspect_ratio: str | None) -> VideoPlan:
    """Use the scenes there are, with the titles and caption settings as they are edited now."""
    return replace(
        plan,
        title=asked["title"] or plan.title,
        topic=asked["topic"] if asked["title"] and asked["topic"] else plan.topic,
        captions=_captions(asked),
        aspect_ratio=aspect_ratio or asked["aspect_ratio"],
    )


def seconds_to_say(script: Mapping[str, Any] | str) -> int:
    """Say how long a script takes to speak, in whole seconds."""
    scenes = scenes_of(
        script=_as_script(script), tool=None, fields=None, title=None, topic=None, duration=1
    )
    words = sum(len(scene.narration.split()) for scene in scenes)
    return min(LONGEST, max(SHORTEST, math.ceil(words / WORDS_PER_SECOND)))


def _scenes(video: Video) -> list[Scene]:
    asked = video.asked
    duration = asked["duration_seconds"]
    if video.kind in ("image-to-video", "character-swap"):
        said = asked["narration"] or ""
        return [Scene(number=1, narration=said, visual="", start=0.0, end=float(duration))]
    return scenes_of(
        script=_as_script(asked["script"]), tool=asked["tool"], fields=asked["fields"],
        title=asked["title"], topic=asked["topic"], duration=duration,
    )  # fmt: skip


def _as_script(script: Mapping[str, Any] | str | None) -> Mapping[str, Any] | None:
    return {"text": script} if isinstance(script, str) else script


def _clip(video: Video) -> ClipSource | None:
    asked = video.asked
    if video.kind == "video":
        return None
    source = _name(asked["image"] or asked["clip"])
    if video.kind == "character-swap":
        photos = len(asked["photos"] or ())
        who = f"character {asked['character_id']}" if not photos else f"{photos} photo(s)"
        source = f"{source}, with {who}"
    return ClipSource(operation=video.kind, source=source, picture=video.picture)


def _name(address: str) -> str:
    """Call a picture or clip by the last part of its address."""
    if address.startswith("data:"):
        return "A picture of its own"
    return address.partition("?")[0].rstrip("/").rpartition("/")[2] or address


def _untitled(video: Video) -> str:
    return "Untitled" if video.kind == "video" else video.kind.replace("-", " ").capitalize()


def _captions(asked: Mapping[str, Any]) -> Captions:
    style, said = asked["caption_style"], asked.get("caption_settings") or {}
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
