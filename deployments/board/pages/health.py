"""`/health`: each part that the board stands on, and when it was looked at; `/live` for probes."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import PlainTextResponse, Response

from callsheet.deployments.board.page import page
from callsheet.deployments.board.who import Viewer

router = APIRouter()


@router.get("/health")
async def health(request: Request, person: Viewer) -> Response:
    """Show every part (`deployments.board.health.HealthPart`)."""
    parts = await request.app.state.health.parts()
    return page(request, "health.html", person, parts=parts)


@router.get("/live")
async def live() -> Response:
    """Say that the process answers, and nothing else: anybody may ask."""
    return PlainTextResponse("at work\n")
