"""`/`: all campaigns, a line each."""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter, Request
from starlette.responses import Response

from callsheet.deployments.board.board import TheBoard
from callsheet.deployments.board.page import page
from callsheet.deployments.board.who import Viewer
from callsheet.tasks.ledger import all_campaigns, tally_of

router = APIRouter()


@router.get("/")
async def campaigns(request: Request, board: TheBoard, person: Viewer) -> Response:
    """Show all campaigns."""
    found = await board.read(all_campaigns)
    shown = [(one, await board.read(partial(tally_of, campaign=one))) for one in found]
    return page(request, "campaigns.html", person, campaigns=shown)
