"""Owns how answers are described in the OpenAPI document, which stands in for the real one."""

from __future__ import annotations

import functools
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel, create_model

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


def answers(status: int, data: type[BaseModel], *refusals: int) -> dict[int | str, dict[str, Any]]:
    """Describe a success whose envelope holds `data`, and every refusal; for `responses=`.

    401 and 403 are added, since every operation needs a key with a scope.
    """
    return {status: {"model": _enveloped(data)}, **refused(*refusals)}


def refused(*refusals: int) -> dict[int | str, dict[str, Any]]:
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
