"""Whether some bytes are captions in the format that was asked for."""

from __future__ import annotations

import re

from callsheet.tasks.brief import CaptionFormat
from callsheet.tasks.errors import VideoError

_TIMES = {
    "srt": re.compile(r"^\s*\d+:\d\d:\d\d,\d{1,3}\s+-->\s+\d+:\d\d:\d\d,\d{1,3}", re.M),
    "vtt": re.compile(r"^\s*(?:\d+:)?\d\d:\d\d\.\d{3}\s+-->\s+(?:\d+:)?\d\d:\d\d\.\d{3}", re.M),
}


#: Cues as nearly everybody writes them: all of a file of these can be read without the parser.
_LINES = r"((?:[^\n]*\S[^\n]*\n)+)\n*"
_VTT_TIME = r"(?:\d\d:)?\d\d:\d\d\.\d{3}"
_PLAIN = {
    "srt": re.compile(r"\d+\n(\d\d:\d\d:\d\d,\d{3}) --> (\d\d:\d\d:\d\d,\d{3})\n" + _LINES),
    "vtt": re.compile(rf"(?:\d+\n)?({_VTT_TIME}) --> ({_VTT_TIME})\n" + _LINES),
}
_HEAD = {"srt": "", "vtt": "WEBVTT\n\n"}


def check_captions(data: bytes, format: CaptionFormat) -> int:
    """Return how many cues `data` holds; raise VideoError when it is not captions in `format`."""
    text = _text(data, format)
    if _is_vtt(text) != (format == "vtt"):
        raise VideoError(f"the {format} captions are in another format")
    # The parser drops what it does not understand; counting the times finds what it dropped.
    announced = len(_TIMES[format].findall(text))
    cues = _plain_cues(text, format) if announced else 0
    if cues is None:
        cues = _cues(text, format)
    if not cues:
        raise VideoError(f"the {format} captions hold no cue")
    if cues != announced:
        raise VideoError(f"only {cues} of {announced} cues of the {format} captions can be read")
    return cues


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
    return re.match(r"WEBVTT(?:[ \t\r\n]|$)", text) is not None


def _plain_cues(text: str, format: str) -> int | None:
    """Return how many cues a file holds that has nothing but plain ones; None for any other.

    The parser takes its time, and the event loop's.
    """
    text = text.replace("\r\n", "\n").rstrip() + "\n"
    if not text.startswith(_HEAD[format]):
        return None
    cues, at = 0, len(_HEAD[format])
    while at < len(text):
        cue = _PLAIN[format].match(text, at)
        if cue is None or "-->" in cue[3] or len(cue[1]) != len(cue[2]):
            return None
        cues += cue[2] >= cue[1]
        at = cue.end()
    return cues


def _cues(text: str, format: str) -> int:
    import pysubs2

    try:
        parsed = pysubs2.SSAFile.from_string(text, format_=format)
    except (pysubs2.exceptions.Pysubs2Error, ValueError):
        return 0
    return sum(1 for cue in parsed if cue.end >= cue.start)


def as_vtt(srt: bytes) -> bytes:
    """Return SubRip captions as WebVTT, which browsers show; raise VideoError for others."""
    import pysubs2

    try:
        parsed = pysubs2.SSAFile.from_string(_text(srt, "srt"), format_="srt")
    except (pysubs2.exceptions.Pysubs2Error, ValueError):
        raise VideoError("the srt captions cannot be read") from None
    return parsed.to_string("vtt").encode()
