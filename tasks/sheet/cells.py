"""Cells to values: every parser returns the value or raises ValueError with what is wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from decimal import Decimal

from tasks.brief import CaptionFormat, Json
from tasks.credits import parse_credits
from tasks.sheet.names import row_id_fault
from tasks.sheet.text import as_text, is_blank, plain, tidy
from tasks.sheet.trees import parse_json

CAPTIONS: Mapping[str, tuple[CaptionFormat, ...]] = {
    "srt": ("srt",),
    "vtt": ("vtt",),
    "both": ("srt", "vtt"),
    "none": (),
}
TRUTH = dict.fromkeys(("true", "yes", "y", "1"), True) | dict.fromkeys(
    ("false", "no", "n", "0"), False
)
WHOLE = r"([+-]?[0-9]{1,15})(?:\.0+)?"
AMOUNT = r"[0-9]{1,12}(?:\.[0-9]{1,6}0*)?"
SHAPES = {"portrait": "9:16", "vertical": "9:16", "square": "1:1", "landscape": "16:9"}
_WHOLE = re.compile(WHOLE)
_AMOUNT = re.compile(AMOUNT)
_JOINTS = re.compile(r"[\s,+]+")
_RATIO = re.compile(r"(\d{1,2})\s*[:x×/]\s*(\d{1,2})")
_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::00)?(?:\.0+)?\s*([ap]m)?")
_DAY_FRACTION = re.compile(r"0\.\d{3,}")


def text(value: Json) -> str:
    """Return one text; YAML and JSON may hold a list or an object where none belongs."""
    if isinstance(value, Mapping | list | tuple):
        kind = "an object" if isinstance(value, Mapping) else "a list"
        raise ValueError(f"is {kind} where one value belongs")
    return tidy(as_text(value))


def words(value: Json) -> tuple[str, ...]:
    """Return the different texts of a list or of a comma separated cell, in order."""
    parts = _texts(value) if isinstance(value, list) else text(value).split(",")
    return tuple(dict.fromkeys(part.strip() for part in parts if part.strip()))


def row_id(value: Json) -> str:
    """Return the id of a row."""
    said = text(value)
    if fault := row_id_fault(said):
        raise ValueError(fault)
    return said


def ratio_of(allowed: tuple[str, ...]) -> Callable[[Json], str]:
    """Return a parser for a shape: `9:16`, also from `9x16`, `portrait` and a time of day."""

    def parse(value: Json) -> str:
        if value in allowed:
            return str(value)
        said = plain(text(value)).casefold()
        ratio = SHAPES.get(said) or _written_ratio(said) or _ratio_of_time(said)
        if ratio not in allowed:
            raise ValueError(f"is not one of {', '.join(allowed)}")
        return str(ratio)

    return parse


def is_time_of_day(value: Json) -> bool:
    """Say whether a shape is what a spreadsheet had made a time of day of."""
    said = plain(text(value)).casefold()
    return said not in SHAPES and not _written_ratio(said)


def _written_ratio(said: str) -> str | None:
    simple = None if said.startswith("0") else _RATIO.fullmatch(said)
    return f"{int(simple[1])}:{int(simple[2])}" if simple else None


def _ratio_of_time(said: str) -> str | None:
    if clock := _CLOCK.fullmatch(said):
        afternoon = clock[3] == "pm" and int(clock[1]) < 12
        return f"{int(clock[1]) + 12 * afternoon}:{int(clock[2])}"
    if _DAY_FRACTION.fullmatch(said):
        hours, minutes = divmod(round(float(said) * 24 * 60), 60)
        return f"{hours}:{minutes}"
    return None


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


def seconds_among(allowed: Collection[int], words: str) -> Callable[[Json], int]:
    """Return a parser for one of some lengths in seconds, which are called `words`."""

    def parse(value: Json) -> int:
        said = seconds(value)
        if said not in allowed:
            raise ValueError(f"is not {words} seconds")
        return said

    return parse


def places(value: Json) -> list[str]:
    """Return the different addresses of a list or of a cell, each on a line or after a space."""
    parts = _texts(value) if isinstance(value, list) else text(value).split()
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
    if said not in TRUTH:
        raise ValueError("is neither true nor false; write true, false, yes, no, y, n, 1 or 0")
    return TRUTH[said]


def captions(value: Json) -> tuple[CaptionFormat, ...]:
    """Return the caption formats wanted, always in the same order: `srt, vtt`, `vtt+srt`."""
    said = {one for word in words(value) for one in _JOINTS.split(plain(word).casefold()) if one}
    if not said or not said <= set(CAPTIONS) or (len(said) > 1 and said & {"none", "both"}):
        raise ValueError("is not one of srt, vtt, both, none")
    wanted = {one for word in said for one in CAPTIONS[word]}
    return tuple(one for one in CAPTIONS["both"] if one in wanted)


def member(value: Json) -> Json:
    """Return a member of a body: JSON where it is JSON (`5`, `true`, `["a"]`), else the text."""
    if not isinstance(value, str):
        return value
    try:
        return parse_json(value)
    except ValueError:
        return value


def _texts(values: list[Json]) -> list[str]:
    return [text(one) for one in values if not is_blank(one)]
