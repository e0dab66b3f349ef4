"""Owns the application: every route in its place, and every refusal in the envelope."""

from __future__ import annotations

import sys
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from deployments.sandbox.envelope import Refusal, refused
from deployments.sandbox.house import House
from deployments.sandbox.routes import catalog, control, media, videos

CODES = {404: "not_found", 405: "method_not_allowed"}


def create_app(house: House) -> FastAPI:
    """Put the service together around one house; the application closes it in the end."""

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        await house.studio.reopen()
        yield
        await house.close()

    app = FastAPI(
        title="Video Generation Service",
        version="1.0.0",
        openapi_url="/api/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=life,
        exception_handlers={
            Refusal: _refusal,
            HTTPException: _http_exception,
            Exception: _fault,
        },
    )
    for part in (videos, media, catalog, control):
        app.include_router(part.router(house))
    return app


async def _refusal(_: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return refused(error)


async def _http_exception(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = CODES.get(error.status_code, "invalid_request")
    return refused(Refusal(error.status_code, code, str(error.detail), headers=error.headers or {}))


async def _fault(_: Request, error: Exception) -> Response:
    traceback.print_exception(error, file=sys.stderr)
    message = "The sandbox has a fault of its own; where it was started, it says which."
    return refused(Refusal(500, "internal_error", message, retryable=True))
