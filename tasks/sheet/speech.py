"""How long a script takes to speak, as a range of seconds for its language."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from callsheet.tasks.values.briefs import Json

#: Words a second that narrators speak, slowly and fast, by language.
WORDS: Mapping[str, tuple[float, float]] = {
    "ar": (1.8, 2.7), "de": (1.9, 3.1), "en": (2.2, 3.3), "es": (2.4, 3.6), "fr": (2.3, 3.5),
    "hi": (2.2, 3.3), "id": (1.9, 2.9), "it": (2.2, 3.4), "nl": (2.1, 3.1), "pl": (1.8, 2.7),
    "pt": (2.2, 3.4), "ru": (1.7, 2.6), "sv": (2.1, 3.1), "tr": (1.6, 2.4),
}  # fmt: skip
#: Characters a second, for languages that are written without spaces or by syllables.
CHARACTERS: Mapping[str, tuple[float, float]] = {
    "ja": (5.0, 8.0), "ko": (4.0, 6.5), "th": (9.0, 14.0), "zh": (3.5, 5.5), "yue": (3.5, 5.5),
}  # fmt: skip
#: Words a second where the language is another one, or is not said.
ANY = (1.6, 3.6)
#: What is shown or heard, and not spoken: `[Music]`.
_DIRECTION = re.compile(r"\[[^\]\n]*\]")
_WORD = re.compile(r"\w+(?:[.,'’\-]\w+)*")


class Speech(NamedTuple):
    """How much text there is to speak, in words for people, and the seconds that it takes."""

    amount: str
    fast: int
    slow: int


def speech_of(request: Mapping[str, Json]) -> Speech | None:
    """Return what a request has to speak; None if it has no text."""
    text = _DIRECTION.sub(" ", "\n".join(spoken_texts(request)))
    language = str(request.get("language") or "").partition("-")[0].casefold()
    if language in CHARACTERS:
        number, unit = sum(map(str.isalnum, text)), "characters"
        slow, fast = CHARACTERS[language]
    else:
        number, unit = len(_WORD.findall(text)), "words"
        slow, fast = WORDS.get(language, ANY)
    if not number:
        return None
    return Speech(f"{number:,} {unit}", math.ceil(number / fast), math.ceil(number / slow))


def too_long(request: Mapping[str, Json]) -> str | None:
    """Return advice for a script that no one can speak in the length that the row asks for."""
    length = request.get("duration_seconds")
    speech = speech_of(request) if isinstance(length, int) else None
    if speech is None or not isinstance(length, int) or speech.fast <= length:
        return None
    told = request.get("language")
    spoken = f" in {told}" if told else ""
    return (
        f"has {speech.amount}, which take {speech.fast} to {speech.slow} seconds to speak{spoken}; "
        f"the row asks for {length}: shorten it, or ask for a longer video"
    )


def spoken_texts(request: Mapping[str, Json]) -> Iterator[str]:
    """Yield the texts that a request has spoken, scene by scene."""
    script = request.get("script", request.get("narration"))
    scenes = script.get("scenes") if isinstance(script, Mapping) else [{"narration": script}]
    for scene in scenes if isinstance(scenes, list) else ():
        said = scene.get("narration") if isinstance(scene, Mapping) else scene
        if isinstance(said, str):
            yield said
