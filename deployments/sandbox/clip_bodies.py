"""Owns what the bodies of the three clip operations may hold. Neither their shape nor an
idempotency key for them is in the specification: a key is refused like any unknown field."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, StringConstraints, field_validator, model_validator

from deployments.sandbox.bodies import Body, Text
from deployments.sandbox.video_bodies import AspectRatio, Language, Script, check_scenes

LINK = r"^https?://[A-Za-z0-9.\-]+(:[0-9]+)?(/[^\s]*)?$"
UPLOAD = r"^[A-Za-z0-9][A-Za-z0-9._\-]{0,199}$"
DATA = r"^data:image/(png|jpeg|webp|gif);base64,[A-Za-z0-9+/]+={0,2}$"
LONGEST = 12_000_000

#: A web address, the name of an upload, or the picture itself. Nothing is ever fetched.
Picture = Annotated[
    str,
    StringConstraints(max_length=LONGEST),
    Field(
        json_schema_extra={
            "anyOf": [
                {"pattern": LINK, "maxLength": 2000},
                {"pattern": UPLOAD},
                {"pattern": DATA},
            ]
        }
    ),
]
Footage = Annotated[
    str,
    StringConstraints(max_length=2000),
    Field(json_schema_extra={"anyOf": [{"pattern": LINK}, {"pattern": UPLOAD}]}),
]


def _picture(said: str) -> str:
    if not (re.match(DATA, said) or _footage(said)):
        raise ValueError("must be a web address, the name of an upload, or a data:image/ address")
    return said


def _footage(said: str) -> str:
    if not (re.match(LINK, said) or re.match(UPLOAD, said)) or said.endswith("\n"):
        raise ValueError("must be a web address or the name of an upload")
    return said


class _Clip(Body):
    title: Text | None = None
    topic: Text | None = None
    aspect_ratio: AspectRatio = "9:16"


class ImageToVideo(_Clip):
    """What `POST /videos/image-to-video` takes."""

    image: Picture
    duration_seconds: Literal[5, 10] = 5
    narration: Annotated[str, StringConstraints(min_length=1, max_length=2000)] | None = None
    language: Language = "en"
    voice_id: Text | None = None

    _is_a_picture = field_validator("image")(_picture)


class TalkingAvatar(_Clip):
    """What `POST /videos/talking-avatar` takes; the clip is as long as its script takes to say."""

    clip: Footage
    script: Annotated[str, StringConstraints(min_length=1, max_length=20_000)] | Script
    language: Language = "en"
    voice_id: Text | None = None

    _is_footage = field_validator("clip")(_footage)

    @model_validator(mode="after")
    def _has_scenes(self) -> TalkingAvatar:
        check_scenes(self.script)
        return self


def _one_of_photos_and_character(schema: dict[str, Any]) -> None:
    schema["properties"]["character_id"] = {"type": "integer"}
    schema["oneOf"] = [{"required": ["photos"]}, {"required": ["character_id"]}]


class CharacterSwap(_Clip):
    """What `POST /videos/character-swap` takes."""

    model_config = ConfigDict(json_schema_extra=_one_of_photos_and_character)

    clip: Footage
    photos: Annotated[list[Picture], Field(min_length=1, max_length=10)] | None = None
    character_id: int | None = None
    duration_seconds: Annotated[int, Field(ge=3, le=60)] = 10

    _is_footage = field_validator("clip")(_footage)

    @field_validator("photos")
    @classmethod
    def _are_pictures(cls, photos: list[str] | None) -> list[str] | None:
        return photos and [_picture(one) for one in photos]

    @model_validator(mode="after")
    def _one_of_two(self) -> CharacterSwap:
        if (self.photos is None) == (self.character_id is None):
            raise ValueError("give exactly one of photos and character_id")
        return self


ClipBody = ImageToVideo | TalkingAvatar | CharacterSwap
