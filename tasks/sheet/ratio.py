"""The shape of a film, also where a spreadsheet made a time of day of `9:16`."""

from __future__ import annotations

import re
from dataclasses import dataclass

RATIOS = ("9:16", "1:1", "16:9")
_SHAPES = {"portrait": "9:16", "vertical": "9:16", "square": "1:1", "landscape": "16:9"}
_RATIO = re.compile(r"(\d{1,2})\s*[:x×/]\s*(\d{1,2})")
_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::00)?(?:\.0+)?\s*([ap]m)?")
_DAY_FRACTION = re.compile(r"0\.\d{3,}")
_TIME = "is a time of day that a spreadsheet made of it"


@dataclass(frozen=True)
class Recovered:
    """A value that a spreadsheet had disguised, and what it was taken for."""

    value: str
    how: str


def read_ratio(said: str) -> str | Recovered:
    """Return the ratio in a case-folded text; raise ValueError when there is none."""
    if said in _SHAPES:
        return _SHAPES[said]
    if (simple := _RATIO.fullmatch(said)) and not said.startswith("0"):
        ratio = _known(int(simple[1]), int(simple[2]))
    else:
        ratio = _from_time(said)
        if ratio:
            return Recovered(ratio, _TIME)
    if ratio is None:
        raise ValueError(f"is not one of {', '.join(RATIOS)}")
    return ratio


def _from_time(said: str) -> str | None:
    if clock := _CLOCK.fullmatch(said):
        afternoon = clock[3] == "pm" and int(clock[1]) < 12
        return _known(int(clock[1]) + 12 * afternoon, int(clock[2]))
    if _DAY_FRACTION.fullmatch(said):
        return _known(*divmod(round(float(said) * 24 * 60), 60))
    return None


def _known(width: int, height: int) -> str | None:
    ratio = f"{width}:{height}"
    return ratio if ratio in RATIOS else None
