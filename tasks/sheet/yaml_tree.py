"""Reads YAML into a tree with line numbers.

It is read by the parser's events, every scalar as the text that stands there: nothing is
resolved, so nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

from callsheet.tasks.sheet.mistakes import yaml_mistake
from callsheet.tasks.sheet.table import Findings
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
        said = getattr(error, "problem", None) or "it cannot be parsed"
        line, words = yaml_mistake(text, error) or (None, said)
        findings.give_up(f"is not YAML: {words}", line=line)


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
