"""`/plans/ID`: review the plan of a sheet, approve it."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated

from fastapi import APIRouter, Depends, Form, Request
from starlette.responses import RedirectResponse, Response

from callsheet.deployments.board.board import Approver, Board, Reviewer, TheBoard, Viewer
from callsheet.deployments.board.page import page, part
from callsheet.deployments.board.plan_view import shown_plan
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.services.approval import approve
from callsheet.deployments.board.services.plans import (
    plan_again,
    plan_of_sheet,
    see_plan,
)
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.ledger.people import Person
from callsheet.tasks.runtime.errors import BadInput
from callsheet.tasks.values.amounts import parse_credits

router = APIRouter(prefix="/plans/{plan_id}")


def _checked(
    row: Annotated[list[str] | None, Form()] = None,
    chosen: Annotated[str, Form()] = "",
    shown: Annotated[str, Form()] = "",
) -> list[str]:
    """Return the rows that are checked: those of the page shown, and those of the other pages."""
    here = set(shown.split(","))
    return [*(one for one in chosen.split(",") if one and one not in here), *(row or ())]


#: The rows that a person has checked, on all pages of the table.
Checked = Annotated[list[str], Depends(_checked)]


@router.get("")
async def plan(
    request: Request,
    board: TheBoard,
    person: Viewer,
    plan_id: str,
    go: str = "",
) -> Response:
    """Show the plan, or lead to the one in its place; with `HX-Request` only what is inside it."""
    seen = await see_plan(board, plan_id)
    inside = "HX-Request" in request.headers
    if seen.latest is not None and not inside:
        # A link in an old mail leads to what may be approved now.
        return RedirectResponse(f"/plans/{part(seen.latest)}", 303)
    template = "_plan.html" if inside else "plan.html"
    return page(request, template, person, **shown_plan(seen, go))


@router.post("/rows")
async def rows(
    request: Request,
    board: TheBoard,
    person: Reviewer,
    plan_id: str,
    checked: Checked,
    go: Annotated[str, Form()] = "",
) -> Response:
    """Show other rows of the plan; the checked ones stay checked."""
    seen = await see_plan(board, plan_id)
    return page(request, "plan.html", person, **shown_plan(seen, go, chosen=checked))


@router.post("/approve")
async def approved(
    request: Request,
    board: TheBoard,
    person: Approver,
    plan_id: str,
    budget: Annotated[str, Form()] = "",
) -> Response:
    """Approve the plan and go to its campaign; where something has moved on, to the new plan."""
    try:
        done = await approve(board, plan_id, budget=amount_in(budget))
    except (BadInput, ProblemDetails) as error:
        new = error.extra.get("plan") if isinstance(error, ProblemDetails) else None
        if new is not None and new != plan_id:
            return RedirectResponse(f"/plans/{part(new)}", 303)
        return await _refused(request, board, person, plan_id, error, typed=budget)
    return RedirectResponse(f"/c/{part(done.campaign)}", 303)


@router.post("/again")
async def again(
    request: Request,
    board: TheBoard,
    person: Reviewer,
    plan_id: str,
    checked: Checked,
    campaign: Annotated[str, Form()] = "",
    budget: Annotated[str, Form()] = "",
    select: Annotated[str, Form()] = "",
    only: Annotated[str, Form()] = "",
    same_campaign: Annotated[bool, Form()] = False,
    new_campaign: Annotated[bool, Form()] = False,
) -> Response:
    """Have the plan made again: as it was, on other terms, or of the checked rows only."""
    seen = await see_plan(board, plan_id)
    try:
        if seen.plan.sheet_id is None or seen.plan.kind != "run":
            new = await plan_again(board, seen.plan, words="a person asked for a new one")
        else:
            before = RunOptions.of(seen.plan.terms)
            options = (
                before.but(select=_selection(checked))
                if only
                else before.but(
                    campaign=campaign.strip() or before.campaign,
                    select=select.strip() or None,
                    budget=amount_in(budget),
                    keep_budget=False,
                    same_campaign=same_campaign or before.same_campaign,
                    new_campaign=new_campaign or before.new_campaign,
                )
            )
            new = await plan_of_sheet(board, seen.plan.sheet_id, options)
    except (BadInput, ProblemDetails) as error:
        return await _refused(request, board, person, plan_id, error, typed=budget)
    return RedirectResponse(f"/plans/{part(new)}", 303)


def _selection(checked: Sequence[str]) -> str:
    if not checked:
        raise BadInput("no row is checked", remedy="check the rows that you want first")
    return ",".join(checked)


async def _refused(
    request: Request, board: Board, person: Person, plan_id: str, error: Exception, typed: str
) -> Response:
    """Show the plan with why it was not approved, and the budget that was typed."""
    seen = await see_plan(board, plan_id)
    status = error.status if isinstance(error, ProblemDetails) else 422
    told = {
        "title": getattr(error, "title", "This cannot be meant"),
        "words": str(error),
        "remedy": getattr(error, "remedy", None),
    }
    shown = {**shown_plan(seen), "refused": told, "typed": typed}
    return page(request, "plan.html", person, status=status, **shown)


def amount_in(text: str) -> Decimal | None:
    """Return the credits that a field names, None where it is empty; raise BadInput for none."""
    found = parse_credits(text.replace(",", "").strip()) if text.strip() else None
    if text.strip() and found is None:
        raise BadInput(f'"{text.strip()[:40]}" is no amount of credits', remedy="write 120")
    return found
