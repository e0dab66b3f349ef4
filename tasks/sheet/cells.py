"""Parses cells: each parser returns a value, or raises ValueError with what is wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from decimal import Decimal
from math import gcd

from callsheet.tasks.runtime.errors import BadInput, did_you_mean
from callsheet.tasks.sheet.synonyms import PRIORITIES
from callsheet.tasks.sheet.text import (
    LANGUAGES,
    as_text,
    bare,
    is_blank,
    language_code,
    plain,
    row_id_fault,
)
from callsheet.tasks.sheet.trees import parse_json
from callsheet.tasks.values.amounts import count, parse_credits, parse_duration, parse_moment
from callsheet.tasks.values.briefs import CaptionFormat, Json

CAPTIONS: Mapping[str, tuple[CaptionFormat, ...]] = {
    "srt": ("srt",),
    "vtt": ("vtt",),
    "both": ("srt", "vtt"),
    "none": (),
}
#: Marks of a column in which rows are ticked; next to them an empty cell means no.
TICKS = ("x", "✓", "✔", "☑", "✅")
_TRUTH = dict.fromkeys(
    ("true", "yes", "y", "1", "on", "ja", "j", "wahr", "oui", "vrai", "sí", "si", "verdadero",
     "sim", "verdadeiro", "vero", *TICKS),
    True,
) | dict.fromkeys(
    ("false", "no", "n", "0", "off", "nein", "falsch", "non", "faux", "falso", "não", "nao", "☐"),
    False,
)  # fmt: skip
_VIDEO_ID = r"vid_[A-Za-z0-9_-]{1,100}"
AMOUNT = r"(?![1-9][0-9]{0,2}\.[0-9]{3}$)[0-9]{1,12}(?:\.[0-9]{1,6}0*)?"
_SHAPES = {
    "portrait": "9:16", "vertical": "9:16", "upright": "9:16", "hochformat": "9:16",
    "hochkant": "9:16", "vertikal": "9:16",
    "verticale": "9:16", "retrato": "9:16",
    "square": "1:1", "quadratisch": "1:1", "quadrat": "1:1", "carré": "1:1", "cuadrado": "1:1",
    "carrée": "1:1", "cuadrada": "1:1",
    "landscape": "16:9", "horizontal": "16:9", "widescreen": "16:9", "querformat": "16:9",
    "quer": "16:9", "breitbild": "16:9",
    "paysage": "16:9", "horizontale": "16:9", "apaisado": "16:9",
}  # fmt: skip
#: Units of an amount of credits, before or after it.
CURRENCIES = ("€", "$", "£", "¥", "eur", "usd", "gbp", "chf", "euros", "euro", "dollars", "dollar")
_UNITS = (*CURRENCIES, "credits", "credit", "kredite", "crédits", "crédit", "créditos")
_WHOLE = re.compile(r"([+-]?[0-9]{1,15})(?:\.0+)?")
_AMOUNT = re.compile(AMOUNT)
#: Between caption formats.
_JOINTS = re.compile(r"(?:[\s,;|/&+]|(?<=\s)(?:and|und)(?=\s))+")
_TAGS = re.compile(r"[,;|\n]")
_DASHES = str.maketrans(dict.fromkeys("‐‑‒–—―−", "-"))
_RATIO = re.compile(r"(\d{1,2}|\d{3,5})\s*(?:[:x×*/-]|by)\s*(\d{1,2}|\d{3,5})")
_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::00)?(?:\.0+)?\s*([ap]m)?")
_DAY_FRACTION = re.compile(r"0\.\d{3,}")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def text(value: Json) -> str:
    """Return one text, which is tidy as all of a table is; refuse a list and an object."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping | list | tuple):
        kind = "an object" if isinstance(value, Mapping) else "a list"
        raise ValueError(f"is {kind} where one value belongs")
    return as_text(value)


def words(value: Json) -> tuple[str, ...]:
    """Return the different texts of a list or of a cell with `,`, `;`, `|` or lines, in order."""
    parts = _texts(value) if isinstance(value, list) else _TAGS.split(text(value))
    return tuple(dict.fromkeys(bare(part.strip()) for part in parts if part.strip()))


#: Characters that change the direction of text: an id with one is not what it seems to be.
_TURNED = re.compile("[\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]")


def row_id(value: Json) -> str:
    """Return the id of a row."""
    said = text(value)
    if not (fault := row_id_fault(said)):
        return said
    if turned := _TURNED.search(said):
        raise ValueError(
            f"holds the invisible character U+{ord(turned[0]):04X}, which shows letters in another "
            "order: type the id anew"
        )
    meant = bare(said).translate(_DASHES)
    if row_id_fault(meant):
        raise ValueError(fault)
    return meant


def name(value: Json) -> str:
    """Return a name that the service gave, like a voice's id."""
    return bare(text(value))


def video_id(value: Json) -> str:
    """Return the id of a video at the service."""
    said = bare(text(value))
    if not re.fullmatch(_VIDEO_ID, said):
        raise ValueError("is not the id of a video at the service, such as vid_1a2b3c")
    return said


