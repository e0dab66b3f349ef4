"""The board's web application and its server."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache, partial
from importlib.resources import files
from typing import Any

from fastapi import APIRouter, Depends, FastAPI
from fastapi.routing import APIRoute
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.staticfiles import StaticFiles

from callsheet.deployments.board import refusals
from callsheet.deployments.board.api import addresses
from callsheet.deployments.board.api import rows as row_calls
from callsheet.deployments.board.api import sheets as sheet_calls
from callsheet.deployments.board.api import videos as video_calls
from callsheet.deployments.board.api.calls import router_of
from callsheet.deployments.board.api.campaigns import health_router
from callsheet.deployments.board.board import Board
from callsheet.deployments.board.guard import Guard
from callsheet.deployments.board.health import Health
from callsheet.deployments.board.limits import LOGINS, TOKENS, Streams, Tries
from callsheet.deployments.board.pages import (
    campaign,
    overview,
    people,
    plans,
    prune,
    rows,
    settings,
    sheets,
    videos,
)
from callsheet.deployments.board.refusals import add_refusals, known_query
from callsheet.deployments.board.run_monitor import monitoring
from callsheet.deployments.board.services.videos import Videos
from callsheet.deployments.mcp.http import Agents
from callsheet.deployments.process import inherited, listen_on, origin_of
from callsheet.deployments.web_server import answering, config_for
from callsheet.tasks.campaign.run_record import comes_from
from callsheet.tasks.metrics import Exposition
from callsheet.tasks.runtime.errors import ConfigurationError

#: Seconds that answers under way have at the end; a stream of events is cut off then.
GRACE = 2
#: Bytes of a head at most, and connections at once: one person has a few.
LONGEST_HEAD = 32 * 1024
MOST_CONNECTIONS = 768


@asynccontextmanager
async def serving(
    make: Callable[[str], Board], *, host: str, port: int, fd: int | None = None
) -> AsyncIterator[Board]:
    """Serve the board that `make` gives for an origin until left.

    `fd` is a socket on which the parent process listens. Raises ConfigurationError when
    the address cannot be had.
    """
    comes_from("board", "the board")
    with _listen(host, port) if fd is None else inherited(fd) as listening:
        board = make(origin_of(listening))
        app = make_app(board)
        config = config_for(
            app,
            h11_max_incomplete_event_size=LONGEST_HEAD,
            limit_concurrency=MOST_CONNECTIONS,
            timeout_graceful_shutdown=GRACE,
        )
        try:
            async with answering(config, listening), monitoring(board):
                yield board
        finally:
            await board.beside.aclose()


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return listen_on(family, (host, port), backlog=128)
    except (OSError, OverflowError) as error:
        why = error.strerror if isinstance(error, OSError) else "there is no such port"
        raise ConfigurationError(
            f"the board cannot listen on {host}:{port}: {why}",
            remedy="is another program using it? --port 0 picks a free port",
        ) from error


# The board's application: every page and call in its place.


#: The routers of `pages/`.
PAGES = (
    overview.router,
    sheets.router,
    plans.router,
    campaign.router,
    rows.router,
    videos.router,
    rows.retakes_router,
    prune.router,
    people.router,
    people.login_router,
    settings.router,
)
#: The routers of `api/`; their paths are below `API`.
CALLS = (
    video_calls.reviews_router,
    row_calls.events_router,
    video_calls.router,
    router_of(addresses.CALLS),
    health_router,
    sheet_calls.router,
)
API = "/api/v1"


def make_app(board: Board) -> FastAPI:
    """Put the board together; the ledger is the caller's to close, after `board.beside`."""
    app = FastAPI(
        title="Callsheet",
        openapi_url=f"{API}/openapi.json",
        docs_url=None,
        redoc_url=None,
        # Starlette builds these from the Host header, which a proxy may have passed on unseen.
        redirect_slashes=False,
    )
    app.openapi = partial(refusals.describe, app)  # type: ignore[method-assign]
    app.state.board = board
    app.state.health = Health(board)
    app.state.videos = Videos(board)
    app.state.exposition = Exposition(board.ledger)
    app.state.tries = Tries(board.clock, most=LOGINS)
    app.state.streams = Streams()
    app.state.downloads = Streams(what="downloads")
    app.router.routes.extend(_routes())
    static = str(files("callsheet.deployments.board") / "static")
    app.mount("/static", _Static(directory=static), name="static")
    agents = Agents(board, app.state.videos, app.state.streams)
    app.router.routes.append(Route("/mcp", agents))
    add_refusals(app)
    app.add_middleware(Guard, board=board, tries=Tries(board.clock, most=TOKENS))
    return app


@cache
def _routes() -> list[BaseRoute]:
    """Every page and call; nothing in them is of one board, and to put them together takes long."""
    router = APIRouter(generate_unique_id_function=_operation)
    for page in PAGES:
        router.include_router(page, include_in_schema=False)
    # Pages show videos by the same addresses that programs fetch them by.
    router.include_router(video_calls.router, include_in_schema=False)
    for call in CALLS:
        router.include_router(call, prefix=API, dependencies=[Depends(known_query)])
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
