"""The shape of every JSON answer and refusal, and how bodies are read."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    GetJsonSchemaHandler,
    StringConstraints,
    ValidationError,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema
from starlette.responses import JSONResponse, Response


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


# Owns how a request body is read: strictly, and with the sentence that names the wrong field.


Text = Annotated[str, StringConstraints(max_length=2000)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]

MAY_BE_NULL = {"character_id"}


class RequestBody(BaseModel):
    """Strict: no unknown field, no text for a number, null only where the specification has it."""

    model_config = ConfigDict(extra="forbid", strict=True, defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _no_nulls(cls, said: object) -> object:
        if isinstance(said, dict):
            for name, value in said.items():
                if value is None and name not in MAY_BE_NULL:
                    raise ValueError(f"{name} is null; leave it out instead")
        return said

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Describe it as it is read: what may be left out may not be null for that."""
        described = handler.resolve_ref_schema(handler(core))
        for name, member in described["properties"].items():
            kinds = [one for one in member.get("anyOf", ()) if one != {"type": "null"}]
            if kinds and name not in MAY_BE_NULL:
                member.pop("anyOf")
                member.update(kinds[0] if len(kinds) == 1 else {"anyOf": kinds})
            if member.get("default", ...) is None:
                member.pop("default")
        return described


AnyBody = TypeVar("AnyBody", bound=RequestBody)


def read_body(kind: type[AnyBody], raw: bytes, *, optional: bool = False) -> AnyBody:
    """Read a body, or refuse it with 400; an `optional` one may be left out, as if it were `{}`."""
    said = {} if optional and not raw else _object(raw)
    try:
        return kind.model_validate(said)
    except ValidationError as error:
        raise invalid(_sentence(error)) from None


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
        raise invalid("The body is not JSON.") from None
    if not isinstance(said, dict):
        raise invalid("The body must be a JSON object.")
    return said


def _number(text: str) -> float:
    """Read 5.0 as 5, which is the same number in JSON."""
    number = float(text)
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def invalid(message: str) -> Refusal:
    """Make the refusal of a request that is not acceptable as it stands."""
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
