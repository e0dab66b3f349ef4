"""Durations as people write them: `45s`, `10m`, `2h`, `1h30m`, `1d`."""

from __future__ import annotations

import re

from callsheet.tasks.errors import BadInput, shorten

#: Ten years, in seconds: beyond it dates run out.
LONGEST = 3650 * 86400.0

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?[smhd])+")
_PART = re.compile(r"(\d+(?:\.\d+)?)([smhd])")


def parse_duration(text: str) -> float:
    """Return seconds; raise BadInput for anything but `45s`, `10m`, `2h`, `1h30m`."""
    if not _DURATION.fullmatch(text.strip().lower()):
        raise BadInput(f'"{text}" is not a duration; write it like 45s, 10m or 2h')
    seconds = sum(float(n) * _SECONDS[unit] for n, unit in _PART.findall(text.strip().lower()))
    if seconds > LONGEST:
        raise BadInput(f'"{shorten(text)}" is too long a duration; 3650d is the limit')
    return seconds


def say_duration(seconds: float) -> str:
    """Return seconds in at most two units: `8s`, `3m 10s`, `2h 5m`."""
    whole = max(0, round(seconds))
    days, rest = divmod(whole, 86400)
    hours, rest = divmod(rest, 3600)
    minutes, secs = divmod(rest, 60)
    parts = [(days, "d"), (hours, "h"), (minutes, "m"), (secs, "s")]
    said = [f"{n}{unit}" for n, unit in parts if n][:2]
    return " ".join(said) or "0s"
