"""Cells to values: every parser returns the value or raises ValueError with what is wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal

from tasks.brief import CaptionFormat, Json
from tasks.credits import parse_credits
from tasks.sheet.ratio import Recovered, read_ratio
from tasks.sheet.text import as_text, plain, tidy

MODES = ("talking-head", "cinematic", "hybrid", "stock-narrated", "smart-mix")
STYLES = ("talking-head", "cinematic")
_CAPTIONS: Mapping[str, tuple[CaptionFormat, ...]] = {
    "srt": ("srt",),
    "vtt": ("vtt",),
    "both": ("srt", "vtt"),
    "none": (),
}
_JOINTS = re.compile(r"[\s,+]+")
_TRUTH = {"true": True, "yes": True, "y": True, "1": True} | {
    "false": False,
    "no": False,
    "n": False,
    "0": False,
}
_WHOLE = re.compile(r"([+-]?[0-9]{1,15})(?:\.0+)?")
_AMOUNT = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,6}0*)?")


def text(value: Json) -> str:
    """Return one text; YAML and JSON may hold a list or an object where none belongs."""
    if isinstance(value, Mapping | list | tuple):
        kind = "an object" if isinstance(value, Mapping) else "a list"
        raise ValueError(f"is {kind} where one value belongs")
    return tidy(as_text(value))


def words(value: Json) -> tuple[str, ...]:
    """Return the different texts of a list or of a comma separated cell, in order."""
    parts = [text(one) for one in value] if isinstance(value, list) else text(value).split(",")
    return tuple(dict.fromkeys(part.strip() for part in parts if part.strip()))


def aspect_ratio(value: Json) -> str | Recovered:
    """Return `9:16`, `1:1` or `16:9`, also from `9x16`, `portrait` and a time of day."""
    return read_ratio(plain(text(value)).casefold())


def one_of(allowed: tuple[str, ...]) -> Callable[[Json], str]:
    """Return a parser for a word of a closed list, however it is capitalised or joined."""

    def parse(value: Json) -> str:
        said = re.sub(r"[\s_\-\u2010-\u2015]+", "-", plain(text(value)).casefold())
        if said not in allowed:
            raise ValueError(f"is not one of {', '.join(allowed)}")
        return said

    return parse


def whole(value: Json) -> int:
    """Return a whole number; `8.0` is what spreadsheets make of 8."""
    found = _WHOLE.fullmatch(plain(text(value)))
    if not found:
        raise ValueError("is not a whole number; write it in digits alone, like 12")
    return int(found[1])


def seconds(value: Json) -> int:
    """Return a whole number of seconds above 0."""
    found = _WHOLE.fullmatch(plain(text(value)))
    if not found or int(found[1]) <= 0:
        raise ValueError("is not a whole number of seconds above 0, like 12")
    return int(found[1])


def within(first: int, last: int) -> Callable[[Json], int]:
    """Return a parser for a whole number of seconds in a range, both ends included."""

    def parse(value: Json) -> int:
        said = seconds(value)
        if not first <= said <= last:
            raise ValueError(f"is not from {first} to {last} seconds")
        return said

    return parse


def either(*allowed: int) -> Callable[[Json], int]:
    """Return a parser for one of a few lengths in seconds."""

    def parse(value: Json) -> int:
        said = seconds(value)
        if said not in allowed:
            raise ValueError(f"is not {' or '.join(str(one) for one in allowed)} seconds")
        return said

    return parse


def places(value: Json) -> list[str]:
    """Return the different addresses of a list or of a cell, each on a line or after a space."""
    parts = [text(one) for one in value] if isinstance(value, list) else text(value).split()
    found = [part.strip().rstrip(",;") for part in parts]
    return list(dict.fromkeys(part for part in found if part))


def amount(value: Json) -> Decimal:
    """Return an amount of credits; `1,200` may mean two numbers and is refused."""
    said = plain(text(value))
    parsed = parse_credits(said) if _AMOUNT.fullmatch(said) else None
    if parsed is None:
        raise ValueError("is not an amount of credits; write it like 1200 or 12.5")
    return parsed


def truth(value: Json) -> bool:
    """Return a truth value written as people and spreadsheets write it."""
    said = plain(text(value)).casefold()
    if said not in _TRUTH:
        raise ValueError("is neither true nor false; write true, false, yes, no, y, n, 1 or 0")
    return _TRUTH[said]


def captions(value: Json) -> tuple[CaptionFormat, ...]:
    """Return the caption formats wanted, always in the same order: `srt, vtt`, `vtt+srt`."""
    said = {one for word in words(value) for one in _JOINTS.split(plain(word).casefold()) if one}
    if not said or not said <= set(_CAPTIONS) or (len(said) > 1 and said & {"none", "both"}):
        raise ValueError("is not one of srt, vtt, both, none")
    wanted = {one for word in said for one in _CAPTIONS[word]}
    return tuple(one for one in _CAPTIONS["both"] if one in wanted)


#: How each column of the request is read, besides `script` and `fields`.
REQUEST_PARSERS: Mapping[str, Callable[[Json], Json]] = {
    "tool": text,
    "duration_seconds": seconds,
    "title": text,
    "topic": text,
    "mode": one_of(MODES),
    "style": one_of(STYLES),
    "character_id": whole,
    "voice_id": text,
    "music_id": text,
    "caption_style": text,
    "aspect_ratio": aspect_ratio,
    "language": text,
    "video_model": text,
}
