"""`/c/C/prune`: videos at the service that are not needed there, and the button to delete them."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter, Request
from starlette.responses import Response

from callsheet.deployments.board.board import Approver, Board, TheBoard
from callsheet.deployments.board.page import page, part
from callsheet.deployments.commands.prune import delete_videos, find_old_videos
from callsheet.tasks.aftercare.prune import PruneOut, doomed, what_goes
from callsheet.tasks.ledger.campaigns import tally_of
from callsheet.tasks.ledger.deletions import OldVideo

router = APIRouter(prefix="/c/{campaign}/prune")

#: Videos that a page lists, and its form may name.
MOST = 500


@router.get("")
async def prune(
    request: Request, board: TheBoard, person: Approver, campaign: str, store: bool = False
) -> Response:
    """List the videos, each with why it may be deleted or has to stay.

    With `store`, also the files in the store of rows that left the sheet.
    """
    return await _shown(request, board, campaign, store)


@router.post("")
async def pruned(request: Request, board: TheBoard, person: Approver, campaign: str) -> Response:
    """Delete the videos that the page listed, and say what was done."""
    async with request.form(max_files=0, max_fields=MOST + 20) as fields:
        videos = [one for one in fields.getlist("video") if isinstance(one, str)]
        store = fields.get("store") == "yes"
    done = await delete_videos(board, campaign, videos, store=store)
    return await _shown(request, board, campaign, store, done)


async def _shown(
    request: Request,
    board: Board,
    campaign: str,
    store: bool,
    done: Sequence[OldVideo] = (),
) -> Response:
    found = await find_old_videos(board, campaign, store=store)
    stayed = {one.take.id: one for one in done if one.kept or one.kept_files}
    wanted = [one for one in doomed(found) if one.take.id not in stayed]
    kept = [*stayed.values(), *(one for one in found if one.kept)]
    there, files = what_goes(wanted[:MOST], store=store)
    return page(
        request,
        "prune.html",
        board.person,
        tab="report",
        campaign=campaign,
        root=f"/c/{part(campaign)}",
        tally=await board.read(tally_of, campaign=await board.campaign(campaign)),
        videos=wanted[:MOST],
        there=there,
        files=files,
        kept=kept[:MOST],
        more=max(0, len(wanted) - MOST),
        store=store,
        done=done,
        told=PruneOut.of(campaign, done),
    )
