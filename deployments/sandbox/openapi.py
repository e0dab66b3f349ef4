"""Owns how answers are described in the OpenAPI document, which stands in for the real one."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

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


def answers(status: int, data: type[BaseModel], *refusals: int) -> dict[int | str, dict[str, Any]]:
    """Describe a success whose envelope holds `data`, and every refusal; for `responses=`.

    401 and 403 are added, since every operation needs a key with a scope.
    """
    shown: dict[int | str, dict[str, Any]] = {status: {"model": _enveloped(data)}}
    for refusal in sorted({401, 403, *refusals}):
        shown[refusal] = {"description": REFUSALS[refusal], "model": RefusedEnvelope}
    return shown


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


def _enveloped(data: type[BaseModel]) -> type[BaseModel]:
    members = {"data": (data, ...), "error": (None, ...), "meta": (Meta, ...)}
    from pydantic import create_model

    made: type[BaseModel] = create_model(f"{data.__name__}Envelope", **members)  # type: ignore[call-overload]
    return made
