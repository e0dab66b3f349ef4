"""JSON and JSON lines to a tree: every object knows its line, and no key is there twice."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from callsheet.tasks.brief import Json
from callsheet.tasks.sheet.findings import Findings
from callsheet.tasks.sheet.limits import MAX_DEPTH


class Object(dict[str, Any]):
    """An object of a document, the line it begins on and the line of each of its keys."""

    def __init__(self, *, line: int) -> None:
        super().__init__()
        self.line = line
        self.lines: dict[str, int] = {}


#: How many mistakes of a document are looked for.
MAX_MISTAKES = 20


def read_json(text: str, findings: Findings) -> Json:
    """Return a JSON document; with mistakes, what is clear of it, for what else is wrong."""
    try:
        return _parse(text, findings=findings)
    except json.JSONDecodeError as error:
        document = _mend(text, error, findings, said="is not JSON")
        if document is None:
            findings.raise_if_any()
        return document
    except ValueError as error:
        findings.give_up(f"is not JSON: {error}")


def read_json_lines(text: str, findings: Findings) -> list[Json]:
    """Return the documents of JSON lines; what is clear of a faulty line is among them."""
    documents: list[Json] = []
    for number, line in enumerate(re.split("\r\n|\r|\n", text), start=1):
        if line.strip():
            try:
                documents.append(_parse(line, line=number, findings=findings))
            except json.JSONDecodeError as error:
                said = "is not a line of JSON"
                documents.append(_mend(line, error, findings, said=said, line=number))
            except ValueError as error:
                findings.refuse(f"is not a line of JSON: {error}", line=number)
    return documents


def _mend(
    text: str, error: json.JSONDecodeError, findings: Findings, *, said: str, line: int = 1
) -> Json:
    """Note the mistakes of a document; return it without them, or None."""
    from callsheet.tasks.sheet.json_mistakes import find_mistake

    for _ in range(MAX_MISTAKES):
        mistake = find_mistake(text, error)
        findings.refuse(f"{said}: {mistake.words}", line=line + mistake.line - 1)
        if mistake.mended is None:
            return None
        text = mistake.mended
        try:
            return _parse(text, line=line, findings=findings)
        except json.JSONDecodeError as further:
            error = further
        except ValueError:
            return None
    return None


def parse_json(text: str) -> Json:
    """Return a JSON document; raise ValueError for bad JSON, NaN, depth and keys there twice."""
    return _parse(text)


def _parse(text: str, *, line: int = 1, findings: Findings | None = None) -> Json:
    begins = _object_lines(text, line)

    def build(pairs: list[tuple[str, Json]]) -> Object:
        begin, lines = next(begins, (line, []))
        built = Object(line=begin)
        for place, (key, value) in enumerate(pairs):
            at = lines[place] if place < len(lines) else begin
            if key not in built:
                built[key] = value
                built.lines[key] = at
            elif findings is None:
                raise ValueError(f'it has "{key}" twice in one object: keep one')
            else:
                findings.refuse(say_twice(built, key), line=at)
        return built

    def refuse_constant(name: str) -> Json:
        raise ValueError(f"{name} is not a number that can be sent")

    try:
        return json.loads(text, object_pairs_hook=build, parse_constant=refuse_constant)
    except RecursionError:
        raise ValueError(f"it is nested more than {MAX_DEPTH} levels deep") from None
    except json.JSONDecodeError:
        raise
    except ValueError as error:
        if "digits" in str(error):
            raise ValueError("a number in it has more digits than a number can have") from None
        raise


def say_twice(built: Object, key: str) -> str:
    """Return what is wrong with a key that an object has already."""
    return f'has "{key}" twice in one object (first in line {built.lines[key]}): keep one'


_LANDMARKS = re.compile(r'"(?:[^"\\]|\\.)*"(\s*:)?|[{}]|\n')


def _object_lines(text: str, line: int) -> Iterator[tuple[int, list[int]]]:
    """Yield the line of each object and those of its keys, in the order in which they end."""
    open_objects: list[tuple[int, list[int]]] = []
    for landmark in _LANDMARKS.finditer(text):
        sign = landmark[0]
        if sign == "\n":
            line += 1
        elif sign == "{":
            open_objects.append((line, []))
        elif sign == "}" and open_objects:
            yield open_objects.pop()
        elif landmark[1] and open_objects:
            open_objects[-1][1].append(line)
            line += landmark[1].count("\n")
