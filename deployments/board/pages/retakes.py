"""What the buttons below a campaign's rows do: have rows made again, or cancel the rest.

They are about the rows that were ticked; else about all that the page's filter shows; without
either, about what failed.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from fastapi import APIRouter, Request
from starlette.datastructures import FormData, QueryParams
from starlette.responses import RedirectResponse, Response

from callsheet.deployments.board.acts.cancel import cancel
from callsheet.deployments.board.acts.retakes import plan_of_retakes
from callsheet.deployments.board.asked import filter_in
from callsheet.deployments.board.board import Board, TheBoard
from callsheet.deployments.board.page import part
from callsheet.deployments.board.pages.live import campaign_of
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.who import Approver
from callsheet.tasks.ledger import RETAKEABLE, RowFilter, State
from callsheet.tasks.ledger.shown import names_shown

router = APIRouter(prefix="/c/{campaign}")

#: Rows that a form may name.
MOST = 1000
#: Fields of the forms that are no filters.
FORM = ("because", "even_kept", "view", "all", "reason", "sort")
_FAILED: State = "failed"


@router.post("/retakes")
async def retakes(request: Request, board: TheBoard, person: Approver, campaign: str) -> Response:
    """Have other takes of rows priced, and go to their plan."""
    async with request.form(max_files=0, max_fields=MOST + 20) as fields:
        rows = await _rows_meant(board, campaign, fields)
        because, kept = fields.get("because"), fields.get("even_kept")
    plan = await plan_of_retakes(
        board,
        person,
        campaign,
        rows=rows,
        because=because.strip()[:2000] or None if isinstance(because, str) else None,
        even_kept=kept == "yes",
    )
    return RedirectResponse(f"/plans/{part(plan)}", 303)


@router.post("/cancel")
async def cancel_rest(board: TheBoard, person: Approver, campaign: str) -> Response:
    """Cancel all that is not finished."""
    done = await cancel(board, person, campaign)
    return RedirectResponse(f"/c/{part(campaign)}?cancelled={done.asked}", 303)


async def _rows_meant(board: Board, campaign: str, fields: FormData) -> list[str]:
    """Return the rows that a form is about; raise ProblemDetails (422) where it is about none.

    Several at once are without those whose video somebody keeps.
    """
    named = [one for one in fields.getlist("row") if isinstance(one, str)]
    if len(named) == 1:
        return named
    found = await campaign_of(board, campaign)
    pairs = [(k, v) for k, v in fields.multi_items() if isinstance(v, str)]
    which = RowFilter(rows=tuple(named)) if named else filter_in(QueryParams(pairs), *FORM)
    if which.is_empty:
        which = RowFilter(states=(_FAILED,))
    states = tuple(state for state in which.states or RETAKEABLE if state in RETAKEABLE)
    which = replace(which, states=states or (_FAILED,))
    shown = partial(names_shown, campaign_id=found.id)
    kept = set(await board.read(partial(shown, which=replace(which, review="keep"))))
    fit = [row for row in await board.read(partial(shown, which=which)) if row not in kept]
    if not fit:
        raise ProblemDetails(
            422,
            "no row was ticked, and none that is shown can be made again",
            title="Which rows?",
            remedy="Tick rows or choose a filter. What is under way is waited for, and a video "
            "that somebody keeps is made again from its own page alone.",
        )
    return fit
