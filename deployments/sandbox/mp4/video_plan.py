"""The order for one video, and the script it is made from."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

SIZES = {"9:16": (360, 640), "1:1": (480, 480), "16:9": (640, 360)}


class Part(BaseModel):
    """What a plan is made of: kept and copied, never changed."""

    model_config = ConfigDict(frozen=True)


class Captions(Part):
    """How the words are shown: `position` is `top` or `bottom`, `color` is `#rrggbb`."""

    enabled: bool = True
    bold: bool = False
    position: str = "bottom"
    color: str = "#ffffff"


class ClipSource(Part):
    """What a helper operation was given: its name, a line about it, and maybe a picture's file."""

    operation: str
    source: str
    picture: str | None = None

    @property
    def is_ground(self) -> bool:
        """Say whether the picture fills the video; in any other clip it is a face."""
        return self.operation == "image-to-video" and self.picture is not None


class SceneShown(Part):
    """A scene of the latest render; `number` is what regenerate takes. Times are in seconds."""

    number: int
    narration: str
    visual: str
    start: float
    end: float


class Scene(SceneShown):
    """One scene of a plan. `take` counts how often its pictures were made again."""

    take: int = 0


class VideoPlan(Part):
    """One video. `render` counts the renders of this video; `duration` is in seconds."""

    id: str
    seed: int
    title: str
    topic: str
    language: str
    aspect_ratio: str
    duration: int
    scenes: list[Scene]
    render: int = 1
    voice: str | None = None
    captions: Captions = Captions()
    clip: ClipSource | None = None

    @property
    def size(self) -> tuple[int, int]:
        return SIZES[self.aspect_ratio]

    @property
    def frames_per_second(self) -> int:
        """Move smoothly in a short video; a long one is made to be finished."""
        return 20 if self.duration <= 60 else 12

    @property
    def spoken(self) -> bool:
        """Say whether there are any words in it, and so a voice and captions."""
        return any(scene.narration for scene in self.scenes)

    def but(self, **members: object) -> VideoPlan:
        """Give the same plan with other members."""
        return self.model_copy(update=members)


# Owns what is said in a video: scenes from a caller's script or from a tool's fields, and the
# captions cut from their words, as SRT or WebVTT.
#
# The specification does not show the shape of a script, so any JSON object is taken and read as
# well as it can be: `{"scenes": [{"narration" | "text" | "visual": ...}]}`, `{"text": "..."}` with
# a blank line between scenes, or whatever words are in it.


NARRATION = ("narration", "text", "voiceover", "dialogue", "line", "content")
VISUAL = ("visual", "visuals", "image", "shot", "description")

CLOSING = "call_to_action"
CAPTION_TYPES = {"srt": "application/x-subrip", "vtt": "text/vtt"}
LINE_LENGTH = 42
LINES_PER_CUE = 2


def scenes_of(
    *,
    script: Mapping[str, object] | None,
    tool: str | None,
    fields: Mapping[str, object] | None,
    title: str | None,
    topic: str | None,
    duration: int,
) -> list[Scene]:
    """Say what happens in the video and when; the same request always gives the same scenes."""
    if script:
        said = list(_from_script(script))
    else:
        said = _from_fields(tool or "video", fields or {}, title, topic, duration)
    return _timed(said or [(title or topic or "Untitled", "")], duration)


def _from_script(script: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    listed = script.get("scenes")
    if isinstance(listed, list) and listed:
        for scene in listed:
            if isinstance(scene, Mapping):
                visual = _first(scene, VISUAL)
                narration = _first(scene, NARRATION) or visual or " ".join(_words_in(scene))
                yield narration, "" if narration == visual else visual
            elif str(scene).strip():
                yield str(scene).strip(), ""
        return
    text = _first(script, ("text", *NARRATION)) or "\n\n".join(_words_in(script))
    for part in re.split(r"\n\s*\n", text):
        if part.strip():
            yield " ".join(part.split()), ""


def _from_fields(
    tool: str, fields: Mapping[str, object], title: str | None, topic: str | None, duration: int
) -> list[tuple[str, str]]:
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
    return [(" ".join(words), "") for words in (opening, *middle, closing)]


def _sentence(text: str) -> str:
    text = text.strip()
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?", "…", "”")) else f"{text}."


def _timed(said: list[tuple[str, str]], duration: int) -> list[Scene]:
    """Share the video out by the length of what is said, on whole milliseconds."""
    weights = [20 + len(narration) for narration, _ in said]
    total, before, start = sum(weights), 0, 0.0
    scenes = []
    for number, ((narration, visual), weight) in enumerate(zip(said, weights, strict=True), 1):
        before += weight
        end = round(duration * before / total, 3)
        scenes.append(
            Scene(number=number, narration=narration, visual=visual, start=start, end=end)
        )
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
