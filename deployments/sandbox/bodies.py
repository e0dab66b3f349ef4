"""Owns how a request body is read: strictly, and with the sentence that names the wrong field."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, TypeVar

from fastapi import Request
from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError, model_validator

from callsheet.deployments.sandbox.envelope import Refusal

Text = Annotated[str, StringConstraints(max_length=2000)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]

MAY_BE_NULL = {"character_id"}
LARGEST = 16_000_000
DEEPEST = 64


class RequestBody(BaseModel):
    """Strict: no unknown field, no text for a number, null only where the specification has it."""

    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _no_nulls(cls, said: object) -> object:
        if isinstance(said, dict):
            for name, value in said.items():
                if value is None and name not in MAY_BE_NULL:
                    raise ValueError(f"{name} is null; leave it out instead")
        return said


AnyBody = TypeVar("AnyBody", bound=RequestBody)


def body_of(
    kind: type[AnyBody], *, optional: bool = False
) -> Callable[[Request], Awaitable[AnyBody]]:
    """Make the dependency that reads a body; it runs after the key was checked, not before.

    An `optional` body may be left out, which is the same as `{}`.
    """

    async def read(request: Request) -> AnyBody:
        raw = await raw_body(request, LARGEST)
        if raw is None:
            raise _invalid(f"The body is larger than {LARGEST} bytes.")
        said = {} if optional and not raw else _object(raw)
        try:
            return kind.model_validate(said)
        except ValidationError as error:
            raise _invalid(_sentence(error)) from None

    return read


def described(kind: type[RequestBody], *, optional: bool = False) -> dict[str, object]:
    """Describe a body for the OpenAPI document, which cannot see it in a signature."""
    schema = kind.model_json_schema()
    schema = _without_nulls(_inlined(schema, schema.pop("$defs", {})))
    content = {"application/json": {"schema": schema}}
    return {"requestBody": {"required": not optional, "content": content}}


async def raw_body(request: Request, most: int) -> bytes | None:
    """Read a body, but never more of it than is ever taken; None for a longer one."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > most:
            return None
    return bytes(body)


def parsed(raw: bytes) -> Any:
    """Read JSON, and nothing that only passes for it. Raises ValueError."""
    try:
        said = json.loads(raw, parse_constant=_refuse_constant, parse_float=_number)
        # Half a surrogate pair passes for JSON, but can be neither stored nor answered; nor can
        # a number too large for a float.
        json.dumps(said, ensure_ascii=False, allow_nan=False).encode()
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    return said


def _object(raw: bytes) -> dict[str, Any]:
    try:
        said = parsed(raw)
    except ValueError:
        raise _invalid("The body is not JSON.") from None
    if not isinstance(said, dict):
        raise _invalid("The body must be a JSON object.")
    if _is_deeper(said, DEEPEST):
        raise _invalid(f"The body is nested deeper than {DEEPEST} levels.")
    return said


def _is_deeper(said: object, levels: int) -> bool:
    layer = [said]
    for _ in range(levels):
        layer = [
            inner
            for one in layer
            if isinstance(one, dict | list)
            for inner in (one.values() if isinstance(one, dict) else one)
        ]
        if not layer:
            return False
    return True


def _number(text: str) -> float:
    """Read 5.0 as 5, which is the same number in JSON."""
    number = float(text)
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _invalid(message: str) -> Refusal:
    return Refusal(400, "invalid_request", message)


def _sentence(error: ValidationError) -> str:
    """Name every field that is wrong, and never repeat what was in it."""
    told = []
    for trouble in error.errors(include_url=False, include_input=False, include_context=False):
        field = ".".join(str(part) for part in trouble["loc"][:3])
        what = trouble["msg"].removeprefix("Value error, ")
        if trouble["type"] == "extra_forbidden":
            what = "is not a field of this request"
        told.append(f"{field}: {what}" if field else what)
    return "; ".join(told[:10])


def _inlined(said: Any, named: Mapping[str, Any]) -> Any:
    """Write out what a schema only refers to: it will stand where its names mean nothing."""
    if isinstance(said, list):
        return [_inlined(one, named) for one in said]
    if not isinstance(said, dict):
        return said
    if "$ref" in said:
        return _inlined(named[said["$ref"].rpartition("/")[2]], named)
    return {name: _inlined(one, named) for name, one in said.items()}


def _without_nulls(schema: dict[str, Any]) -> dict[str, Any]:
    """Write a schema as the body is read: what may be left out may not be null for that."""
    for name, said in schema.get("properties", {}).items():
        kinds = [one for one in said.get("anyOf", ()) if one != {"type": "null"}]
        if kinds and name not in MAY_BE_NULL:
            said.pop("anyOf")
            said.update(kinds[0] if len(kinds) == 1 else {"anyOf": kinds})
        if said.get("default", ...) is None:
            said.pop("default")
        _without_nulls(said)
    return schema
