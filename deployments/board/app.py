"""The board's application: every page and call in its place."""

from __future__ import annotations

from functools import cache, partial
from importlib.resources import files
from typing import Any

from fastapi import APIRouter, Depends, FastAPI
from fastapi.routing import APIRoute
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.staticfiles import StaticFiles

from callsheet.deployments.board.acts.videos import Videos
from callsheet.deployments.board.api import campaigns as campaign_calls
from callsheet.deployments.board.api import cancel as cancel_calls
from callsheet.deployments.board.api import document
from callsheet.deployments.board.api import events as event_calls
from callsheet.deployments.board.api import health as health_calls
from callsheet.deployments.board.api import people as people_calls
from callsheet.deployments.board.api import plans as plan_calls
from callsheet.deployments.board.api import retakes as retake_calls
from callsheet.deployments.board.api import reviews as review_calls
from callsheet.deployments.board.api import rows as row_calls
from callsheet.deployments.board.api import runs as run_calls
from callsheet.deployments.board.api import sheets as sheet_calls
from callsheet.deployments.board.api import videos as video_calls
from callsheet.deployments.board.beside import Beside
from callsheet.deployments.board.board import Board
from callsheet.deployments.board.guard import Guard
from callsheet.deployments.board.health import Health
from callsheet.deployments.board.known_query import known_query
from callsheet.deployments.board.pages import (
    activity,
    attention,
    campaigns,
    health,
    live,
    login,
    metrics,
    new,
    people,
    plan,
    report,
    retakes,
    row,
    videos,
)
from callsheet.deployments.board.refusals import add_refusals
from callsheet.deployments.board.repeats import Repeats
from callsheet.deployments.board.streams import Streams
from callsheet.deployments.board.tries import LOGINS, TOKENS, Tries
from callsheet.tasks.metrics import Exposition

#: Modules of `pages/`.
PAGES = (
    campaigns,
    new,
    plan,
    live,
    row,
    videos,
    retakes,
    attention,
    report,
    people,
    activity,
    health,
    metrics,
    login,
)
#: Modules of `api/`: each `router` has its paths below `API`.
CALLS = (
    campaign_calls,
    row_calls,
    review_calls,
    event_calls,
    video_calls,
    people_calls,
    health_calls,
    sheet_calls,
    plan_calls,
    retake_calls,
    cancel_calls,
    run_calls,
)
API = "/api/v1"


def make_app(board: Board) -> FastAPI:
    """Put the board together; the ledger is the caller's to close, after `app.state.beside`."""
    app = FastAPI(
        title="Callsheet",
        openapi_url=f"{API}/openapi.json",
        docs_url=None,
        redoc_url=None,
        # Starlette builds these from the Host header, which a proxy may have passed on unseen.
        redirect_slashes=False,
    )
    app.openapi = partial(document.describe, app)  # type: ignore[method-assign]
    app.state.board = board
    app.state.beside = beside = Beside()
    app.state.health = Health(board, beside)
    app.state.videos = Videos(board)
    app.state.exposition = Exposition(board.ledger)
    app.state.tries = Tries(board.clock, most=LOGINS)
    app.state.streams = Streams()
    app.router.routes.extend(_routes())
    static = str(files("callsheet.deployments.board") / "static")
    app.mount("/static", _Static(directory=static), name="static")
    add_refusals(app)
    # The last one added is the outermost.
    app.add_middleware(Repeats, board=board)
    app.add_middleware(Guard, board=board, tries=Tries(board.clock, most=TOKENS), beside=beside)
    return app


@cache
def _routes() -> list[BaseRoute]:
    """Every page and call; nothing in them is of one board, and to put them together takes long."""
    router = APIRouter(generate_unique_id_function=_operation)
    for one in PAGES:
        router.include_router(one.router, include_in_schema=False)
    # Pages show videos by the same addresses that programs fetch them by.
    router.include_router(video_calls.router, include_in_schema=False)
    for call in CALLS:
        router.include_router(call.router, prefix=API, dependencies=[Depends(known_query)])
    return router.routes


def _operation(route: APIRoute) -> str:
    """Return what programs call an operation that are made from the document: `list_campaigns`."""
    return route.name


class _Static(StaticFiles):
    """Kept by browsers, and asked about each time: what is new is seen at once."""

    def file_response(self, *args: Any, **named: Any) -> Response:
        response = super().file_response(*args, **named)
        response.headers["Cache-Control"] = "no-cache"
        return response
