"""Reads JSON into trees with line numbers, and reads scripts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from callsheet.tasks.sheet.mistakes import json_mistake
from callsheet.tasks.sheet.table import Findings
from callsheet.tasks.sheet.text import MAX_CELL_CHARACTERS, MAX_DEPTH, is_blank, tidy, tidy_value
from callsheet.tasks.values.briefs import Json


class Object(dict[str, Any]):
    """An object of a document, the line it begins on and the line of each of its keys."""

    def __init__(self, *, line: int) -> None:
        super().__init__()
        self.line = line
        self.lines: dict[str, int] = {}


def read_json(text: str, findings: Findings) -> Json:
    """Return a JSON document; give up at its first mistake."""
    try:
        return _parse(text, findings=findings)
    except json.JSONDecodeError as error:
        line, words = json_mistake(error)
        findings.give_up(f"is not JSON: {words}", line=line)
    except ValueError as error:
        findings.give_up(f"is not JSON: {error}")


def read_json_lines(text: str, findings: Findings) -> list[Json]:
    """Return the documents of JSON lines; note the first mistake of each faulty line."""
    documents: list[Json] = []
    for number, line in enumerate(re.split("\r\n|\r|\n", text), start=1):
        if line.strip():
            try:
                documents.append(_parse(line, line=number, findings=findings))
            except json.JSONDecodeError as error:
                _, words = json_mistake(error)
                findings.refuse(f"is not a line of JSON: {words}", line=number)
            except ValueError as error:
                findings.refuse(f"is not a line of JSON: {error}", line=number)
    return documents


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


# A script as people write it: text with a blank line between scenes, JSON, or `@file`.


_SCENE_BREAK = re.compile(r"\n[^\S\n]*(?:\n[^\S\n]*)+")


def read_script(value: Json, *, folder: Path | None) -> Json:
    """Return the script object; raise ValueError with what is wrong.

    `folder` is where a local sheet lies; other sheets cannot point to files. A script that
    begins with a real @ is written with two.
    """
    if isinstance(value, Mapping):
        return read_object(value)
    if not isinstance(value, str):
        raise ValueError('is neither text nor an object like {"scenes": [...]}')
    if value.startswith("@@"):
        return _script(value[1:])
    if value.startswith("@") and "\n" not in value:
        return _script(_file_text(value[1:].strip(), folder))
    return _script(value)


def read_speech(value: Json, *, folder: Path | None) -> Json:
    """Return what someone is to say: text as it is, also from `@file`, or an object.

    Raises ValueError with what is wrong.
    """
    if not isinstance(value, str):
        return read_script(value, folder=folder)
    if value.startswith("@@"):
        return value[1:]
    if value.startswith("@") and "\n" not in value:
        value = _file_text(value[1:].strip(), folder)
    return read_object(value) if value.startswith("{") else value


def read_object(value: Json) -> Json:
    """Return an object from itself or from JSON text; raise ValueError with what is wrong."""
    try:
        document = tidy_value(parse_json(value) if isinstance(value, str) else value)
    except json.JSONDecodeError as error:
        _, words = json_mistake(error)
        raise ValueError(f"begins like JSON but is none: {words}") from None
    except ValueError as error:
        raise ValueError(f"begins like JSON but cannot be used: {error}") from None
    if not isinstance(document, Mapping) or is_blank(document):
        raise ValueError("is not an object in JSON")
    return dict(document)


def _script(text: str) -> Json:
    if text.startswith("{"):
        return read_object(text)
    scenes = [scene.strip() for scene in _SCENE_BREAK.split(text)]
    return {"scenes": [{"narration": scene} for scene in scenes if scene]}


def _file_text(name: str, folder: Path | None) -> str:
    if folder is None:
        raise ValueError("names a file, but only a sheet in a local folder can; put the text here")
    home = folder.resolve()
    path = (home / name).resolve()
    if not path.is_relative_to(home):
        raise ValueError("lies outside the sheet's folder; move it there")
    if not path.is_file():
        raise ValueError("is not a file beside the sheet; a script that begins with @ needs @@")
    try:
        with path.open("rb") as source:
            content = source.read(MAX_CELL_CHARACTERS * 4 + 4)
        encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
        text = tidy(content.decode(encoding))
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise ValueError("is not UTF-8 text; save it as UTF-8") from None
    if not text:
        raise ValueError("is an empty file")
    return text
