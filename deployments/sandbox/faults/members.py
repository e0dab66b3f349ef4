"""Owns what each member of an entry must be: in words, and as a function that reads it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

SPAN = re.compile(r"([0-9]{1,9})-([0-9]{1,9})", re.ASCII)


def read_member(name: str, value: object) -> Any:
    """Read the value of a member; raises ValueError when it is not what it must be."""
    return CHECKS[name][1](value)


def wanted(name: str) -> str:
    """Say in words what a member must be."""
    return CHECKS[name][0]


def _spans(value: object) -> tuple[tuple[int, int], ...]:
    parts = value if isinstance(value, list) and value else [value]
    return tuple(_span(part) for part in parts)


def _span(value: object) -> tuple[int, int]:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return value, value
    found = SPAN.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise ValueError(value)
    first, last = int(found[1]), int(found[2])
    if not 1 <= first <= last:
        raise ValueError(value)
    return first, last


def _number(least: float = -math.inf, most: float = math.inf) -> Callable[[object], float]:
    def read(value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(value)
        if not (math.isfinite(value) and least <= value <= most):
            raise ValueError(value)
        return value

    return read


def _whole(least: int, most: int = 10**9) -> Callable[[object], int]:
    def read(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ValueError(value)
        return value

    return read


def _among(*choices: object) -> Callable[[object], Any]:
    def read(value: object) -> Any:
        if not any(value is choice or value == choice for choice in choices):
            raise ValueError(value)
        return value

    return read


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(value)
    return value


def _header(value: object) -> str:
    text = _text(value) if isinstance(value, str) else str(_number()(value))
    if not (text.isascii() and text.isprintable()):
        raise ValueError(value)
    return text


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError(value)
    return value


def _members(value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise ValueError(value)
    return value


def _names(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ValueError(value)
    return tuple(_text(name) for name in value)


#: In words, and the function that reads it or raises ValueError.
CHECKS: Mapping[str, tuple[str, Callable[[object], Any]]] = {
    "nth": ('a number from 1, a span such as "3-5", or a list of them', _spans),
    "every": ("a whole number from 1", _whole(1)),
    "chance": ("a number from 0 to 1", _number(0, 1)),
    "seed": ("a whole number from 0", _whole(0)),
    "per": ('"video"', _among("video")),
    "seconds": ("a number of seconds from 0", _number(0)),
    "status": ("a status from 200 to 599", _whole(200, 599)),
    "code": ("a word", _text),
    "message": ("a sentence", _text),
    "retryable": ("true or false", _truth),
    "html": ("true or false", _truth),
    "retry_after": ("seconds, or the text of the header as it is to be sent", _header),
    "retry_after_date": ("seconds from now, sent as a date", _number()),
    "clock_skew": ("seconds that the service's clock is ahead", _number()),
    "close": ("true or false", _truth),
    "framing": ("length, chunked or close", _among("length", "chunked", "close")),
    "bytes": ("a whole number from 1", _whole(1)),
    "location": ("an address", _header),
    "set": ("members and their values", _members),
    "remove": ("a list of names of members", _names),
}
