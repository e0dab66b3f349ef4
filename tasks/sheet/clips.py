"""Rows that ask for a clip: image-to-video, talking-avatar, character-swap.

Owns which columns each of them needs and takes. The specification does not show the bodies of
these operations (section 4), so any further member may be given as `body.<name>`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tasks.brief import CREATE, Json
from tasks.sheet import cells
from tasks.sheet.headers import BODY, FIELDS, REQUEST_COLUMNS
from tasks.sheet.script import read_speech

Parser = Callable[[Json], Json]
_SHARED: Mapping[str, Parser] = {
    name: cells.REQUEST_PARSERS[name]
    for name in ("title", "topic", "aspect_ratio", "language", "voice_id")
}


@dataclass(frozen=True)
class Clip:
    """One kind of clip: how its columns are read, and which it cannot do without.

    `needs` are groups of columns of which exactly one is wanted.
    """

    parsers: Mapping[str, Parser]
    needs: tuple[tuple[str, ...], ...]

    def takes(self, column: str) -> bool:
        """Say whether a column belongs to this kind."""
        return column in self.parsers or column.startswith(f"{BODY}.")


CLIPS: Mapping[str, Clip] = {
    "image-to-video": Clip(
        {
            **_SHARED,
            "image": cells.text,
            "duration_seconds": cells.either(5, 10),
            "narration": cells.text,
        },
        needs=(("image",),),
    ),
    "talking-avatar": Clip(
        {**_SHARED, "clip": cells.text, "script": lambda value: read_speech(value, folder=None)},
        needs=(("clip",), ("script",)),
    ),
    "character-swap": Clip(
        {
            **_SHARED,
            "clip": cells.text,
            "photos": cells.places,
            "character_id": cells.whole,
            "duration_seconds": cells.within(3, 60),
        },
        needs=(("clip",), ("photos", "character_id")),
    ),
}
OPERATIONS = (CREATE, *CLIPS)
operation = cells.one_of(OPERATIONS)


def clip_of(value: Json) -> Clip | None:
    """Return the kind of clip that an `operation` cell names; None for anything else."""
    try:
        return CLIPS.get(operation(value))
    except ValueError:
        return None


def parsers_of(clip: Clip, folder: Path | None) -> Mapping[str, Parser]:
    """Return how the columns of a clip are read in a sheet that lies in `folder`."""
    if "script" not in clip.parsers:
        return clip.parsers
    return {**clip.parsers, "script": lambda value: read_speech(value, folder=folder)}


def is_asked(column: str) -> bool:
    """Say whether a column is part of what is asked of the service."""
    return column in REQUEST_COLUMNS or column.partition(".")[0] in (FIELDS, BODY)


def is_for_clips(column: str) -> bool:
    """Say whether a column belongs to clips alone."""
    return column in ("image", "clip", "photos", "narration") or column.startswith(f"{BODY}.")
