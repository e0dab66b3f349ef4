"""What is said in a video: scenes from a caller's script or from a tool's fields, and the captions
cut from their words, as SRT or WebVTT.

The specification does not show the shape of a script, so any JSON object is taken and read as well
as it can be: `{"scenes": [{"narration" | "text" | "visual": ...}]}`, `{"text": "..."}` with a blank
line between scenes, or whatever words are in it.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from pydantic import BaseModel

NARRATION = ("narration", "text", "voiceover", "dialogue", "line", "content")
#: Members of a scene that hold its words, the most likely one first.
OF_A_SCENE = (*NARRATION, "visual", "visuals", "image", "shot", "description")
CLOSING = "call_to_action"
CAPTION_TYPES = {"srt": "application/x-subrip", "vtt": "text/vtt"}
LINE_LENGTH = 42
LINES_PER_CUE = 2


class Scene(BaseModel):
    """A scene of a render; `number` is what regenerate takes, and `take` counts how often its
    pictures were made again. Times are in seconds."""

    number: int
    narration: str
    start: float
    end: float
    take: int = 0


def scenes_of(
    *,
    script: Mapping[str, object] | str | None,
    tool: str | None = None,
    fields: Mapping[str, object] | None = None,
    title: str | None = None,
    topic: str | None = None,
    duration: int = 1,
) -> list[Scene]:
    """Say what happens in the video and when; the same request always gives the same scenes."""
    if isinstance(script, str):
        script = {"text": script}
    if script:
        said = list(_from_script(script))
    else:
        said = _from_fields(tool or "video", fields or {}, title, topic, duration)
    return _timed(said or [title or topic or "Untitled"], duration)


def _from_script(script: Mapping[str, object]) -> Iterator[str]:
    listed = script.get("scenes")
    if isinstance(listed, list) and listed:
        for scene in listed:
            if isinstance(scene, Mapping):
                yield _first(scene, OF_A_SCENE) or " ".join(_words_in(scene))
            elif str(scene).strip():
                yield str(scene).strip()
        return
    text = _first(script, ("text", *NARRATION)) or "\n\n".join(_words_in(script))
    for part in re.split(r"\n\s*\n", text):
        if part.strip():
            yield " ".join(part.split())


def _from_fields(
    tool: str, fields: Mapping[str, object], title: str | None, topic: str | None, duration: int
) -> list[str]:
    """Write two to four scenes out of what was given alone: it may be in any language."""
    facts = [
        _sentence(", ".join(_words_in(value)))
        for name, value in fields.items()
        if name != CLOSING and any(_words_in(value))
    ]
    subject = title or topic or tool.replace("-", " ").capitalize()
    opening = [_sentence(subject), *([_sentence(topic)] if topic not in (None, subject) else [])]
    closing = [_sentence(", ".join(_words_in(fields.get(CLOSING))) or subject)]
    # A scene needs some three seconds to be read.
    room = max(1, min(2, duration // 4 - 1))
    half = -(-len(facts) // room)
    middle = [facts[at : at + half] for at in range(0, len(facts), half or 1)]
    return [" ".join(words) for words in (opening, *middle, closing)]


def _sentence(text: str) -> str:
    text = text.strip()
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?", "…", "”")) else f"{text}."


def _timed(said: list[str], duration: int) -> list[Scene]:
    """Share the video out by the length of what is said, on whole milliseconds."""
    total, before, start = sum(20 + len(narration) for narration in said), 0, 0.0
    scenes = []
    for number, narration in enumerate(said, 1):
        before += 20 + len(narration)
        end = round(duration * before / total, 3)
        scenes.append(Scene(number=number, narration=narration, start=start, end=end))
        start = end
    return scenes


def _first(of: Mapping[str, object], names: tuple[str, ...]) -> str:
    for name in names:
        value = of.get(name)
        if isinstance(value, str) and value.strip():
            return value.strip()
    return ""


def _words_in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        if value.strip():
            yield value.strip()
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _words_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _words_in(inner)
    elif value is not None:
        yield str(value)


class Cue(NamedTuple):
    start: float
    end: float
    text: str


def caption_file(scenes: Sequence[Scene], form: str) -> str:
    """Write the captions of these scenes in the form `srt` or `vtt`."""
    cues = [cue for scene in scenes for cue in _cues(scene)]
    if form == "vtt":
        blocks = [f"{_clock(c.start, '.')} --> {_clock(c.end, '.')}\n{c.text}\n" for c in cues]
        return "\n".join(["WEBVTT\n", *blocks])
    return "\n".join(
        f"{number}\n{_clock(c.start, ',')} --> {_clock(c.end, ',')}\n{c.text}\n"
        for number, c in enumerate(cues, 1)
    )


def _cues(scene: Scene) -> Iterator[Cue]:
    """Cut one scene into cues of at most two lines, timed by their length."""
    # An arrow would end a WebVTT cue, and its markup begins with < and &.
    said = scene.narration.replace("-->", "→").replace("<", "‹").replace("&", "+")
    lines = textwrap.wrap(said, LINE_LENGTH)
    texts = [
        "\n".join(lines[at : at + LINES_PER_CUE]) for at in range(0, len(lines), LINES_PER_CUE)
    ]
    letters, before, start = sum(map(len, texts)), 0, scene.start
    for text in texts:
        before += len(text)
        end = scene.start + (scene.end - scene.start) * before / letters
        yield Cue(start, end, text)
        start = end


def _clock(seconds: float, mark: str) -> str:
    whole = round(seconds * 1000)
    hours, rest = divmod(whole, 3_600_000)
    minutes, rest = divmod(rest, 60_000)
    return f"{hours:02}:{minutes:02}:{rest // 1000:02}{mark}{rest % 1000:03}"
