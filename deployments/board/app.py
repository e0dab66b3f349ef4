"""The board's application: every page and call in its place, and every refusal in its shape."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib.resources import files

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.staticfiles import StaticFiles

from deployments.board.board import Board
from deployments.board.page import page
from deployments.board.pages import campaigns
from deployments.board.problem_details import ProblemDetails
from tasks.errors import CallsheetError
from tasks.redact import redact

#: No script, style, picture or film from anywhere else, nothing inline, and nobody frames it.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
PAGES = (campaigns,)
API = "/api/v1"


def make_app(board: Board) -> FastAPI:
    """Put the board together; the ledger is the caller's to close."""
    app = FastAPI(
        title="Callsheet",
        openapi_url=f"{API}/openapi.json",
        docs_url=None,
        redoc_url=None,
        exception_handlers={
            ProblemDetails: _problem,
            CallsheetError: _refusal,
            HTTPException: _http_exception,
        },
    )
    app.state.board = board
    for one in PAGES:
        app.include_router(one.router, include_in_schema=False)
    static = str(files("deployments.board") / "static")
    app.mount("/static", StaticFiles(directory=static), name="static")
    app.middleware("http")(_with_headers)
    return app


async def _with_headers(
    request: Request, answer: Callable[[Request], Awaitable[Response]]
) -> Response:
    response = await answer(request)
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    return response


async def _problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, ProblemDetails)
    if request.url.path.startswith(API) or "text/html" not in request.headers.get("accept", ""):
        return JSONResponse(
            error.as_json(), error.status, error.headers, media_type="application/problem+json"
        )
    person = getattr(request.state, "person", None)
    return page(request, "problem.html", person, status=error.status, problem=error)


async def _refusal(request: Request, error: Exception) -> Response:
    """Say what the command line would: words, a remedy, and never a traceback."""
    assert isinstance(error, CallsheetError)
    status = {2: 422, 4: 409, 5: 503}.get(error.exit_status, 500)
    remedy = redact(error.remedy) if error.remedy else None
    return await _problem(request, ProblemDetails(status, redact(str(error)), remedy=remedy))


async def _http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    headers = dict(error.headers or {})
    return await _problem(
        request, ProblemDetails(error.status_code, str(error.detail), headers=headers)
    )
