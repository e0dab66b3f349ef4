"""What may be written for a value in a YAML or JSON sheet, as JSON Schema.

The twin of `cells`, which reads what stands here: a test holds them to each other. Words of a
closed list are offered as they are and allowed however they are capitalised and joined.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tasks.sheet.cells import AMOUNT as _AMOUNT
from tasks.sheet.cells import CAPTIONS as _CAPTIONS
from tasks.sheet.cells import SHAPES
from tasks.sheet.cells import TRUTH as _TRUTH
from tasks.sheet.cells import WHOLE as _WHOLE
from tasks.sheet.limits import MAX_CELL_CHARACTERS
from tasks.sheet.names import CAMPAIGN as _CAMPAIGN
from tasks.sheet.names import DEVICES, EXPONENT, LONG_NUMBER, ROW

Form = dict[str, Any]

_DIGITS = 10**15 - 1


def one_of(words: Iterable[str]) -> Form:
    """Return the form of a word of a closed list."""
    words = list(words)
    return {"anyOf": [{"enum": words}, _text(_any(map(_loosely, words)))]}


def ratio_of(words: tuple[str, ...]) -> Form:
    """Return the form of a shape: `9:16`, `9x16`, `portrait`, or as a time of day."""
    pairs = [word.split(":") for word in words]
    wide = [rf"{width}\s*[:xX×/]\s*{height}" for width, height in pairs]
    clocks = [rf"0?{width}:{height:0>2}(:00)?(\.0+)?" for width, height in pairs]
    shapes = [_loosely(name) for name, ratio in SHAPES.items() if ratio in words]
    return {"anyOf": [{"enum": list(words)}, _text(_any([*shapes, *wide, *clocks]))]}


def seconds_among(lengths: tuple[int, ...]) -> Form:
    """Return the form of one of some lengths in seconds."""
    said = rf"\+?0*{_any(map(str, lengths))}(\.0+)?"
    return {"anyOf": [{"enum": list(lengths)}, _text(said)]}


def _text(pattern: str) -> Form:
    return {"type": "string", "pattern": rf"^\s*(?:{pattern})\s*$"}


def _any(patterns: Iterable[str]) -> str:
    return f"(?:{'|'.join(patterns)})"


def _loosely(word: str) -> str:
    """Return a pattern for a word in any case, its parts joined by any dash, space or `_`."""
    letters = (f"[{c}{c.upper()}]" if c.isalpha() else c for c in word)
    return "".join(r"[\s_\-]+" if letter == "-" else letter for letter in letters)


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
WHOLE: Form = {
    "anyOf": [{"type": "integer", "minimum": -_DIGITS, "maximum": _DIGITS}, _text(_WHOLE)]
}
SECONDS: Form = {
    "anyOf": [
        {"type": "integer", "minimum": 1, "maximum": _DIGITS},
        _text(r"\+?(?=0*[1-9])[0-9]{1,15}(\.0+)?"),
    ]
}
AMOUNT: Form = {"anyOf": [{"type": "number", "minimum": 0, "maximum": 10**12 - 1}, _text(_AMOUNT)]}
TRUTH: Form = {"anyOf": [{"type": "boolean"}, {"enum": [0, 1]}, _text(_any(map(_loosely, _TRUTH)))]}
ROW_ID: Form = _name(ROW, EXPONENT, LONG_NUMBER)
ROW_ID["anyOf"].append({"type": "boolean"})
CAMPAIGN: Form = _name(_CAMPAIGN)
OBJECT: Form = {"anyOf": [{"type": "object"}, _text(r"\{[\s\S]*\}")]}
SCRIPT: Form = {"anyOf": [{"type": "string", "maxLength": MAX_CELL_CHARACTERS}, {"type": "object"}]}
WORDS: Form = {"anyOf": [TEXT, {"type": "array", "items": {"anyOf": [TEXT, {"type": "null"}]}}]}
PLACES: Form = WORDS

_formats = [_loosely(word) for word in _CAPTIONS["both"]]
_joined = rf"[\s,+]*{_any(_formats)}(?:[\s,+]+{_any(_formats)})*[\s,+]*"
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
