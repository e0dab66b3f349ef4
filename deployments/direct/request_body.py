"""What is sent, from what was typed: options, a JSON file, and `--set` for any other member."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterable, Mapping
from pathlib import Path

from callsheet.tasks.brief import Json, canonical_json
from callsheet.tasks.errors import BadInput, shorten
from callsheet.tasks.sheet.script import read_script, read_speech
from callsheet.tasks.sheet.trees import parse_json

#: A file with more than this is no request.
MOST_BYTES = 8_000_000


def completed(request: Mapping[str, Json], args: Namespace) -> dict[str, Json]:
    """Return `request` with what `--set` adds or replaces, and without what `--unset` names.

    Raises BadInput for what cannot be sent as JSON in UTF-8.
    """
    changed = {name: _value(name, text) for name, text in _pairs(args.set, "--set", "NAME=JSON")}
    body = {**request, **changed}
    body = {name: value for name, value in body.items() if name not in args.unset}
    try:
        canonical_json(body)
    except ValueError as error:
        raise BadInput("the request holds text that is not UTF-8") from error
    return body


def raw_body(args: Namespace) -> dict[str, Json]:
    """Return the object in `--body`, as it is; nothing without it."""
    if args.body is None:
        return {}
    try:
        body = parse_json(read_text(args.body, "--body"))
    except ValueError as error:
        reason = getattr(error, "msg", error)
        raise BadInput(f"--body {args.body} is not JSON: {reason}") from error
    if not isinstance(body, dict):
        raise BadInput(f"--body {args.body} is not a JSON object")
    return dict(body)


def fields(args: Namespace) -> dict[str, Json]:
    """Return the inputs of a tool from `--field`."""
    return dict(_pairs(args.field, "--field", "NAME=TEXT"))


def script(path: str | None) -> Json:
    """Return the script in a file: a JSON object, or text with a blank line between scenes."""
    if path is None:
        return None
    text = read_text(path, "--script").strip()
    if not text:
        raise BadInput(f"--script {path} is empty")
    try:
        # A script that begins with @ is its own text here, and no file.
        return read_script(f"@{text}" if text.startswith("@") else text, folder=None)
    except ValueError as error:
        raise BadInput(f"--script {path} {error}") from error


def speech(text: str | None, option: str) -> Json:
    """Return what somebody is to say: the text, or what is in `@FILE`; an object stays one."""
    if text is None:
        return None
    if text.startswith("@") and not text.startswith("@@"):
        text = read_text(text[1:], option).strip()
        text = f"@{text}" if text.startswith("@") else text
    if not text.strip():
        raise BadInput(f"{option} is empty")
    try:
        return read_speech(text, folder=None)
    except ValueError as error:
        raise BadInput(f"{option} {error}") from error


def read_text(path: str, option: str) -> str:
    """Return the text of a file, or of standard input for `-`; raise BadInput when it is none."""
    try:
        if path == "-":
            content = sys.stdin.buffer.read(MOST_BYTES + 1)
        else:
            with Path(path).open("rb") as file:
                content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise BadInput(f"{option} {path} cannot be read: {error.strerror}") from error
    if len(content) > MOST_BYTES:
        raise BadInput(f"{option} {path} is longer than {MOST_BYTES // 1_000_000} MB")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(f"{option} {path} is not text in UTF-8") from error


def given(**options: Json) -> dict[str, Json]:
    """Return the options that were given."""
    return {name: value for name, value in options.items() if value not in (None, {}, [])}


def _pairs(texts: Iterable[str], option: str, form: str) -> Iterable[tuple[str, str]]:
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise BadInput(f'{option} "{shorten(text)}" is not of the form {form}')
        yield name.strip(), value


def _value(name: str, text: str) -> Json:
    try:
        return parse_json(text)
    except ValueError as error:
        # Text may be typed as it is, but what begins like an object was meant to be one.
        if text.lstrip()[:1] in ("{", "[", '"'):
            reason = getattr(error, "msg", error)
            raise BadInput(f"--set {name} begins like JSON but is none: {reason}") from error
        return text
