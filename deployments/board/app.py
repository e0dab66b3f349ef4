"""The board's application: every page and call in its place."""

from __future__ import annotations

from importlib.resources import files
from types import ModuleType

from fastapi import FastAPI
from starlette.staticfiles import StaticFiles

from deployments.board.board import Board
from deployments.board.guard import Guard
from deployments.board.pages import campaigns, films, login
from deployments.board.refusals import add_refusals
from deployments.board.tries import Tries

PAGES = (campaigns, films, login)
#: Modules of `api/`: each `router` has its paths below `API`.
CALLS: tuple[ModuleType, ...] = ()
API = "/api/v1"


def make_app(board: Board) -> FastAPI:
    """Put the board together; the ledger is the caller's to close."""
    app = FastAPI(
        title="Callsheet", openapi_url=f"{API}/openapi.json", docs_url=None, redoc_url=None
    )
    app.state.board = board
    app.state.tries = Tries(board.clock)
    for one in PAGES:
        app.include_router(one.router, include_in_schema=False)
    for call in CALLS:
        app.include_router(call.router, prefix=API)
    static = str(files("deployments.board") / "static")
    app.mount("/static", StaticFiles(directory=static), name="static")
    add_refusals(app)
    app.add_middleware(Guard, board=board, tries=app.state.tries)
    return app
