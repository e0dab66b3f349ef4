"""Owns reading the entries of a plan: strict, and every refusal a sentence naming the member.

They come by the control door, or in a script, a file in TOML or JSON:

[[faults]]
on = "create"
nth = 2
do = "drop-after"
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, PlainValidator, TypeAdapter

from callsheet.deployments.sandbox.faults.kinds import NEEDED, Fault, Framing, Which, kinds_on

SPAN = re.compile(r"([0-9]{1,9})-([0-9]{1,9})", re.ASCII)
WHICH = ("nth", "every", "chance", "seed", "per")


class FaultRefused(Exception):
    """An entry that cannot be planned; the message says why in a sentence."""


def read_fault(said: object, where: str, operations: Collection[str]) -> Fault:
    """Turn one entry into a fault, or refuse it; `where` is how the sentence calls it."""
    if not isinstance(said, Mapping):
        raise FaultRefused(f"{where} must hold members such as on and do.")
    on = _one_of(said, "on", [*operations, "*", "render", "webhook"], where)
    do = _one_of(said, "do", kinds_on(on), where)
    takes = kinds_on(on)[do].takes
    members: dict[str, Any] = {}
    for name, value in said.items():
        if name in takes:
            members[name] = _checked(name, value, where)
        elif name not in ("on", "do", *WHICH):
            allowed = ", ".join(takes) or "no members of its own"
            raise FaultRefused(f'{where}: "{name}" says nothing to {do}, which takes {allowed}.')
    for name, default in takes.items():
        if name not in members and default is NEEDED:
            raise FaultRefused(f'{where}: {do} needs "{name}", {MEMBERS[name][0]}.')
    return Fault(on=on, do=do, which=_which(said, where), **{**takes, **members})


def _one_of(said: Mapping[str, Any], name: str, known: Collection[str], where: str) -> str:
    value = said.get(name)
    if isinstance(value, str) and value in known:
        return value
    trouble = f"cannot be {_short(value)}" if name in said else "is missing"
    raise FaultRefused(f'{where}: "{name}" {trouble}; it is one of {", ".join(known)}.')


def _which(said: Mapping[str, Any], where: str) -> Which:
    given = {name: _checked(name, said[name], where) for name in WHICH if name in said}
    per_video = given.pop("per", None) is not None
    return Which(**given, per_video=per_video)


def _checked(name: str, value: object, where: str) -> Any:
    try:
        return READERS[name].validate_python(value, strict=True)
    except ValueError:
        trouble = f'{where}: "{name}" must be {MEMBERS[name][0]}; it is {_short(value)}.'
        raise FaultRefused(trouble) from None


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def read_script(path: Path) -> list[object]:
    """Read the entries of a script; raises FaultRefused when it is none."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise FaultRefused(f"The fault script {path} cannot be read: {why}.") from error
    read = json.loads if path.suffix.lower() == ".json" else tomllib.loads
    try:
        said = read(text)
    except (ValueError, RecursionError) as error:
        kind = "JSON" if read is json.loads else "TOML"
        raise FaultRefused(f"The fault script {path} is not {kind}: {error}.") from error
    entries = said.get("faults") if isinstance(said, dict) and set(said) <= {"faults"} else said
    if not isinstance(entries, list):
        msg = f'The fault script {path} must hold a list called "faults", and nothing beside it.'
        raise FaultRefused(msg)
    return entries


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


def _header(value: object) -> str:
    text = str(value)
    if not (text.isascii() and text.isprintable()):
        raise ValueError(value)
    return text


Whole = Annotated[int, Field(ge=1, le=10**9)]
Number = Annotated[float, Field(allow_inf_nan=False)]
NonEmpty = Annotated[str, Field(min_length=1)]
Header = Annotated[NonEmpty | int | Number, AfterValidator(_header)]

#: What each member must be, in words and as a type that is read strictly.
MEMBERS: Mapping[str, tuple[str, Any]] = {
    "nth": (
        'a number from 1, a span such as "3-5", or a list of them',
        Annotated[Any, PlainValidator(_spans)],
    ),
    "every": ("a whole number from 1", Whole),
    "chance": ("a number from 0 to 1", Annotated[Number, Field(ge=0, le=1)]),
    "seed": ("a whole number from 0", Annotated[int, Field(ge=0, le=10**9)]),
    "per": ('"video"', Literal["video"]),
    "seconds": ("a number of seconds from 0", Annotated[Number, Field(ge=0)]),
    "status": ("a status from 200 to 599", Annotated[int, Field(ge=200, le=599)]),
    "code": ("a word", NonEmpty),
    "message": ("a sentence", NonEmpty),
    "retryable": ("true or false", bool),
    "html": ("true or false", bool),
    "retry_after": ("seconds, or the text of the header as it is to be sent", Header),
    "retry_after_date": ("seconds from now, sent as a date", Number),
    "clock_skew": ("seconds that the service's clock is ahead", Number),
    "close": ("true or false", bool),
    "framing": ("length, chunked or close", Framing),
    "bytes": ("a whole number from 1", Whole),
    "location": ("an address", Header),
    "set": ("members and their values", dict[str, Any]),
    "remove": ("a list of names of members", list[NonEmpty]),
}
READERS = {name: TypeAdapter[Any](kind) for name, (_, kind) in MEMBERS.items()}
