"""Request bodies that the specification describes in words only (section 4, "Gaps").

Their members, types and bounds are the models' (`tasks.requests` has those that a sheet can ask
for too). A body goes out as an object of its own, so `more` may add or replace any member that the
service turns out to want.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tasks.brief import Json
from tasks.errors import BadInput
from tasks.requests import CharacterSwap, ImageToVideo, TalkingAvatar

More = Mapping[str, Json] | None


class _Remake(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow")


class RegenerateScene(_Remake):
    """One scene again: `POST /videos/{id}/scenes/{n}/regenerate`."""

    narration: str | None = Field(None, description="What is said in it from now on.")


class RegenerateVoice(_Remake):
    """The voiceover again: `POST /videos/{id}/voice`."""

    voice_id: str = Field(description="The voice that speaks from now on, by its id.")


class Report(_Remake):
    """A video flagged for review: `POST /videos/{id}/report`."""

    reason: str = Field(description="What is wrong with it.")


def image_to_video(
    image: str, *, seconds: int | None = None, narration: str | None = None, more: More = None
) -> dict[str, Json]:
    """Return the body that animates one image; raises BadInput for another length."""
    return _body(ImageToVideo, more, image=image, duration_seconds=seconds, narration=narration)


def talking_avatar(clip: str, script: Json, *, more: More = None) -> dict[str, Json]:
    """Return the body that has a filmed clip speak a new script."""
    return _body(TalkingAvatar, more, clip=clip, script=script)


def character_swap(
    clip: str,
    *,
    photos: Sequence[str] = (),
    character_id: int | None = None,
    seconds: int | None = None,
    more: More = None,
) -> dict[str, Json]:
    """Return the body that puts a character, or the person in photos, into a clip.

    Raises BadInput for both or neither of them, and for a length outside 3 to 60 seconds.
    """
    return _body(
        CharacterSwap,
        more,
        clip=clip,
        photos=list(photos) or None,
        character_id=character_id,
        duration_seconds=seconds,
    )


def scene(narration: str | None = None, *, more: More = None) -> dict[str, Json]:
    """Return the body that regenerates a scene, with new words where they are given."""
    return _body(RegenerateScene, more, narration=narration)


def voice(voice_id: str, *, more: More = None) -> dict[str, Json]:
    """Return the body that regenerates the voiceover."""
    return _body(RegenerateVoice, more, voice_id=voice_id)


def report(reason: str, *, more: More = None) -> dict[str, Json]:
    """Return the body that flags a video for review."""
    return _body(Report, more, reason=reason)


#: What a person is told of a fault, by the model and the member at fault; None is the whole body.
_SENTENCES: Mapping[tuple[type[BaseModel], str | None], str] = {
    (ImageToVideo, "duration_seconds"): "a clip made of an image lasts 5 or 10 seconds, not {}",
    (CharacterSwap, "duration_seconds"): "a character swap lasts 3 to 60 seconds, not {}",
    (CharacterSwap, None): "a character swap takes either photos or a character id",
}


def _body(kind: type[BaseModel], more: More, **members: Json) -> dict[str, Json]:
    given = {name: value for name, value in members.items() if value is not None}
    try:
        kind.model_validate(given)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        name = str(fault["loc"][0]) if fault["loc"] else None
        sentence = _SENTENCES.get((kind, name))
        said = sentence.format(given.get(name or "")) if sentence else f"{name}: {fault['msg']}"
        raise BadInput(said) from None
    return {**given, **(more or {})}
