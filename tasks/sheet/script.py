"""A script as people write it: text with a blank line between scenes, JSON, or `@file`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from callsheet.tasks.brief import Json
from callsheet.tasks.sheet.limits import MAX_CELL_CHARACTERS
from callsheet.tasks.sheet.text import is_blank, tidy, tidy_value
from callsheet.tasks.sheet.trees import parse_json

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
    """Return what somebody is to say: text as it is, also from `@file`, or an object.

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
        from callsheet.tasks.sheet.json_mistakes import find_mistake

        words = find_mistake(error.doc, error).words
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
