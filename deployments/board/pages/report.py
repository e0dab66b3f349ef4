"""`/c/C/report`: what a campaign has made and cost, to print and to take home."""

from __future__ import annotations

import io
from functools import partial
from typing import get_args

from fastapi import APIRouter, Request
from starlette.responses import Response

from callsheet.deployments.board.board import TheBoard
from callsheet.deployments.board.page import page, part
from callsheet.deployments.board.pages.live import campaign_of
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.who import Viewer
from callsheet.tasks.aftercare.export import Format, What, export
from callsheet.tasks.ledger import tally_of
from callsheet.tasks.ledger.counts import counts_of
from callsheet.tasks.ledger.keep_rates import KINDS, keep_rates

router = APIRouter(prefix="/c/{campaign}")

#: What may be taken home, and what it is.
FILES: dict[What, str] = {
    "rows": "Status sheet: every row, its video and what it cost",
    "takes": "Every take, with keys, files and checksums",
    "events": "Everything that happened",
    "chargeback": "Costs by cost center, tag and month",
    "analysis": "Costs by tool, language, ratio and month",
}
TYPES: dict[Format, str] = {
    "csv": "text/csv; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "jsonl": "application/x-ndjson",
}


@router.get("/report")
async def report(request: Request, board: TheBoard, person: Viewer, campaign: str) -> Response:
    """Show the counts, the costs, and how much is kept of what."""
    found = await campaign_of(board, campaign)
    by = {}
    for kind in KINDS:
        by[kind] = await board.read(partial(keep_rates, campaign_id=found.id, by=kind))
    whole = await board.read(partial(keep_rates, campaign_id=found.id))
    return page(
        request,
        "report.html",
        person,
        tab="report",
        campaign=found.name,
        root=f"/c/{part(found.name)}",
        known=found,
        tally=await board.read(partial(tally_of, campaign=found)),
        counts=await board.read(partial(counts_of, campaign_id=found.id)),
        whole=whole[0] if whole else None,
        by=by,
        files=FILES,
        store=f"{board.settings.store.rstrip('/')}/{found.name}",
    )


@router.get("/report/{what}.{form}")
async def file(board: TheBoard, person: Viewer, campaign: str, what: str, form: str) -> Response:
    """Return one of the files of a report."""
    found = await campaign_of(board, campaign)
    kind = next((one for one in get_args(What) if one == what), None)
    format = next((one for one in TYPES if one == form), None)
    if kind is None or format is None:
        raise ProblemDetails(404, "a report has no such file")
    out = io.BytesIO()
    await board.read(partial(export, campaign=found, out=out, what=kind, format=format))
    named = f'attachment; filename="{found.name}-{what}.{form}"'
    return Response(out.getvalue(), 200, {"Content-Disposition": named}, TYPES[format])
