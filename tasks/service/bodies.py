"""Provisional: request bodies that the specification does not show (section 4, "Gaps").

Names and bounds follow its prose. A body goes out as an object of its own, so `more` may add or
replace any member that the service turns out to want.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tasks.brief import Json
from tasks.errors import BadInput

#: Seconds a clip made of one image may last (specification, section 8).
IMAGE_SECONDS = (5, 10)
#: Seconds a character swap may last, from and to (specification, section 8).
SWAP_SECONDS = (3, 60)

More = Mapping[str, Json] | None


def image_to_video(
    image: str, *, seconds: int | None = None, narration: str | None = None, more: More = None
) -> dict[str, Json]:
    """Return the body that animates one image; raises BadInput for another length."""
    if seconds is not None and seconds not in IMAGE_SECONDS:
        raise BadInput(f"a clip made of an image lasts 5 or 10 seconds, not {seconds}")
    return _body(more, image=image, duration_seconds=seconds, narration=narration)


def talking_avatar(clip: str, script: Json, *, more: More = None) -> dict[str, Json]:
    """Return the body that has a filmed clip speak a new script."""
    return _body(more, clip=clip, script=script)


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
    if bool(photos) == (character_id is not None):
        raise BadInput("a character swap takes either photos or a character id")
    if seconds is not None and not SWAP_SECONDS[0] <= seconds <= SWAP_SECONDS[1]:
        raise BadInput(f"a character swap lasts 3 to 60 seconds, not {seconds}")
    return _body(
        more,
        clip=clip,
        photos=list(photos) or None,
        character_id=character_id,
        duration_seconds=seconds,
    )


def scene(narration: str | None = None, *, more: More = None) -> dict[str, Json]:
    """Return the body that regenerates a scene, with new words where they are given."""
    return _body(more, narration=narration)


def voice(voice_id: str, *, more: More = None) -> dict[str, Json]:
    """Return the body that regenerates the voiceover."""
    return _body(more, voice_id=voice_id)


def report(reason: str, *, more: More = None) -> dict[str, Json]:
    """Return the body that flags a video for review."""
    return _body(more, reason=reason)


def _body(more: More, **members: Json) -> dict[str, Json]:
    given = {name: value for name, value in members.items() if value is not None}
    return {**given, **(more or {})}
