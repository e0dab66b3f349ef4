"""The shape of every JSON answer and refusal, and how bodies are read."""

from __future__ import annotations

import functools
import json
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, TypeVar

from fastapi import FastAPI, Request
from pydantic import (
    BaseModel,
    ConfigDict,
    StringConstraints,
    ValidationError,
    create_model,
    model_validator,
)
from starlette.responses import JSONResponse, Response

REFUSALS = {
    400: "The request is not acceptable as it stands.",
    401: "The key is missing, malformed or revoked.",
    402: "Not enough credits, or no active subscription.",
    403: "The key lacks the scope that this operation needs.",
    404: "There is no such thing.",
    409: "Its present state does not allow this.",
    422: "The idempotency key was used before with another body.",
    429: "A rate or spend limit is reached; Retry-After says when to come back.",
}
RETRY_AFTER = {"schema": {"type": "string"}, "description": "Seconds, or a date.", "required": True}
SECURITY = "key"


class RefusedCall(Exception):
    """An answer other than success: raised anywhere, given at the door."""

    def answer(self) -> Response:
        """Give it in the form that its asker understands."""
        raise NotImplementedError


class Refusal(RefusedCall):
    """A refusal of the REST API, in the error envelope."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        retryable: bool = False,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.retryable = retryable
        self.headers = dict(headers or {})

    def answer(self) -> JSONResponse:
        error = {"message": self.message, "code": self.code, "retryable": self.retryable}
        return _answer({"data": None, "error": error}, self.status, self.headers)


def success(data: object, *, status: int = 200) -> JSONResponse:
    """Answer with data."""
    return _answer({"data": data, "error": None}, status, {})


def _answer(body: dict[str, object], status: int, headers: dict[str, str]) -> JSONResponse:
    request_id = f"req_{secrets.token_hex(8)}"
    body["meta"] = {"request_id": request_id}
    return JSONResponse(body, status, {**headers, "x-request-id": request_id})


def not_found(video_id: str) -> Refusal:
    return Refusal(404, "not_found", f"There is no video {video_id[:80]}.")


def described_answers(
    status: int, data: type[BaseModel], *refusals: int
) -> dict[int | str, dict[str, Any]]:
    """Describe a success whose envelope holds `data`, and every refusal; for `responses=`.

    401 and 403 are added, since every operation needs a key with a scope.
    """
    return {status: {"model": _enveloped(data)}, **described_refusals(*refusals)}


def described_refusals(*refusals: int) -> dict[int | str, dict[str, Any]]:
    """Describe refusals alone, with 401 and 403 among them."""
    shown: dict[int | str, dict[str, Any]] = {}
    for refusal in sorted({401, 403, *refusals}):
        shown[refusal] = {"description": REFUSALS[refusal], "model": RefusedEnvelope}
    if 429 in shown:
        shown[429]["headers"] = {"Retry-After": RETRY_AFTER}
    return shown


def describe(app: FastAPI) -> None:
    """Make the application's document say what is true of every route.

    Paths and queries are checked by us, so the framework's own 422 never happens; and whatever
    can answer 401 asks for a key.
    """
    written = app.openapi

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            _correct(written())
        assert app.openapi_schema is not None
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]


class Meta(BaseModel):
    """What every answer says about itself."""

    request_id: str


class ErrorMember(BaseModel):
    """The error of a refusal (specification, section 7)."""

    message: str
    code: str
    retryable: bool


class RefusedEnvelope(BaseModel):
    """The envelope of a refusal."""

    data: None
    error: ErrorMember
    meta: Meta


@functools.cache
def _enveloped(data: type[BaseModel]) -> type[BaseModel]:
    members: dict[str, Any] = {"data": (data, ...), "error": (None, ...), "meta": (Meta, ...)}
    return create_model(f"{data.__name__}Envelope", **members)


def _correct(document: dict[str, Any]) -> None:
    components = document.setdefault("components", {})
    components["securitySchemes"] = {SECURITY: {"type": "http", "scheme": "bearer"}}
    for name in ("HTTPValidationError", "ValidationError"):
        components.get("schemas", {}).pop(name, None)
    for operations in document["paths"].values():
        for operation in operations.values():
            responses = operation["responses"]
            if "HTTPValidationError" in str(responses.get("422")):
                del responses["422"]
            if "401" in responses:
                operation.setdefault("security", [{SECURITY: []}])


# Owns how a request body is read: strictly, and with the sentence that names the wrong field.


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
