"""Reads YAML into a tree with line numbers, and names the first mistake.

It is read by the parser's events, every scalar as the text that stands there: nothing is
resolved, so nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NoReturn

from callsheet.tasks.runtime.errors import shorten
from callsheet.tasks.sheet.table import Findings, Mistake
from callsheet.tasks.sheet.text import MAX_DEPTH, MAX_YAML_BYTES
from callsheet.tasks.sheet.trees import Object, say_twice
from callsheet.tasks.values.amounts import say_bytes
from callsheet.tasks.values.briefs import Json


def read_yaml(text: str, findings: Findings) -> Json:
    """Return a YAML document with every scalar as the text that stands there.

    YAML 1.1 reads `9:16` as 556 and `no` as false; here they stay what was typed.
    """
    from ruamel.yaml.error import YAMLError

    size = len(text.encode())
    if size > MAX_YAML_BYTES:
        findings.give_up(
            f"has {say_bytes(size)}; a YAML sheet may have {say_bytes(MAX_YAML_BYTES)}"
        )
    try:
        return _document(text, findings)
    except YAMLError as error:
        mistake = find_mistake(text, error)
        if mistake is None:
            said = getattr(error, "problem", None) or "it cannot be parsed"
            findings.give_up(f"is not YAML: {said}")
        findings.give_up(f"is not YAML: {mistake.words}", line=mistake.line)


def _document(text: str, findings: Findings) -> Json:
    """Return the document, also where only YAML 1.2 allows it: `{aspect_ratio: 9:16}`.

    The parser in C stops at a colon in a plain text between braces. The other one knows better,
    but takes twenty times as long, so it is asked second.
    """
    from ruamel.yaml.error import YAMLError

    try:
        return _parsed(text, findings)
    except YAMLError as refusal:
        try:
            return _parsed(text, findings, pure=True)
        except ValueError:
            raise refusal from None


def _parsed(text: str, findings: Findings, *, pure: bool = False) -> Json:
    from ruamel.yaml import YAML

    return _Builder(YAML(typ="safe", pure=pure).parse(text), findings).document()


class _Builder:
    def __init__(self, events: Iterator[Any], findings: Findings) -> None:
        self._events = events
        self._findings = findings

    def document(self) -> Json:
        value: Json = None
        documents = 0
        for event in self._events:
            kind = type(event).__name__
            if kind == "DocumentStartEvent":
                documents += 1
                if documents > 1:
                    self._give_up("begins a second document; a sheet is one", event)
            elif kind not in ("StreamStartEvent", "StreamEndEvent", "DocumentEndEvent"):
                value = self._value(event, 0)
        return value

    def _value(self, event: Any, depth: int) -> Json:
        kind = type(event).__name__
        if kind == "AliasEvent":
            self._give_up(
                f"uses an alias (*{event.anchor}): write it out, or use defaults; a text that "
                "begins with * needs quotes around it",
                event,
            )
        if getattr(event, "tag", None) not in (None, "!"):
            self._give_up(f"uses the tag {event.tag}; write plain text", event)
        if depth > MAX_DEPTH:
            self._give_up(f"is nested more than {MAX_DEPTH} levels deep", event)
        if kind == "MappingStartEvent":
            return self._object(event, depth)
        if kind == "SequenceStartEvent":
            return list(self._sequence(depth))
        if event.style in (None, "") and event.value in ("null", "Null", "NULL", "~"):
            self._findings.advise(
                "is taken as this very text; leave it empty when nothing is meant",
                line=event.start_mark.line + 1,
                value=event.value,
            )
        return event.value

    def _sequence(self, depth: int) -> Iterator[Json]:
        for event in self._events:
            if type(event).__name__ == "SequenceEndEvent":
                return
            yield self._value(event, depth + 1)

    def _object(self, start: Any, depth: int) -> Object:
        built = Object(line=start.start_mark.line + 1)
        for event in self._events:
            if type(event).__name__ == "MappingEndEvent":
                break
            key = self._value(event, depth + 1)
            if not isinstance(key, str):
                self._give_up("has a key that is not a text", event)
            value = self._value(next(self._events), depth + 1)
            line = event.start_mark.line + 1
            if key in built:
                self._findings.refuse(say_twice(built, key), line=line)
            else:
                built[key], built.lines[key] = value, line
        return built

    def _give_up(self, message: str, event: Any) -> NoReturn:
        self._findings.give_up(message, line=event.start_mark.line + 1)


# What is wrong in a text that is meant to be YAML, in words.
#
# The parser's own words name its grammar, so the lines it points at are looked at instead.


_ENTRY = re.compile(
    r"(?P<start>[ ]*(?:-[ ]+)*(?P<key>[^\s:#\"'\[\]{}-][^:#\"']*):[ ]+)(?P<value>.*)"
)
_FLOW = re.compile(r"(?P<start>[ ]*(?:-[ ]+)*)(?P<value>[\[{].*)")
_WHOLE_QUOTED = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')\s*(?:#.*)?""")
_START_QUOTED = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^']|'')*'""")
_NO_BLANK = re.compile(r"(?P<start>[ ]*(?:-[ ]+)*[A-Za-z_][\w .]*:)(?P<value>[^\s/].*)")
_NO_BLANK_AFTER_DASH = re.compile(r"(?P<start>[ ]*-)(?P<value>[A-Za-z_]\w*:(?:\s.*)?)")
_TAB = re.compile(r"[ ]*\t")


def find_mistake(text: str, error: Any) -> Mistake | None:
    """Return the mistake at which the parser stopped, or None where no one can tell."""
    problem, context = getattr(error, "problem_mark", None), getattr(error, "context_mark", None)
    lines = text.split("\n")
    if problem is None:
        return None
    if (tabbed := _tabs(lines, problem.line)) is not None:
        return tabbed
    begun = problem.line if context is None else context.line
    for number in dict.fromkeys((problem.line, begun, _above(lines, problem.line))):
        line = lines[number] if 0 <= number < len(lines) else ""
        if words := next(_wrong(line, str(error.problem)), None):
            return Mistake(number + 1, words)
    return _misplaced(lines, problem.line, context, str(error.context))


def _above(lines: list[str], number: int) -> int:
    """Return the last line above that is not blank, or -1."""
    number -= 1
    while number >= 0 and not lines[min(number, len(lines) - 1)].strip():
        number -= 1
    return number


def _tabs(lines: list[str], number: int) -> Mistake | None:
    if number >= len(lines) or not _TAB.match(lines[number]):
        return None
    others = sum(bool(_TAB.match(line)) for line in lines) - 1
    also = f", and so {'does' if others == 1 else 'do'} {others} more" if others else ""
    return Mistake(number + 1, f"the line begins with a tab{also}: indent with spaces")


def _wrong(line: str, said: str) -> Iterator[str]:
    """Yield what is wrong with one line."""
    if entry := _ENTRY.fullmatch(line) or _FLOW.fullmatch(line):
        yield from _wrong_value(entry["start"].strip(" -"), entry["value"].strip(), said)
    for sign, pattern in (("dash", _NO_BLANK_AFTER_DASH), ("colon", _NO_BLANK)):
        if glued := pattern.fullmatch(line):
            meant = f"{glued['start']} {glued['value']}"
            yield f'a blank is missing after the {sign}: write "{shorten(meant)}"'


def _wrong_value(name: str, value: str, said: str) -> Iterator[str]:
    """Yield what is wrong with a value."""
    first = value[:1]
    closing = {"[": "]", "{": "}"}.get(first)
    if first and first in "\"'":
        yield from _wrong_quotes(name, value, said)
    elif first == "|" and value[1:].strip(" +-0123456789"):
        yield "after | a text begins on the next line"
    elif closing and closing not in value:
        yield f"the {first} that opens here is never closed: {closing} is missing"
    elif first and (
        first in "@`%&*!"
        or (first == ">" and value[1:].strip(" +-"))
        or (first in "-?" and value[1:2] in ("", " "))
        or (closing and not value.endswith(closing))
    ):
        words = f"a text cannot begin with {first}: put quotes around it, like"
        yield f"{words} {_example(name, value)}"
    elif not closing and re.search(r":(?:\s|$)", re.split(r"\s#", value)[0]):
        yield f"a text with a colon in it needs quotes around it, like {_example(name, value)}"


def _wrong_quotes(name: str, value: str, said: str) -> Iterator[str]:
    first = value[0]
    inner = value[1:-1] if value.endswith(first) and len(value) > 1 else value
    if not _START_QUOTED.match(value):
        yield f"a quote ({first}) is opened and never closed"
    elif not _WHOLE_QUOTED.fullmatch(value):
        words = (
            f"the text goes on after its second {first}: put other quotes around all of it, like"
        )
        yield f"{words} {_example(name, inner)}"
    elif "escape" in said:
        words = "a backslash between double quotes means something else: use single ones, like"
        yield f"{words} {name} {_quoted(inner)}"


def _quoted(value: str) -> str:
    doubled = value.replace("'", "''")
    return f"'{doubled}'"


def _example(name: str, value: str) -> str:
    quote = "'" if '"' in value else '"'
    return f"{name} {quote}{shorten(value)}{quote}"


def _misplaced(lines: list[str], number: int, context: Any, said: str) -> Mistake:
    """Say that a line stands where nothing above leads to it."""
    if number >= len(lines):
        return Mistake(len(lines), "the text ends where more is expected")
    if context is not None and ":" not in lines[context.line]:
        return _keyless(lines, context.line)
    line, indent, above = lines[number], _indent(lines[number]), _above(lines, number)
    if "flow" in said:
        words = "something between the brackets cannot be read: is a comma missing or too much?"
    elif context is not None and indent == context.column and line.lstrip()[:1] != "-":
        words = (
            'the line begins a row without a dash: write "- " in front of it, or indent it like '
            "the other names of the row above"
        )
    else:
        spaces = "space" if indent == 1 else "spaces"
        words = (
            f"the line is indented by {indent} {spaces}, which fits nothing above it (line "
            f"{above + 1} has {_indent(lines[above])}): the names of a row stand exactly below "
            "each other"
        )
    return Mistake(number + 1, words)


def _keyless(lines: list[str], number: int) -> Mistake:
    above = _above(lines, number)
    if above >= 0 and lines[above].rstrip().endswith(("|", ">")):
        words = f"the line belongs to the text that line {above + 1} begins: indent it further"
    else:
        words = (
            'the line is no "name: value": if it goes on with the text above, indent it further, '
            "and put quotes around the whole text"
        )
    return Mistake(number + 1, words)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
