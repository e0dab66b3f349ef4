"""`/metrics`: what Prometheus asks for, with a viewer's token; where that is set, without."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from callsheet.deployments.board.board import TheBoard
from callsheet.deployments.board.who import at_least
from callsheet.tasks.metrics import CONTENT_TYPE

router = APIRouter()
_viewer = at_least("viewer")


@router.get("/metrics")
async def metrics(request: Request, board: TheBoard) -> Response:
    """Answer in Prometheus' text format (`tasks.metrics.METRICS`)."""
    if not board.settings.metrics_open:
        await _viewer(request)
    return Response(await request.app.state.exposition.text(), media_type=CONTENT_TYPE)