def language(value: Json) -> str:
    """Return the code of a language from the code or its name; a code is kept as it is."""
    said = text(value)
    if code := language_code(said) or language_code(plain(said)):
        return code
    hint = did_you_mean(plain(said), LANGUAGES, cutoff=0.7) or "; write its code, like en or pt-BR"
    raise ValueError(f"is not a language Callsheet knows{hint}")


def ratio_of(allowed: tuple[str, ...]) -> Callable[[Json], str]:
    """Return a parser for a shape: `9:16`, also from `9x16`, `portrait` and a time of day."""

    def parse(value: Json) -> str:
        if value in allowed:
            return str(value)
        said = plain(text(value)).casefold().translate(_DASHES)
        ratio = _named_ratio(said) or _written_ratio(said) or _ratio_of_time(said)
        if ratio not in allowed:
            if _DATE.fullmatch(said):
                raise ValueError(
                    "is a date that a spreadsheet made of it: make the cell text, and write one of "
                    f"{', '.join(allowed)}"
                )
            hint = did_you_mean(said, _SHAPES) if said.isalpha() else ""
            raise ValueError(f"is not one of {', '.join(allowed)}{hint}")
        return str(ratio)

    return parse


def is_time_of_day(value: Json) -> bool:
    """Say whether a shape is what a spreadsheet had made a time of day of."""
    said = plain(text(value)).casefold().translate(_DASHES)
    return not _named_ratio(said) and not _written_ratio(said)


def _named_ratio(said: str) -> str | None:
    """Return the ratio of a shape with a name: `vertical`, also `vertical (9:16)`."""
    if said in _SHAPES:
        return _SHAPES[said]
    for shape, ratio in _SHAPES.items():
        before, found, after = said.partition(shape)
        if found and _written_ratio(f"{before}{after}".strip(" (),-")) == ratio:
            return ratio
    return None


def _written_ratio(said: str) -> str | None:
    simple = None if said.startswith("0") else _RATIO.fullmatch(said)
    if not simple:
        return None
    width, height = int(simple[1]), int(simple[2])
    # The size of a picture, in pixels.
    shared = gcd(width, height) if min(width, height) > 99 else 1
    return f"{width // shared}:{height // shared}"


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
    joined = {word.replace("-", ""): word for word in allowed}

    def parse(value: Json) -> str:
        if isinstance(value, str) and value in allowed:
            return value
        said = plain(text(value)).casefold()
        word = joined.get(re.sub(r"[\s_\-\u2010-\u2015]+", "", said))
        if word is None:
            raise ValueError(f"is not one of {', '.join(allowed)}{did_you_mean(said, allowed)}")
        return word

    return parse


def whole(value: Json) -> int:
    """Return a whole number; `8.0` is what spreadsheets make of 8."""
    said = _number_text(value)
    if found := _WHOLE.fullmatch(said):
        return int(found[1])
    sign, digits = (-1, said[1:]) if said.startswith("-") else (1, said)
    number = settled(digits, numbers(digits), _is_whole)
    if number is None:
        raise ValueError("is not a whole number; write it in digits alone, like 12")
    return sign * int(number)


def priority(value: Json) -> int:
    """Return a whole number, also from `High`, `mittel` or `baja`."""
    word = PRIORITIES.get(plain(text(value)).casefold())
    return whole(value) if word is None else word


def seconds_among(allowed: Collection[int] = (), words: str = "") -> Callable[[Json], int]:
    """Return a parser for whole seconds above 0, also from `6 s`, `1m30s` and `1:30`.

    Where there are `allowed` lengths, it takes these alone, which are called `words`.
    """

    def fits(number: Decimal) -> bool:
        return number in allowed if allowed else _is_above_zero(number)

    def parse(value: Json) -> int:
        said = _number_text(value)
        found = _WHOLE.fullmatch(said)
        ways = [Decimal(found[1])] if found else lengths(said)
        if not any(map(_is_above_zero, ways)):
            raise ValueError("is not a whole number of seconds above 0, like 12")
        number = settled(said, ways, fits)
        if number is None:
            raise ValueError(f"is not {words} seconds")
        return int(number)

    return parse


def _number_text(value: Json) -> str:
    return plain(text(value)).casefold().translate(_DASHES)


def _is_whole(number: Decimal) -> bool:
    return number == number.to_integral_value()


def _is_above_zero(number: Decimal) -> bool:
    return number > 0 and _is_whole(number)


def places(value: Json) -> list[str]:
    """Return the different addresses of a list or of a cell, each on a line or after a space."""
    parts = _texts(value) if isinstance(value, list) else text(value).split()
    found = [part.strip().rstrip(",;") for part in parts]
    return list(dict.fromkeys(part for part in found if part))


def amount(value: Json) -> Decimal:
    """Return an amount of credits; `1,200` may mean two numbers and is refused."""
    said = _number_text(value)
    parsed = None
    if _AMOUNT.fullmatch(said) or (isinstance(value, int | float) and "e" not in said):
        parsed = parse_credits(said)
    elif isinstance(value, str):
        digits = _without_unit(said)
        number = settled(digits, numbers(digits), lambda _: True)
        parsed = parse_credits(number)
    if parsed is None:
        raise ValueError("is not an amount of credits; write it like 1200 or 12.5")
    return parsed


