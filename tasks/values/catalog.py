"""What the service offers to choose from: tools with their fields, characters, templates.

Owns how that is read. The specification names these lists and shows the shape of none (sections 2
and 4), so members are looked for under several names, and what cannot be read with certainty
counts as not told: no one is refused for what is not known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property

from callsheet.tasks.values.amounts import parse_credits
from callsheet.tasks.values.briefs import Json

#: The lists that make up a catalogue, each by the name of the operation that tells it.
PARTS = ("tools", "characters", "templates")


@dataclass(frozen=True, kw_only=True)
class ToolField:
    """One input of a tool, with the limits that the service told.

    `least` and `most` are for numbers, `longest` is in characters; `others` are further names that
    the service has for it.
    """

    name: str
    others: tuple[str, ...] = ()
    words: str | None = None
    required: bool = False
    kind: str | None = None
    allowed: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    longest: float | None = None
    example: str | None = None

    def fault(self, value: Json) -> str | None:
        """Return what the service may have against a value, or None."""
        if not isinstance(value, str | int | float) or isinstance(value, bool):
            return None
        if self.allowed:
            wrong = str(value) not in self.allowed
            return f"is not one of {', '.join(self.allowed)}" if wrong else None
        if self.longest is not None and len(str(value)) > self.longest:
            return f"has {len(str(value)):,} characters; it takes {self.longest:,g}"
        number = _number_in(value)
        if number is not None and self.least is not None and number < self.least:
            return f"is less than {self.least:,g}, the least that it takes"
        if number is not None and self.most is not None and number > self.most:
            return f"is more than {self.most:,g}, the most that it takes"
        return None


@dataclass(frozen=True, kw_only=True)
class Tool:
    """What writes a script from a brief; `fields` is None where the service does not tell them."""

    id: str
    others: tuple[str, ...] = ()
    name: str | None = None
    words: str | None = None
    credits: Decimal | None = None
    fields: Mapping[str, ToolField] | None = None

    def takes(self, name: str) -> bool:
        """Whether an input of this name is a field of it, as far as anybody knows."""
        if self.fields is None or name in self.fields:
            return True
        return any(name in one.others for one in self.fields.values())


@dataclass(frozen=True, kw_only=True)
class Catalogue:
    """What a service told at `told_at` (Unix seconds); `body` holds its PARTS as it told them."""

    base_url: str
    told_at: float
    body: Mapping[str, list[Json]] = field(repr=False)

    @cached_property
    def tools(self) -> Mapping[str, Tool] | None:
        """The tools by their ids; None when not every one of them can be read."""
        found = [_tool(entry) for entry in self.body.get("tools") or ()]
        known = {tool.id: tool for tool in found if tool is not None}
        return known if known and len(known) == len(found) else None

    @cached_property
    def characters(self) -> Mapping[str, str | None] | None:
        """The names of the characters by their ids; None when not every one can be read."""
        entries = self.body.get("characters") or ()
        found = {ids[0]: _said(entry, _NAME) for entry in entries if (ids := _names(entry, _ID))}
        return found if found and len(found) == len(entries) else None

    def tool(self, name: str) -> Tool | None:
        """Return the tool of an id, or of another name that the service has for it."""
        tools = self.tools or {}
        return tools.get(name) or next((t for t in tools.values() if name in t.others), None)


_ID = ("id", "tool_id", "character_id", "slug", "key", "code", "name")
_FIELD = ("key", "name", "id", "field", "slug")
_NAME = ("name", "title", "label")
_WORDS = ("description", "summary", "about", "help", "hint")
_INPUTS = ("fields", "inputs", "parameters", "params", "input_schema", "fields_schema", "schema")
_PRICES = ("credits", "price", "cost", "total_credits", "estimated_credits")
_KIND = ("type", "kind")
_ALLOWED = ("options", "enum", "choices", "allowed", "allowed_values", "values")
_LEAST = ("minimum", "min")
_MOST = ("maximum", "max")
_LONGEST = ("max_length", "maxLength", "max_characters")
_EXAMPLE = ("example", "placeholder", "default")
#: What a JSON Schema says of itself and not of a field.
_OF_SCHEMAS = frozenset(("type", "required", "$schema", "additionalProperties", "title"))
_WORD = re.compile(r"[^\W\d][\w.-]*|\d+")


def _tool(entry: Json) -> Tool | None:
    ids = _names(entry, _ID)
    if not ids or not isinstance(entry, Mapping):
        return Tool(id=ids[0]) if ids else None
    prices = (parse_credits(entry.get(name)) for name in _PRICES)
    name = _said(entry, _NAME)
    return Tool(
        id=ids[0],
        others=tuple(ids[1:]),
        name=None if name == ids[0] else name,
        words=_said(entry, _WORDS),
        credits=next((price for price in prices if price is not None), None),
        fields=_fields(next((entry[name] for name in _INPUTS if entry.get(name)), None)),
    )


def _fields(told: Json) -> dict[str, ToolField] | None:
    required: Json = ()
    if isinstance(told, Mapping):
        required = told.get("required") or ()
        told = told.get("properties", told)
        if not isinstance(told, Mapping) or set(told) <= _OF_SCHEMAS:
            return None
        told = [_named(name, said) for name, said in told.items()]
    found: dict[str, ToolField] = {}
    for entry in told if isinstance(told, list) else ():
        names = _names(entry, _FIELD)
        if not names:
            return None
        must = isinstance(required, list) and names[0] in required
        found[names[0]] = _field(names, entry, must=must)
    return found or None


def _named(name: str, said: Json) -> dict[str, Json]:
    of = dict(said) if isinstance(said, Mapping) else {"description": said}
    return {**of, "key": name}


def _field(names: list[str], entry: Json, *, must: bool) -> ToolField:
    words = _said(entry, (*_WORDS, "label", "title", "name"))
    return ToolField(
        name=names[0],
        others=tuple(names[1:]),
        words=None if words == names[0] else words,
        required=must or (isinstance(entry, Mapping) and entry.get("required") is True),
        kind=_said(entry, _KIND),
        allowed=tuple(_allowed(entry)),
        least=_number(entry, _LEAST),
        most=_number(entry, _MOST),
        longest=_number(entry, _LONGEST),
        example=_said(entry, _EXAMPLE),
    )


def _names(entry: Json, members: Iterable[str]) -> list[str]:
    """Return what an entry may go by, first what looks like a name that programs use."""
    if isinstance(entry, str):
        return [entry] if entry.strip() else []
    told = [_text(entry.get(name)) for name in members] if isinstance(entry, Mapping) else []
    named = list(dict.fromkeys(name for name in told if name))
    return sorted(named, key=lambda name: _WORD.fullmatch(name) is None)


def _allowed(entry: Json) -> Iterator[str]:
    listed = (entry.get(name) for name in _ALLOWED) if isinstance(entry, Mapping) else ()
    for one in next((found for found in listed if isinstance(found, list)), ()):
        text = _said(one, ("value", "id", "key", "name")) or _text(one)
        if text is not None:
            yield text


def _said(entry: Json, members: Iterable[str]) -> str | None:
    told = (_text(entry.get(name)) for name in members) if isinstance(entry, Mapping) else ()
    return next((text for text in told if text), None)


def _text(value: Json) -> str | None:
    known = isinstance(value, str | int | float) and not isinstance(value, bool)
    return str(value).strip() if known else None


def _number(entry: Json, members: Iterable[str]) -> float | None:
    told = (entry.get(name) for name in members) if isinstance(entry, Mapping) else ()
    numbers = (n for n in told if isinstance(n, int | float) and not isinstance(n, bool))
    return next(numbers, None)


def _number_in(value: Json) -> float | None:
    try:
        return float(value)
    except ValueError:
        return None
