"""YAML, JSON and JSON lines to a tree: every object knows its line, and no key is there twice.

YAML is read by the parser's events, every scalar as the text that stands there: nothing is
resolved, so nothing is guessed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NoReturn

from tasks.brief import Json
from tasks.sheet.findings import Findings
from tasks.sheet.limits import MAX_DEPTH, MAX_YAML_BYTES, say_bytes


class Object(dict[str, Any]):
    """An object of a document and the line it begins on."""

    def __init__(self, *, line: int) -> None:
        super().__init__()
        self.line = line


class _Twice(ValueError):
    def __init__(self, key: str, line: int) -> None:
        super().__init__(f'has "{key}" twice in the object that begins here: keep one')
        self.line = line


def read_json(text: str, findings: Findings) -> Json:
    """Return a JSON document."""
    try:
        return parse_json(text)
    except _Twice as error:
        findings.give_up(str(error), line=error.line)
    except ValueError as error:
        line = getattr(error, "lineno", None)
        findings.give_up(f"is not JSON: {getattr(error, 'msg', error)}", line=line)


def read_json_lines(text: str, findings: Findings) -> list[Json]:
    """Return the documents of JSON lines; a faulty line is noted and left out."""
    documents: list[Json] = []
    for number, line in enumerate(re.split("\r\n|\r|\n", text), start=1):
        if line.strip():
            try:
                documents.append(parse_json(line, line=number))
            except _Twice as error:
                findings.refuse(str(error), line=number)
            except ValueError as error:
                message = getattr(error, "msg", error)
                findings.refuse(f"is not a line of JSON: {message}", line=number)
    return documents


def parse_json(text: str, *, line: int = 1) -> Json:
    """Return a JSON document; raise ValueError for bad JSON, NaN, depth and keys there twice."""
    begins = _object_lines(text, line)

    def build(pairs: list[tuple[str, Json]]) -> Object:
        built = Object(line=next(begins, line))
        for key, value in pairs:
            if key in built:
                raise _Twice(key, built.line)
            built[key] = value
        return built

    def refuse_constant(name: str) -> Json:
        raise ValueError(f"{name} is not a number that can be sent")

    try:
        return json.loads(text, object_pairs_hook=build, parse_constant=refuse_constant)
    except RecursionError:
        raise ValueError(f"it is nested more than {MAX_DEPTH} levels deep") from None


_LANDMARKS = re.compile(r'"(?:[^"\\]|\\.)*"|[{}]|\n')


def _object_lines(text: str, line: int) -> Iterator[int]:
    """Yield the line each object begins on, in the order in which they end."""
    open_objects: list[int] = []
    for landmark in _LANDMARKS.finditer(text):
        if landmark[0] == "\n":
            line += 1
        elif landmark[0] == "{":
            open_objects.append(line)
        elif landmark[0] == "}" and open_objects:
            yield open_objects.pop()


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
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        line = None if mark is None else mark.line + 1
        said = getattr(error, "problem", None) or "it cannot be parsed"
        findings.give_up(f"is not YAML: {said}", line=line)


def _document(text: str, findings: Findings) -> Json:
    """Return the document, also where only YAML 1.2 allows it: `{aspect_ratio: 9:16}`.

    The parser in C stops at a colon in a plain text between braces. The other one knows better,
    but takes twenty times as long, so it is asked second.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        return _Builder(YAML(typ="safe").parse(text), findings).document()
    except YAMLError as refusal:
        try:
            return _Builder(YAML(typ="safe", pure=True).parse(text), findings).document()
        except (YAMLError, ValueError):
            raise refusal from None


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
            self._give_up("uses an alias (*name); write it out, or use defaults", event)
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
            if key in built:
                self._give_up(f'has "{key}" twice in one object: keep one', event)
            built[key] = self._value(next(self._events), depth + 1)
        return built

    def _give_up(self, message: str, event: Any) -> NoReturn:
        self._findings.give_up(message, line=event.start_mark.line + 1)
