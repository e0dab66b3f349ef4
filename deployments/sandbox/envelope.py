"""Owns the shape of every JSON answer, `{data, error, meta}` in success and in refusal, and how
the OpenAPI document, which stands in for the real one, describes them."""

from __future__ import annotations

import functools
import secrets
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel, create_model
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
