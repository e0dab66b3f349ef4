"""What may be written for a value in a YAML or JSON sheet, as JSON Schema.

The twin of `cells`, which reads what stands here: a test holds them to each other. Words of a
closed list are offered as they are and allowed however they are capitalised and joined.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from callsheet.tasks.sheet.cells import CAPTIONS as _CAPTIONS
from callsheet.tasks.sheet.cells import JOINTS as _JOINTS
from callsheet.tasks.sheet.cells import SHAPES, UNITS
from callsheet.tasks.sheet.cells import TRUTH as _TRUTH
from callsheet.tasks.sheet.cells import WHOLE as _WHOLE
from callsheet.tasks.sheet.languages import CODE, LANGUAGES, REGIONS
from callsheet.tasks.sheet.limits import MAX_CELL_CHARACTERS
from callsheet.tasks.sheet.names import CAMPAIGN as _CAMPAIGN
from callsheet.tasks.sheet.names import DEVICES, EXPONENT, LONG_NUMBER, ROW
from callsheet.tasks.sheet.quantities import MINUTES as _MINUTES
from callsheet.tasks.sheet.quantities import SECONDS as _SECONDS
from callsheet.tasks.sheet.text import QUOTES

Form = dict[str, Any]

_JOINT = r"[\s_\-\u2010-\u2015]*"

_DIGITS = 10**15 - 1


def one_of(words: Iterable[str]) -> Form:
    """Return the form of a word of a closed list."""
    words = list(words)
    return {"anyOf": [{"enum": words}, _text(_any(map(_loosely, words)))]}


def ratio_of(words: tuple[str, ...]) -> Form:
    """Return the form of a shape: `9:16`, `9x16`, `portrait`, or as a time of day."""
    ways: list[str] = []
    for word in words:
        width, height = word.split(":")
        wide = rf"{width}\s*(?:[:xX×*/\-]|[bB][yY])\s*{height}"
        named = _any(_loosely(name) for name, ratio in SHAPES.items() if ratio == word)
        ways += [wide, named, rf"{named}[\s(,\-]+{wide}\)?", rf"{wide}[\s(,\-]+{named}\)?"]
        ways.append(rf"0?{width}:{height:0>2}(:00)?(\.0+)?")
    return {"anyOf": [{"enum": list(words)}, _text(_any(ways))]}


def seconds_among(lengths: tuple[int, ...]) -> Form:
    """Return the form of one of some lengths in seconds."""
    some = _any(map(str, lengths))
    clocks = _any(f"{n // 60}:{n % 60:02}" for n in lengths)
    ways = [
        rf"\+?0*{some}(\.0+)?",
        rf"{some}(?:,0{{1,3}})?(?:\s*{_SECOND})?",
        rf"0?{clocks}|00?:0?{clocks}|0?{clocks}:00",
    ]
    if minutes := [str(n // 60) for n in lengths if n % 60 == 0]:
        ways.append(rf"{_any(minutes)}\s*{_MINUTE}")
    return {"anyOf": [{"enum": list(lengths)}, _text(_any(ways))]}


def _text(pattern: str) -> Form:
    around = rf"[\s{re.escape(QUOTES)}]*"
    return {"type": "string", "pattern": rf"^{around}(?:{pattern}){around}$"}


def _any(patterns: Iterable[str]) -> str:
    return f"(?:{'|'.join(patterns)})"


def _loosely(word: str) -> str:
    """Return a pattern for a word in any case, its parts joined by any dash, space or `_`."""
    letters = (
        f"[{c.lower()}{c.upper()}]" if c.isalpha() and len(c.upper()) == 1 else re.escape(c)
        for c in word
    )
    return "".join(_JOINT if letter == re.escape("-") else letter for letter in letters)


def _language() -> str:
    """Return a pattern for a language: its code, or its name with a country before or after it."""
    named, region = (
        _any(r"[\s_,()/\-]+".join(map(_loosely, name.split())) for name in table)
        for table in (LANGUAGES, REGIONS)
    )
    gap = r"[\s_,()/\-]+"
    after = rf"(?:{gap}{region})?[\s)]*"
    return rf"{CODE}|{named}{after}|{region}{gap}{named}"


def _name(pattern: str, *refused: str) -> Form:
    """Return the form of a name that is safe as a file."""
    devices = rf"{_any(map(_loosely, sorted(DEVICES)))}(\..*)?"
    faults = [_text(one) for one in (r".*\.\..*", r".*\.", devices, *refused)]
    return {
        "anyOf": [
            {**_text(pattern), "not": {"anyOf": faults}},
            {"type": "number", "minimum": 0, "maximum": _DIGITS},
        ]
    }


TEXT: Form = {
    "type": ["string", "number", "boolean"],
    "maxLength": MAX_CELL_CHARACTERS,
}
_SECOND, _MINUTE = (rf"{_any(map(_loosely, words))}\.?" for words in (_SECONDS, _MINUTES))
#: Thousands that can be nothing else, and those of a number that must be whole.
_GROUPED = r"[1-9][0-9]{0,2}(?:(?:[\s'’][0-9]{3}){1,4}|(?:,[0-9]{3}){2,4}|(?:\.[0-9]{3}){2,4})"
_THOUSANDS = rf"{_GROUPED}|[1-9][0-9]{{0,2}},(?!000)[0-9]{{3}}|[0-9]{{1,15}},(?:00?|0{{4,9}})"
WHOLE: Form = {
    "anyOf": [
        {"type": "integer", "minimum": -_DIGITS, "maximum": _DIGITS},
        _text(rf"{_WHOLE}|-?(?:{_THOUSANDS})"),
    ]
}
_LENGTHS = (
    r"\+?[0-9]{1,15}(\.0+)?",
    _THOUSANDS,
    rf"[0-9]{{1,6}}(?:[.,]0{{1,3}})?\s*{_SECOND}",
    rf"[0-9]{{1,6}}(?:[.,][0-9]{{1,3}})?\s*{_MINUTE}(?:\s*[0-9]{{1,6}}\s*(?:{_SECOND})?)?",
    r"[0-9]{1,2}:[0-5][0-9]",
    r"[0-9]{1,2}:[0-5][0-9]:(?!00)[0-5][0-9]",
)
SECONDS: Form = {
    "anyOf": [
        {"type": "integer", "minimum": 1, "maximum": _DIGITS},
        _text(rf"(?=[^1-9]*[1-9])(?:{_any(_LENGTHS)})"),
    ]
}
_UNIT = _any(map(_loosely, UNITS))
_DECIMAL = r"(?![1-9][0-9]{0,2}[.,][0-9]{3}(?![0-9]))[0-9]{1,12}(?:[.,][0-9]{1,6}0*)?"
_MANY = (
    r"[1-9][0-9]{0,2}(?:(?:[\s'’][0-9]{3}){1,4}[.,][0-9]{1,6}|(?:,[0-9]{3}){1,4}\.[0-9]{1,6}"
    r"|(?:\.[0-9]{3}){1,4},[0-9]{1,6})"
)
AMOUNT: Form = {
    "anyOf": [
        {"type": "number", "minimum": 0, "maximum": 10**12 - 1},
        _text(rf"(?:{_UNIT}\s*)?(?:{_MANY}|{_GROUPED}|{_DECIMAL})(?:\s*{_UNIT})?"),
    ]
}
LANGUAGE: Form = _text(_language())
TRUTH: Form = {"anyOf": [{"type": "boolean"}, {"enum": [0, 1]}, _text(_any(map(_loosely, _TRUTH)))]}
ROW_ID: Form = _name(ROW, EXPONENT, LONG_NUMBER)
ROW_ID["anyOf"].append({"type": "boolean"})
CAMPAIGN: Form = _name(_CAMPAIGN)
OBJECT: Form = {"anyOf": [{"type": "object"}, _text(r"\{[\s\S]*\}")]}
SCRIPT: Form = {"anyOf": [{"type": "string", "maxLength": MAX_CELL_CHARACTERS}, {"type": "object"}]}
WORDS: Form = {"anyOf": [TEXT, {"type": "array", "items": {"anyOf": [TEXT, {"type": "null"}]}}]}
PLACES: Form = WORDS

_formats = [_loosely(word) for word in _CAPTIONS["both"]]
_joined = rf"{_JOINTS}*{_any(_formats)}(?:{_JOINTS}+{_any(_formats)})*{_JOINTS}*"
CAPTIONS: Form = {
    "anyOf": [
        {"enum": list(_CAPTIONS)},
        _text(_any([*map(_loosely, _CAPTIONS), _joined])),
        *(
            {"type": "array", "minItems": 1, "items": one}
            for one in (_text(_joined), one_of(["both"]), one_of(["none"]))
        ),
    ]
}
