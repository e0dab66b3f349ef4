"""`/c/C/rows/R`: everything that is known of one row, its video, and what can be done about it."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from callsheet.deployments.board.acts.cancel import cancel
from callsheet.deployments.board.acts.settle import settle
from callsheet.deployments.board.board import Board, TheBoard
from callsheet.deployments.board.page import page, part
from callsheet.deployments.board.pages.live import campaign_of
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.who import Approver, Person, Viewer
from callsheet.tasks.aftercare.advice import commands_for, next_run
from callsheet.tasks.engine.policy.decision import Rules
from callsheet.tasks.ledger import (
    NOT_BEGUN,
    REASONS,
    RETAKEABLE,
    UNDER_WAY,
    calls_about,
    tally_of,
)
from callsheet.tasks.ledger.all_of_row import whole_row
from callsheet.tasks.redact import redacted

router = APIRouter(prefix="/c/{campaign}/rows/{row}")


@router.get("")
async def row(
    request: Request, board: TheBoard, person: Viewer, campaign: str, row: str
) -> Response:
    """Show a row."""
    return page(request, "row.html", person, **await _shown(board, campaign, row))


@router.post("/cancel")
async def cancelled(board: TheBoard, person: Approver, campaign: str, row: str) -> Response:
    """Cancel the row."""
    await cancel(board, person, campaign, rows=[row])
    return RedirectResponse(_address(campaign, row), 303)


@router.post("/settle")
async def settled(
    request: Request, board: TheBoard, person: Approver, campaign: str, row: str
) -> Response:
    """Give up a take of which nobody knows whether it was made."""
    try:
        await settle(board, person, campaign, row)
    except ProblemDetails as problem:
        if problem.status != 409:
            raise
        return await _refused(request, board, person, campaign, row, problem.detail, 409)
    return RedirectResponse(_address(campaign, row), 303)


def _address(campaign: str, row: str) -> str:
    return f"/c/{part(campaign)}/rows/{part(row)}"


async def _refused(
    request: Request, board: Board, person: Person, campaign: str, row: str, words: str, status: int
) -> Response:
    shown = await _shown(board, campaign, row)
    return page(request, "row.html", person, status=status, **{**shown, "refused": words})


async def _shown(board: Board, campaign: str, row: str) -> dict[str, Any]:
    known = await campaign_of(board, campaign)
    whole = await board.read(partial(whole_row, campaign_id=known.id, row=row))
    if whole is None:
        raise ProblemDetails(404, f"{campaign} has no row {row[:80]}")
    videos = [one.take.video_id for one in whole.takes if one.take.video_id]
    numbers = [one.take.id for one in whole.takes]
    calls = await board.read(partial(calls_about, take_ids=numbers, video_ids=videos))
    video = next((one for one in whole.takes if one.take.number == whole.shown.video_take), None)
    review = video.review if video else None
    return {
        "tab": "row",
        "campaign": known.name,
        "root": f"/c/{part(known.name)}",
        "here": _address(known.name, row),
        "known": known,
        "tally": await board.read(partial(tally_of, campaign=known)),
        "row": whole.row,
        "shown": whole.shown,
        "takes": whole.takes,
        "video": video,
        "video_root": None if video is None else _video(known.name, row, video.take.number),
        "review": review,
        "because": review.because if review and review.verdict == "reject" else "",
        "events": list(reversed(whole.events)),
        "calls": calls,
        "asked": redacted(whole.row.asked()),
        "sent": {one.take.number: _json(one.take.asked()) for one in whole.takes},
        "next": next_run(whole.row, now=board.clock(), rules=Rules.of(board.settings)),
        "commands": commands_for(known, whole.row),
        "reasons": REASONS,
        "may_retake": whole.row.state in RETAKEABLE and whole.row.enabled,
        "may_cancel": whole.row.state in NOT_BEGUN | UNDER_WAY | {"held", "stalled"},
        "refused": None,
    }


def _video(campaign: str, row: str, take: int) -> str:
    return f"/api/v1/videos/{part(campaign)}/{part(row)}/{take}"


def _json(asked: Any) -> str:
    return json.dumps(redacted(asked), indent=2, ensure_ascii=False)