def is_money(said: str) -> bool:
    """Say whether an amount of credits is written with a currency."""
    return any(unit in said.casefold() for unit in CURRENCIES)


def _without_unit(said: str) -> str:
    for unit in _UNITS:
        if said.startswith(unit) or said.endswith(unit):
            return said.removeprefix(unit).removesuffix(unit).strip()
    return said


def truth(value: Json) -> bool:
    """Return a truth value written as people and spreadsheets write it."""
    said = plain(text(value)).casefold()
    if said not in _TRUTH:
        hint = did_you_mean(said, ("yes", "no", "true", "false"))
        raise ValueError(f"is neither yes nor no; write yes or no{hint}")
    return _TRUTH[said]


def is_tick(value: Json) -> bool:
    """Say whether a truth is a mark, next to which an empty cell means no."""
    return plain(text(value)).casefold() in TICKS


def captions(value: Json) -> tuple[CaptionFormat, ...]:
    """Return the caption formats wanted, always in the same order: `srt, vtt`, `vtt+srt`."""
    said = {one for word in words(value) for one in _JOINTS.split(plain(word).casefold()) if one}
    if not said or not said <= set(CAPTIONS) or (len(said) > 1 and said & {"none", "both"}):
        hint = did_you_mean(said.pop(), CAPTIONS, cutoff=0.7) if len(said) == 1 else ""
        raise ValueError(f"is not one of srt, vtt, both, none{hint}")
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


# Numbers and lengths of time as people write them: every way in which a text can be read.
#
# `1,200` could mean 1200 or 1.2. The caller knows what can be meant, and refuses what stays open.


#: Between the thousands: a blank, an apostrophe, a comma or a dot.
_MARKS = " '’.,"
_SIMPLE = re.compile(r"[0-9]{1,15}(?:[.,][0-9]{1,9})?")
_GROUPED = re.compile(
    rf"[1-9][0-9]{{0,2}}(?P<mark>[{_MARKS}])[0-9]{{3}}(?:(?P=mark)[0-9]{{3}}){{0,3}}"
    r"(?:(?P<point>[.,])(?P<rest>[0-9]{1,6}))?"
)
_PART = r"[0-9]{1,6}(?:[.,][0-9]{1,3})?"
_MINUTE_WORDS = ("minutes", "minuten", "minutos", "minute", "minuto", "mins", "min", "m")
_SECOND_WORDS = (
    "seconds", "secondes", "sekunden", "segundos", "second", "seconde", "sekunde", "segundo",
    "secs", "sec", "sek", "s",
)  # fmt: skip
_MINUTES, _SECONDS = rf"(?:{'|'.join(_MINUTE_WORDS)})\.?", rf"(?:{'|'.join(_SECOND_WORDS)})\.?"
_SPELLED = re.compile(
    rf"(?:(?P<minutes>{_PART})\s*{_MINUTES}(?:\s*(?P<rest>{_PART})\s*(?:{_SECONDS})?)?"
    rf"|(?P<seconds>{_PART})\s*{_SECONDS})"
)
_LENGTH = re.compile(r"([0-9]{1,2}):([0-5][0-9])(?::([0-5][0-9]))?(?:\.0+)?")


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
    if clock := _LENGTH.fullmatch(text):
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
        spell = _spell_length if ":" in text else say
        told = f"could mean {spell(ways[0])} or {spell(ways[1])}"
        raise ValueError(f"{told}: write {' or '.join(map(unmistakable, filter(fits, ways)))}")
    return fitting[0] if fitting else None


def _spell_length(seconds: Decimal) -> str:
    """Return a length in the largest unit that divides it: `6 minutes`, `90 seconds`."""
    minutes, rest = divmod(int(seconds), 60)
    return count(int(seconds), "second") if rest else count(minutes, "minute")


def say(number: Decimal) -> str:
    """Return a number in digits: `1200`, `1.2`."""
    return f"{number.normalize():f}"


def unmistakable(number: Decimal) -> str:
    """Return a number as no one reads it otherwise: 1.125 with a fourth decimal."""
    said = say(number)
    return f"{said}0" if len(said.partition(".")[2]) == 3 else said


def duration(value: Json) -> float:
    """Return a duration in seconds; raise ValueError for anything else."""
    try:
        return parse_duration(str(value))
    except BadInput as error:
        raise ValueError("is not a duration: write it like 30d") from error


def day_begins(value: Json) -> float:
    """Return the moment of a date or of a date with a time, in Unix seconds."""
    return parse_moment(plain(text(value)))


def day_ends(value: Json) -> float:
    """Return as `day_begins`; a date alone is the end of that day."""
    return parse_moment(plain(text(value)), end=True)


def canary(value: Json) -> str:
    """Return `yes`, `no` or `auto`; raise ValueError for anything else."""
    word = str(value).strip().casefold()
    word = {"true": "yes", "on": "yes", "false": "no", "off": "no"}.get(word, word)
    if word not in ("yes", "no", "auto"):
        raise ValueError("is none of yes, no and auto")
    return word
