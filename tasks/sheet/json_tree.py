"""JSON and JSON lines to a tree in which every object knows its line and no key is there twice."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from tasks.brief import Json
from tasks.sheet.findings import Findings
from tasks.sheet.limits import MAX_DEPTH
from tasks.sheet.tree import Object


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
