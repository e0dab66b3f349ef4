"""`/c/C/rows/R`: one row, and the buttons for retakes and cancellations."""

from __future__ import annotations

import json
from typing import Any

from fastapi import APIRouter, Request
from starlette.datastructures import FormData, QueryParams
from starlette.responses import RedirectResponse, Response

from callsheet.deployments.board.board import Approver, Board, Reviewer, TheBoard, Viewer
from callsheet.deployments.board.page import page, part
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.row_filters import filter_in
from callsheet.deployments.board.services.plans import plan_retakes
from callsheet.deployments.commands.cancel import cancel_rows
from callsheet.deployments.commands.resolve import resolve_row
from callsheet.tasks.aftercare.cancel import LIVE
from callsheet.tasks.aftercare.explain import explain
from callsheet.tasks.engine.policy.decision import Rules
from callsheet.tasks.ledger.campaigns import tally_of
from callsheet.tasks.ledger.decisions import RETAKEABLE
from callsheet.tasks.ledger.people import Person
from callsheet.tasks.ledger.reviews import REASONS
from callsheet.tasks.ledger.row_filter import RowFilter
from callsheet.tasks.ledger.row_pages import names_shown
from callsheet.tasks.runtime.errors import WrongState
from callsheet.tasks.runtime.redact import redacted

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
    await cancel_rows(board, campaign, [row])
    return RedirectResponse(_address(campaign, row), 303)


@router.post("/settle")
async def settled(
    request: Request, board: TheBoard, person: Approver, campaign: str, row: str
) -> Response:
    """Give up a take of which no one knows whether it was made."""
    try:
        await resolve_row(board, campaign, row, abandon=True)
    except WrongState as error:
        return await _refused(request, board, person, campaign, row, str(error), 409)
    return RedirectResponse(_address(campaign, row), 303)


def _address(campaign: str, row: str) -> str:
    return f"/c/{part(campaign)}/rows/{part(row)}"


async def _refused(
    request: Request, board: Board, person: Person, campaign: str, row: str, words: str, status: int
) -> Response:
    shown = await _shown(board, campaign, row)
    return page(request, "row.html", person, status=status, **{**shown, "refused": words})


async def _shown(board: Board, campaign: str, row: str) -> dict[str, Any]:
    known = await board.campaign(campaign)
    rules = Rules.of(board.settings)
    found = await board.read(explain, campaign=known, row=row, now=board.clock(), rules=rules)
    if found is None:
        raise ProblemDetails(404, f"{campaign} has no row {row[:80]}")
    whole, own = found.whole, found.row
    shown = next((one for one in whole.takes if one.take.number == whole.shown.video_take), None)
    review, client = (shown.review, shown.client) if shown else (None, None)
    return {
        "tab": "row",
        "campaign": known.name,
        "root": f"/c/{part(known.name)}",
        "here": _address(known.name, row),
        "known": known,
        "tally": await board.read(tally_of, campaign=known),
        "row": own,
        "shown": whole.shown,
        "takes": whole.takes,
        "video": shown.video if shown else None,
        "video_root": _video(known.name, row, shown.take.number) if shown else None,
        "review": review,
        "client": client,
        "guest": None,
        "because": review.because if review and review.verdict == "reject" else "",
        "events": list(reversed(whole.events)),
        "calls": found.calls,
        "asked": redacted(own.asked()),
        "sent": {one.take.number: _json(one.take.asked()) for one in whole.takes},
        "next": found.next,
        "commands": found.commands,
        "reasons": REASONS,
        "may_retake": board.who.may("reviewer") and own.state in RETAKEABLE and own.enabled,
        "may_cancel": board.who.may("approver") and own.state in LIVE | {"ready"},
        "may_settle": own.state == "uncertain"
        and own.take is not None
        and board.who.may("approver"),
        "refused": None,
    }


def _video(campaign: str, row: str, take: int) -> str:
    return f"/api/v1/videos/{part(campaign)}/{part(row)}/{take}"


def _json(asked: Any) -> str:
    return json.dumps(redacted(asked), indent=2, ensure_ascii=False)


# What the buttons below a campaign's rows do: have rows made again, or cancel the rest.
#
# They are about the rows that are selected; else about all that the page's filter shows; without
# either, about what failed.


retakes_router = APIRouter(prefix="/c/{campaign}")

#: Rows that a form may name.
MOST = 1000
#: Fields of the forms that are no filters.
FORM = ("because", "even_kept", "view", "all", "reason", "sort")


@retakes_router.post("/retakes")
async def retakes(request: Request, board: TheBoard, person: Reviewer, campaign: str) -> Response:
    """Have other takes of rows priced, and go to their plan."""
    async with request.form(max_files=0, max_fields=MOST + 20) as fields:
        rows = await _rows_meant(board, campaign, fields)
        because, kept = fields.get("because"), fields.get("even_kept")
    begun = await plan_retakes(
        board,
        campaign,
        rows=rows,
        because=because.strip()[:2000] or None if isinstance(because, str) else None,
        even_kept=kept == "yes",
    )
    return RedirectResponse(f"/plans/{part(begun.plan)}", 303)


@retakes_router.post("/cancel")
async def cancel_rest(board: TheBoard, person: Approver, campaign: str) -> Response:
    """Cancel all that is not finished."""
    done = await cancel_rows(board, campaign)
    return RedirectResponse(f"/c/{part(campaign)}?cancelled={done.asked}", 303)


async def _rows_meant(board: Board, campaign: str, fields: FormData) -> list[str]:
    """Return the rows that a form is about; raise ProblemDetails (422) where it is about none.

    Several at once are without those whose video someone keeps.
    """
    named = [one for one in fields.getlist("row") if isinstance(one, str)]
    if len(named) == 1:
        return named
    found = await board.campaign(campaign)
    pairs = [(k, v) for k, v in fields.multi_items() if isinstance(v, str)]
    which = RowFilter.of(row=named) if named else filter_in(QueryParams(pairs), *FORM)
    if which.is_empty:
        which = RowFilter.of(state="failed")
    which &= RowFilter.of(state=RETAKEABLE) & RowFilter.parse("!review:keep")
    fit = await board.read(names_shown, campaign_id=found.id, which=which)
    if not fit:
        raise ProblemDetails(
            422,
            "no row is selected, and none of those shown can be made again",
            title="Which rows?",
            remedy="Tick rows or choose a filter. What is under way is waited for, and a video "
            "that somebody keeps is made again from its own page alone.",
        )
    return fit
