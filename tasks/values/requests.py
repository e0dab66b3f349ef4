"""What a row can ask of the service: the bodies of its four operations, with type and meaning.

Owns the name, type, limits and description of every member, for sheets, their JSON Schema and the
client. The specification shows the body of `POST /videos` alone and of the clips only what they
are about, so members of any other name pass through as they are. Nothing is converted: what goes
out is to the byte what was given, and the digest and the idempotency key with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from callsheet.tasks.values.briefs import CREATE, Json

Mode = Literal["talking-head", "cinematic", "hybrid", "stock-narrated", "smart-mix"]
Style = Literal["talking-head", "cinematic"]
AspectRatio = Literal["9:16", "1:1", "16:9"]

# What means the same in several requests.
_Title = Annotated[str | None, Field(description="What the video is called.")]
_Topic = Annotated[str | None, Field(description="What the video is about, in a few words.")]
_Character = Annotated[int | None, Field(description="The character who appears, by number.")]
_Voice = Annotated[str | None, Field(description="The voice that speaks, by its id.")]
_Shape = Annotated[
    AspectRatio | None,
    Field(description="Width to height: 9:16 is upright, 1:1 square, 16:9 wide."),
]
_Language = Annotated[
    str | None, Field(description="The language of speech and text, like en or de.")
]
_Clip = Annotated[str | None, Field(description="The address of the recorded clip.")]


class VideoRequest(BaseModel):
    """A request body, without what Callsheet adds to it when a take is frozen."""

    model_config = ConfigDict(strict=True, extra="allow", frozen=True)

    #: Groups of members of which a request has exactly one; under another name it may be among
    #: the members that are passed through.
    needs: ClassVar[tuple[tuple[str, ...], ...]] = ()

    def body(self) -> dict[str, Json]:
        """Return the members that were given, as they were given."""
        return self.model_dump(exclude_unset=True)

    @model_validator(mode="after")
    def _has_what_it_needs(self) -> Self:
        for group in self.needs:
            count = sum(getattr(self, name) is not None for name in group)
            if count > 1:
                raise PydanticCustomError("too_many", f"has both {' and '.join(group)}")
            if count == 0 and not self.model_extra:
                raise PydanticCustomError("too_few", f"has no {' or '.join(group)}")
        return self


class CreateVideo(VideoRequest):
    """A video, from a tool and its inputs or from a script: `POST /videos`."""

    needs = (("tool", "script"),)

    tool: str | None = Field(None, description="The tool that writes the script, by its id.")
    fields: dict[str, Json] | None = Field(None, description="The inputs of the tool.")
    # The specification gives bounds for the lengths of clips alone.
    duration_seconds: int | None = Field(
        None, ge=1, description="The length of the video in seconds."
    )
    script: dict[str, Json] | None = Field(None, description="The spoken text, scene by scene.")
    title: _Title = None
    topic: _Topic = None
    mode: Mode | None = Field(None, description="How the video is made.")
    style: Style | None = Field(None, description="How the video looks.")
    character_id: _Character = None
    voice_id: _Voice = None
    music_id: str | None = Field(None, description="The background music, by its id.")
    caption_style: str | None = Field(None, description="How captions look in the picture.")
    aspect_ratio: _Shape = None
    language: _Language = None
    video_model: str | None = Field(
        None, description="The model that makes every scene; without one the service chooses."
    )


class ClipRequest(VideoRequest):
    """What any clip may be told."""

    title: _Title = None
    topic: _Topic = None
    aspect_ratio: _Shape = None
    language: _Language = None
    voice_id: _Voice = None


class ImageToVideo(ClipRequest):
    """One image, animated: `POST /videos/image-to-video`."""

    needs = (("image",),)

    image: str | None = Field(None, description="The address of the image that is animated.")
    duration_seconds: Literal[5, 10] | None = Field(
        None, description="How long the clip is: 5 or 10 seconds."
    )
    narration: str | None = Field(None, description="What the subject of the image says.")


class TalkingAvatar(ClipRequest):
    """Your own recorded clip speaks another script: `POST /videos/talking-avatar`."""

    needs = (("clip",), ("script",))

    clip: _Clip = None
    script: str | dict[str, Json] | None = Field(None, description="What is said in the clip.")


class CharacterSwap(ClipRequest):
    """A character, or who is in photos, takes a person's place: `POST /videos/character-swap`."""

    needs = (("clip",), ("photos", "character_id"))

    clip: _Clip = None
    photos: list[str] | None = Field(
        None, description="The addresses of photos of the person who appears."
    )
    character_id: _Character = None
    duration_seconds: int | None = Field(
        None, ge=3, le=60, description="How long the clip is: 3 to 60 seconds."
    )


#: Members that hold a name which the service gave to something.
NAMES = ("tool", "voice_id", "music_id", "caption_style", "video_model")
#: Every operation that a row can name, and what it asks for.
REQUESTS: Mapping[str, type[VideoRequest]] = {
    CREATE: CreateVideo,
    "image-to-video": ImageToVideo,
    "talking-avatar": TalkingAvatar,
    "character-swap": CharacterSwap,
}
