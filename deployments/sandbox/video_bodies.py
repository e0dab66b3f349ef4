"""Owns what the bodies of `POST /videos` and of every operation on a video may hold.

Those the specification does not show (sections 2 and 4) are as small as their purpose allows.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, JsonValue, StringConstraints, model_validator

from deployments.sandbox.bodies import Body, Name, Text
from deployments.sandbox.tools import TOOLS

AspectRatio = Literal["9:16", "1:1", "16:9"]
Mode = Literal["talking-head", "cinematic", "hybrid", "stock-narrated", "smart-mix"]
Language = Annotated[str, StringConstraints(pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$")]
Key = Annotated[str, StringConstraints(min_length=1, max_length=255)]
Colour = Annotated[str, StringConstraints(pattern=r"^#[0-9a-fA-F]{6}$")]
Script = Annotated[
    dict[str, JsonValue],
    Field(
        min_length=1,
        json_schema_extra={"properties": {"scenes": {"type": "array", "minItems": 1}}},
    ),
]


def _one_of_tool_and_script(schema: dict[str, Any]) -> None:
    schema["properties"]["tool"] = {"type": "string", "enum": list(TOOLS)}
    schema["oneOf"] = [
        {"required": ["tool"], "not": {"required": ["script"]}},
        {"required": ["script"], "not": {"anyOf": [{"required": [n]} for n in ("tool", "fields")]}},
    ]


def check_scenes(script: object) -> None:
    """Refuse a script whose `scenes` are not a list with something in it."""
    scenes = script.get("scenes", ...) if isinstance(script, dict) else ...
    if scenes is not ... and (not isinstance(scenes, list) or not scenes):
        raise ValueError("scenes must be a list of scenes")


class CreateVideo(Body):
    """What `POST /videos` and `POST /videos/estimate` take."""

    model_config = ConfigDict(json_schema_extra=_one_of_tool_and_script)

    tool: str | None = None
    fields: dict[str, JsonValue] | None = None
    duration_seconds: Annotated[int, Field(ge=1, le=600)] = 30
    script: Script | None = None
    title: Text | None = None
    topic: Text | None = None
    mode: Mode | None = None
    style: Literal["talking-head", "cinematic"] | None = None
    character_id: int | None = None
    voice_id: Text | None = None
    music_id: Text | None = None
    caption_style: Text | None = None
    aspect_ratio: AspectRatio = "9:16"
    language: Language = "en"
    start_generation: bool = True
    idempotency_key: Key | None = None
    video_model: Text | None = None

    @model_validator(mode="after")
    def _is_a_brief_or_a_script(self) -> CreateVideo:
        if (self.tool is None) == (self.script is None):
            raise ValueError("give exactly one of tool and script")
        if self.tool is not None and self.tool not in TOOLS:
            raise ValueError(f"tool must be one of {', '.join(TOOLS)}")
        if self.fields is not None and self.tool is None:
            raise ValueError("fields are inputs for a tool, and there is no tool")
        check_scenes(self.script)
        return self


class CaptionSettings(Body):
    """How captions look. What else is in it is kept and changes nothing."""

    model_config = ConfigDict(extra="allow")

    enabled: bool | None = None
    bold: bool | None = None
    position: Literal["top", "bottom"] | None = None
    color: Colour | None = None


class PatchVideo(Body):
    """What `PATCH /videos/{id}` takes."""

    title: Text | None = None
    topic: Text | None = None
    script: Script | None = None
    caption_style: Text | None = None
    caption_settings: CaptionSettings | None = None

    @model_validator(mode="after")
    def _has_scenes(self) -> PatchVideo:
        check_scenes(self.script)
        return self


class RegenerateScene(Body):
    """What `POST /videos/{id}/scenes/{n}/regenerate` takes: other words, or the same again."""

    narration: Annotated[str, StringConstraints(min_length=1, max_length=2000)] | None = None


class ChangeVoice(Body):
    """What `POST /videos/{id}/voice` takes."""

    voice_id: Name


class ExportAgain(Body):
    """What `POST /videos/{id}/renders` takes; without a ratio the video's own is used."""

    aspect_ratio: AspectRatio | None = None


class ReportVideo(Body):
    """What `POST /videos/{id}/report` takes."""

    reason: Name
    details: Text | None = None
