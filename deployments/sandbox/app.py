"""Owns the application: every route in its place, and every refusal in the envelope."""

from __future__ import annotations

import sys
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match

from callsheet.deployments.sandbox.container import Container
from callsheet.deployments.sandbox.dialect import Dialect
from callsheet.deployments.sandbox.envelope import Refusal, RefusedCall, describe
from callsheet.deployments.sandbox.faults.layer import FaultLayer, Operations
from callsheet.deployments.sandbox.routes import (
    account,
    catalog,
    consent,
    control,
    programs,
    remakes,
    video_files,
    videos,
    webhooks,
)

METHODS = ("DELETE", "GET", "HEAD", "PATCH", "POST", "PUT")
CODES = {404: "not_found", 405: "method_not_allowed"}


def create_app(container: Container) -> FastAPI:
    """Put the service together around one container; the application closes it in the end."""

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        await container.keyring.open(container.database)
        container.webhooks.start()
        await container.render_pool.reopen()
        yield
        await container.close()

    app = FastAPI(
        title="Video Generation Service",
        version="1.0.0",
        openapi_url="/api/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=life,
        exception_handlers={
            RefusedCall: _refused,
            HTTPException: _http_exception,
            Exception: _fault,
        },
    )
    service = (videos, remakes, video_files, webhooks, catalog)
    parts = (*service, control, programs, account, consent)
    routers = [part.router(container) for part in parts]
    for router in routers:
        app.include_router(router)
    describe(app)
    operations = Operations(routers, container.names)
    container.faults.operations = operations.names
    # The last one added is the outermost: faults strike whatever way of answering was chosen.
    if container.options.answers != "enveloped":
        app.add_middleware(Dialect, answers=container.options.answers, operations=operations)
    app.add_middleware(FaultLayer, container=container, operations=operations)
    return app


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, RefusedCall)
    return error.answer()


async def _http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = CODES.get(error.status_code, "invalid_request")
    headers = dict(error.headers or {})
    if error.status_code == 405:
        headers["Allow"] = ", ".join(_methods_at(request))
    return Refusal(error.status_code, code, str(error.detail), headers=headers).answer()


def _methods_at(request: Request) -> list[str]:
    """Give every method of a path; each has a route of its own, which knows but its own."""
    routes = request.app.router.routes
    tried = ({**request.scope, "method": method} for method in METHODS)
    return [
        scope["method"]
        for scope in tried
        if any(route.matches(scope)[0] is Match.FULL for route in routes)
    ]


async def _fault(_: Request, error: Exception) -> Response:
    traceback.print_exception(error, file=sys.stderr)
    message = "The sandbox has a fault of its own; where it was started, it says which."
    return Refusal(500, "internal_error", message, retryable=True).answer()
