"""Numbers and lengths of time as people write them: every way in which a text can be read.

`1,200` is 1200 to some and 1.2 to others. Whoever asks knows what can be meant, and refuses what
stays open.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal

#: Between the thousands: a blank, an apostrophe, a comma or a dot.
_MARKS = " '’.,"
_SIMPLE = re.compile(r"[0-9]{1,15}(?:[.,][0-9]{1,9})?")
_GROUPED = re.compile(
    rf"[1-9][0-9]{{0,2}}(?P<mark>[{_MARKS}])[0-9]{{3}}(?:(?P=mark)[0-9]{{3}}){{0,3}}"
    r"(?:(?P<point>[.,])(?P<rest>[0-9]{1,6}))?"
)
_PART = r"[0-9]{1,6}(?:[.,][0-9]{1,3})?"
MINUTES = ("minutes", "minuten", "minutos", "minute", "minuto", "mins", "min", "m")
SECONDS = ("seconds", "secondes", "sekunden", "segundos", "second", "seconde", "sekunde", "segundo",
           "secs", "sec", "sek", "s")  # fmt: skip
_MINUTES, _SECONDS = rf"(?:{'|'.join(MINUTES)})\.?", rf"(?:{'|'.join(SECONDS)})\.?"
_SPELLED = re.compile(
    rf"(?:(?P<minutes>{_PART})\s*{_MINUTES}(?:\s*(?P<rest>{_PART})\s*(?:{_SECONDS})?)?"
    rf"|(?P<seconds>{_PART})\s*{_SECONDS})"
)
_CLOCK = re.compile(r"([0-9]{1,2}):([0-5][0-9])(?::([0-5][0-9]))?(?:\.0+)?")


def numbers(text: str) -> list[Decimal]:
    """Return every number that a text can mean: one, two, or none."""
    found = [Decimal(text.replace(",", "."))] if _SIMPLE.fullmatch(text) else []
    grouped = _GROUPED.fullmatch(text)
    if grouped and grouped["point"] != grouped["mark"]:
        whole = text[: grouped.start("point")] if grouped["point"] else text
        digits = "".join(sign for sign in whole if sign not in _MARKS)
        found.append(Decimal(f"{digits}.{grouped['rest'] or 0}"))
    return list(dict.fromkeys(found))


def lengths(text: str) -> list[Decimal]:
    """Return every length in seconds that a text can mean: `6`, `6 s`, `1m30s`, `1:30`."""
    if spelled := _SPELLED.fullmatch(text):
        minutes, rest, seconds = (
            Decimal((spelled[name] or "0").replace(",", "."))
            for name in ("minutes", "rest", "seconds")
        )
        return [60 * minutes + rest + seconds]
    if clock := _CLOCK.fullmatch(text):
        first, second = int(clock[1]), int(clock[2])
        if clock[3] is None:
            return [Decimal(60 * first + second)]
        if clock[3] == "00":
            # A spreadsheet makes hours and minutes of `1:30`, and saves 1:30:00.
            return [Decimal(3600 * first + 60 * second), Decimal(60 * first + second)]
        return [Decimal(3600 * first + 60 * second + int(clock[3]))]
    return numbers(text)


def settled(text: str, found: list[Decimal], fits: Callable[[Decimal], bool]) -> Decimal | None:
    """Return the one number of those found that fits, None where none does.

    Raises ValueError where several do. A dot is the point of a decimal number elsewhere in the
    same column, so no whole number is made of `1.200` because it could be one.
    """
    fitting = [number for number in found if fits(number)]
    if len(fitting) > 1 or (fitting and len(found) > 1 and "." in text and ":" not in text):
        ways = sorted(found, reverse=True)
        told = f"is {say(ways[0])} to some and {say(ways[1])} to others"
        raise ValueError(f"{told}: write {' or '.join(map(unmistakable, filter(fits, ways)))}")
    return fitting[0] if fitting else None


def say(number: Decimal) -> str:
    """Return a number in digits: `1200`, `1.2`."""
    return f"{number.normalize():f}"


def unmistakable(number: Decimal) -> str:
    """Return a number as nobody reads it otherwise: 1.125 with a fourth decimal."""
    said = say(number)
    return f"{said}0" if len(said.partition(".")[2]) == 3 else said
