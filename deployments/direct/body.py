"""The bodies of clips, checked before they are paid for.

The specification describes them in words only (section 4, "Gaps"); their members, types and bounds
are those of `tasks.values.requests`.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import BaseModel, ValidationError

from callsheet.tasks.runtime.errors import BadInput, shorten
from callsheet.tasks.service.operations import Field, Money, Operation
from callsheet.tasks.sheet.trees import parse_json, read_script, read_speech
from callsheet.tasks.values.briefs import Json, canonical_json
from callsheet.tasks.values.requests import REQUESTS, CharacterSwap, ClipRequest, ImageToVideo

#: What a person is told of a fault, by the model and the member at fault; None is the whole body.
_SENTENCES: Mapping[tuple[type[BaseModel], str | None], str] = {
    (ImageToVideo, "duration_seconds"): "a clip made of an image lasts 5 or 10 seconds, not {}",
    (CharacterSwap, "duration_seconds"): "a character swap lasts 3 to 60 seconds, not {}",
    (CharacterSwap, None): "a character swap takes either photos or a character id",
}


def body_of(kind: type[BaseModel], **members: Json) -> dict[str, Json]:
    """Return the members that are given as a body of this kind; raise BadInput where it is none.

    The body is an object of its own: whatever else the service turns out to want may be added.
    """
    given = {name: value for name, value in members.items() if value not in (None, [])}
    try:
        kind.model_validate(given)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        name = str(fault["loc"][0]) if fault["loc"] else None
        sentence = _SENTENCES.get((kind, name))
        said = sentence.format(given.get(name or "")) if sentence else f"{name}: {fault['msg']}"
        raise BadInput(said) from None
    return given


# The body that is sent, from what was typed: a JSON file, options, and `--set` for the rest.


#: A file with more than this is no request.
MOST_BYTES = 8_000_000


def body_from(args: Namespace, operation: Operation[object]) -> dict[str, Json]:
    """Return the body of an operation: the file in `--body`, then its options, then `--set`.

    Raises BadInput for what cannot be sent as JSON in UTF-8, for a clip that cannot be made, and
    for an edit that changes nothing.
    """
    if operation.fields is None:
        return {}
    body = _raw_body(args.body)
    fields = operation.fields()
    for field in fields:
        value = _read(field, getattr(args, field.name))
        if value not in (None, {}, []):
            body[field.name] = value
    if operation.makes and operation.money is Money.ONCE:
        kind, shared = REQUESTS[operation.name], ClipRequest.model_fields
        body_of(kind, **{name: body[name] for name in body if name not in shared})
    body |= {name: _value(name, text) for name, text in _pairs(args.set, "--set", "NAME=JSON")}
    body = {name: value for name, value in body.items() if name not in args.unset}
    if not body and operation.method == "PATCH":
        options = ", ".join(field.option for field in fields)
        raise BadInput("nothing to change", remedy=f"give {options} or --set NAME=JSON")
    try:
        canonical_json(body)
    except ValueError as error:
        raise BadInput("the request holds text that is not UTF-8") from error
    return body


def _raw_body(path: str | None) -> dict[str, Json]:
    if path is None:
        return {}
    try:
        body = parse_json(_read_text(path, "--body"))
    except ValueError as error:
        reason = getattr(error, "msg", error)
        raise BadInput(f"--body {path} is not JSON: {reason}") from error
    if not isinstance(body, dict):
        raise BadInput(f"--body {path} is not a JSON object")
    return dict(body)


def _read(field: Field, typed: Json) -> Json:
    """Return the value of a member from what was typed, as `Field` says."""
    if field.value == "NAME=TEXT":
        return dict(_pairs(typed, field.option, field.value))
    if typed is None or not field.value.endswith(("FILE", "FILE|-")):
        return typed
    file = typed if field.value == "FILE|-" else None
    if file is None and typed.startswith("@") and not typed.startswith("@@"):
        file = typed[1:]
    named = f"{field.option} {file}" if file else field.option
    text = typed if file is None else _read_text(file, field.option).strip()
    if not text.strip():
        raise BadInput(f"{named} is empty")
    # A file that begins with @ is its own text here, and names no other file.
    text = f"@{text}" if file is not None and text.startswith("@") else text
    try:
        read = read_script if field.value == "FILE|-" else read_speech
        value = read(text, folder=None)
    except ValueError as error:
        raise BadInput(f"{named} {error}") from error
    if field.value == "TEXT|@FILE" and not isinstance(value, str):
        raise BadInput(f"{named} is not text")
    return value


def _read_text(path: str, option: str) -> str:
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
