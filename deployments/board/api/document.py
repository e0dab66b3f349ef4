"""What the interface says of itself (OpenAPI): who may call, and how every refusal looks."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel

from callsheet.deployments.board.refusals import PROBLEM

#: What any call may answer instead of what it is for.
REFUSALS = {
    400: "it cannot be read, or came by no way that a board knows",
    401: "nobody's token",
    403: "not with this role, allowance or link",
    404: "there is no such thing",
    409: "something changed meanwhile, or is already decided",
    413: "too large",
    422: "it cannot be meant: `problems` say where",
    429: "too many tries: `Retry-After` says when to come again",
    503: "not now: `remedy` says when",
}
DESCRIPTION = """\
From a sheet to approved videos. Send `Authorization: Bearer TOKEN`; `callsheet board people` says
who has one. A POST with an `Idempotency-Key` is done once, however often it is sent: a repeat gets
the answer of the first. Amounts are credits, moments Unix seconds unless said otherwise.
"""


class ProblemPlace(BaseModel):
    """One problem: where in the sheet or in the request, and what it is."""

    line: int | None
    column: str | None
    words: str


class ProblemDocument(BaseModel):
    """A refusal (RFC 9457)."""

    title: str
    status: int
    detail: str
    remedy: str | None
    problems: list[ProblemPlace]


def describe(app: FastAPI) -> dict[str, Any]:
    """Return the document of an application, made once."""
    if app.openapi_schema is None:
        made = get_openapi(title=app.title, version="1", description=DESCRIPTION, routes=app.routes)
        parts = made.setdefault("components", {})
        schemas = parts.setdefault("schemas", {})
        for known in ("HTTPValidationError", "ValidationError"):
            schemas.pop(known, None)
        schema = ProblemDocument.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas |= schema.pop("$defs")
        schemas["Problem"] = schema
        parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        made["security"] = [{"token": []}]
        for operations in made["paths"].values():
            for method, operation in operations.items():
                _complete(method, operation)
        app.openapi_schema = made
    return app.openapi_schema


def _complete(method: str, operation: dict[str, Any]) -> None:
    for status, words in REFUSALS.items():
        operation["responses"][str(status)] = {
            "description": words,
            "content": {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
    if method == "post":
        operation.setdefault("parameters", []).append(
            {
                "name": "Idempotency-Key",
                "in": "header",
                "required": False,
                "schema": {"type": "string", "pattern": "^[!-~]{1,255}$"},
            }
        )
