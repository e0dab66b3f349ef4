"""Captions: whether bytes are captions, whether their times fit the video, and WebVTT of SubRip."""

from __future__ import annotations

import re
from itertools import pairwise

from callsheet.tasks.runtime.errors import VideoError
from callsheet.tasks.values.briefs import OK, CaptionFormat

#: Captions may end so much later than the video, in seconds: players stop with the video.
_LATE = 0.5

_HOURS, _TIME = {"srt": r"(\d+):", "vtt": r"(?:(\d+):)?"}, r"(\d\d):(\d\d){mark}(\d{{1,3}})"
_MARK = {"srt": ",", "vtt": r"\."}


def _cue_times(format: CaptionFormat) -> re.Pattern[str]:
    time = _HOURS[format] + _TIME.format(mark=_MARK[format])
    return re.compile(rf"^\s*{time}\s+-->\s+{time}", re.MULTILINE)


_CUES = {"srt": _cue_times("srt"), "vtt": _cue_times("vtt")}


def check_captions(data: bytes, format: CaptionFormat) -> int:
    """Return how many cues `data` holds; raise VideoError when it is not captions in `format`."""
    text = _text(data, format)
    if _is_vtt(text) != (format == "vtt"):
        raise VideoError(f"the {format} captions are in another format")
    cues = _cues(text)
    if not cues:
        raise VideoError(f"the {format} captions hold no cue")
    readable = sum(begin <= end for begin, end in cues)
    if readable != len(cues):
        raise VideoError(
            f"only {readable} of {len(cues)} cues of the {format} captions can be read"
        )
    return readable


def judge_captions(text: str, seconds: float | None) -> str:
    """Judge the times of captions, against a video's length where that is known."""
    cues = _cues(text)
    for number, ((before, _), (after, _)) in enumerate(pairwise(cues), 2):
        if after < before:
            return f"cue {number} of the captions begins before the one above it"
    for number, (begin, end) in enumerate(cues, 1):
        if end < begin:
            return f"cue {number} of the captions ends before it begins"
        if seconds is not None and end > seconds + _LATE:
            ends, video = round(end, 1), round(seconds, 1)
            return f"cue {number} of the captions ends at {ends:g} s, the video at {video:g} s"
    return OK


def as_vtt(srt: bytes) -> bytes:
    """Return SubRip captions as WebVTT, which browsers show; raise VideoError for others."""
    import pysubs2

    try:
        parsed = pysubs2.SSAFile.from_string(_text(srt, "srt"), format_="srt")
    except (pysubs2.exceptions.Pysubs2Error, ValueError):
        raise VideoError("the srt captions cannot be read") from None
    return parsed.to_string("vtt").encode()


def _text(data: bytes, format: str) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise VideoError(f"the {format} captions are not text in UTF-8")
    if not text.strip():
        raise VideoError(f"the {format} captions are empty")
    if text.lstrip()[0] in "<{[":
        raise VideoError(f"a page or a message came instead of {format} captions")
    return text


def _is_vtt(text: str) -> bool:
    return re.match(r"\ufeff?WEBVTT(?:[ \t\r\n]|$)", text) is not None


def _cues(text: str) -> list[tuple[float, float]]:
    """Return the begin and end of each cue in seconds."""
    found = _CUES["vtt" if _is_vtt(text) else "srt"].findall(text)
    return [(_seconds(*cue[:4]), _seconds(*cue[4:])) for cue in found]


def _seconds(hours: str, minutes: str, seconds: str, rest: str) -> float:
    return int(hours or 0) * 3600 + int(minutes) * 60 + int(seconds) + float(f"0.{rest}")
