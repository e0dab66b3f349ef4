"""Owns caption files: cues cut from the scenes' words, written as SRT or WebVTT."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from deployments.sandbox.script import Scene

MEDIA_TYPES = {"srt": "application/x-subrip", "vtt": "text/vtt"}
LINE_LENGTH = 42
LINES_PER_CUE = 2


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
