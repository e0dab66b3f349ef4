"""Owns the shape of every JSON answer: `{data, error, meta}`, in success and in refusal."""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from starlette.responses import JSONResponse


class Refusal(Exception):
    """An answer other than success; raised anywhere, turned into an error envelope at the door."""

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


def success(data: object, *, status: int = 200) -> JSONResponse:
    """Answer with data."""
    return _answer({"data": data, "error": None}, status, {})


def refused(refusal: Refusal) -> JSONResponse:
    """Answer with an error."""
    error = {
        "message": refusal.message,
        "code": refusal.code,
        "retryable": refusal.retryable,
    }
    return _answer({"data": None, "error": error}, refusal.status, refusal.headers)


def _answer(body: dict[str, object], status: int, headers: dict[str, str]) -> JSONResponse:
    request_id = f"req_{secrets.token_hex(8)}"
    body["meta"] = {"request_id": request_id}
    return JSONResponse(body, status, {**headers, "x-request-id": request_id})


def not_found(video_id: str) -> Refusal:
    return Refusal(404, "not_found", f"There is no video {video_id[:80]}.")
