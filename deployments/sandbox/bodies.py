"""What the bodies of video operations may hold, and the catalog that they choose from.

Those the specification does not show (sections 2 and 4) are as small as their purpose allows. No
idempotency key for clips is in it: one is refused there like any unknown field.
"""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
    model_validator,
)

from callsheet.deployments.sandbox.envelope import Name, RequestBody, Text

#: What a request can choose from, as the operations of the catalog answer it.
CATALOG: dict[str, list[dict[str, Any]]] = tomllib.loads(
    (files("callsheet.deployments.sandbox") / "catalog.toml").read_text(encoding="utf-8")
)
TOOLS = [tool["id"] for tool in CATALOG["tools"]]
AspectRatio = Literal["9:16", "1:1", "16:9"]
Mode = Literal["talking-head", "cinematic", "hybrid", "stock-narrated", "smart-mix"]
Language = Annotated[str, StringConstraints(pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$")]
IdempotencyKey = Annotated[str, StringConstraints(min_length=1, max_length=255)]
HexColour = Annotated[str, StringConstraints(pattern=r"^#[0-9a-fA-F]{6}$")]


def _with_scenes(script: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Refuse a script whose `scenes` are not a list with something in it."""
    if "scenes" in script and not (isinstance(script["scenes"], list) and script["scenes"]):
        raise ValueError("scenes must be a list of scenes")
    return script


Script = Annotated[
    dict[str, JsonValue],
    Field(
        min_length=1,
        json_schema_extra={"properties": {"scenes": {"type": "array", "minItems": 1}}},
    ),
    AfterValidator(_with_scenes),
]
#: A web address, the name of an upload, or the picture itself. Nothing is fetched or looked at.
Link = Annotated[
    str,
    StringConstraints(pattern=r"^https?://[A-Za-z0-9.\-]+(:[0-9]+)?(/[^\s]*)?$", max_length=2000),
]
Upload = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._\-]{0,199}$")]
Data = Annotated[
    str,
    StringConstraints(
        pattern=r"^data:image/(png|jpeg|webp|gif);base64,[A-Za-z0-9+/]+={0,2}$",
        max_length=12_000_000,
    ),
]


def _one_of_tool_and_script(schema: dict[str, Any]) -> None:
    schema["properties"]["tool"] = {"type": "string", "enum": TOOLS}
    schema["oneOf"] = [
        {"required": ["tool"], "not": {"required": ["script"]}},
        {"required": ["script"], "not": {"anyOf": [{"required": [n]} for n in ("tool", "fields")]}},
    ]


class CreateVideo(RequestBody):
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
    idempotency_key: IdempotencyKey | None = None
    video_model: Text | None = None

    @model_validator(mode="after")
    def _is_a_brief_or_a_script(self) -> CreateVideo:
        if (self.tool is None) == (self.script is None):
            raise ValueError("give exactly one of tool and script")
        if self.tool is not None and self.tool not in TOOLS:
            raise ValueError(f"tool must be one of {', '.join(TOOLS)}")
        if self.fields is not None and self.tool is None:
            raise ValueError("fields are inputs for a tool, and there is no tool")
        return self


class CaptionSettings(RequestBody):
    """How captions look. What else is in it is kept and changes nothing."""

    model_config = ConfigDict(extra="allow")

    enabled: bool | None = None
    bold: bool | None = None
    position: Literal["top", "bottom"] | None = None
    color: HexColour | None = None


class PatchVideo(RequestBody):
    """What `PATCH /videos/{id}` takes."""

    title: Text | None = None
    topic: Text | None = None
    script: Script | None = None
    caption_style: Text | None = None
    caption_settings: CaptionSettings | None = None


class RegenerateScene(RequestBody):
    """What `POST /videos/{id}/scenes/{n}/regenerate` takes: other words, or the same again."""

    narration: Annotated[str, StringConstraints(min_length=1, max_length=2000)] | None = None


class ChangeVoice(RequestBody):
    """What `POST /videos/{id}/voice` takes."""

    voice_id: Name


class ExportAgain(RequestBody):
    """What `POST /videos/{id}/renders` takes; without a ratio the video's own is used."""

    aspect_ratio: AspectRatio | None = None


class ReportVideo(RequestBody):
    """What `POST /videos/{id}/report` takes."""

    reason: Name
    details: Text | None = None


class _Clip(RequestBody):
    title: Text | None = None
    topic: Text | None = None
    aspect_ratio: AspectRatio = "9:16"


class ImageToVideo(_Clip):
    """What `POST /videos/image-to-video` takes."""

    image: Link | Upload | Data
    duration_seconds: Literal[5, 10] = 5
    narration: Annotated[str, StringConstraints(min_length=1, max_length=2000)] | None = None
    language: Language = "en"
    voice_id: Text | None = None


class TalkingAvatar(_Clip):
    """What `POST /videos/talking-avatar` takes; the clip is as long as its script takes to say."""

    clip: Link | Upload
    script: Annotated[str, StringConstraints(min_length=1, max_length=20_000)] | Script
    language: Language = "en"
    voice_id: Text | None = None


def _one_of_photos_and_character(schema: dict[str, Any]) -> None:
    schema["properties"]["character_id"] = {"type": "integer"}
    schema["oneOf"] = [{"required": ["photos"]}, {"required": ["character_id"]}]


class CharacterSwap(_Clip):
    """What `POST /videos/character-swap` takes."""

    model_config = ConfigDict(json_schema_extra=_one_of_photos_and_character)

    clip: Link | Upload
    photos: Annotated[list[Link | Upload | Data], Field(min_length=1, max_length=10)] | None = None
    character_id: int | None = None
    duration_seconds: Annotated[int, Field(ge=3, le=60)] = 10

    @model_validator(mode="after")
    def _one_of_two(self) -> CharacterSwap:
        if (self.photos is None) == (self.character_id is None):
            raise ValueError("give exactly one of photos and character_id")
        return self


ClipBody = ImageToVideo | TalkingAvatar | CharacterSwap
#: What each operation takes that makes a clip.
CLIPS: dict[str, type[ClipBody]] = {
    "image-to-video": ImageToVideo,
    "talking-avatar": TalkingAvatar,
    "character-swap": CharacterSwap,
}
