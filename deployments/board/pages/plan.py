"""`/plans/ID`: what would happen to every row and what it costs, until somebody approves it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Annotated, Any

from fastapi import APIRouter, Form, Query, Request
from starlette.responses import RedirectResponse, Response

from callsheet.deployments.board.acts.approve import approve
from callsheet.deployments.board.acts.plans import PlanView, plan_anew, plan_of_sheet, see_plan
from callsheet.deployments.board.board import Board, TheBoard
from callsheet.deployments.board.page import page, part
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.who import Approver, Person, Reviewer, Viewer
from callsheet.tasks.campaign.board_plan import PlanTerms
from callsheet.tasks.credits import parse_credits
from callsheet.tasks.errors import BadInput

router = APIRouter(prefix="/plans/{plan_id}")

#: Rows of a page of the table.
PAGE = 200
#: What a plan does with a row: in short, and whether it costs.
ACTIONS: Mapping[str, str] = {
    "make": "make",
    "remake": "make again",
    "retake": "retake",
    "continue": "carry on",
    "nothing": "unchanged",
    "person": "needs attention",
    "off": "switched off",
    "retire": "retire",
}
#: What a plan does with rows that were paid for before, and are not paid for again.
PAID = ("nothing", "continue")


@router.get("")
async def plan(
    request: Request,
    board: TheBoard,
    person: Viewer,
    plan_id: str,
    action: str = "",
    start: Annotated[int, Query(ge=0, le=10**9)] = 0,
) -> Response:
    """Show the plan, or lead to the one in its place; with `HX-Request` only what is inside it."""
    seen = await see_plan(board, person, plan_id)
    inside = "HX-Request" in request.headers
    if seen.latest is not None and not inside:
        # A link in an old mail leads to what may be approved now.
        return RedirectResponse(f"/plans/{part(seen.latest)}", 303)
    template = "_plan.html" if inside else "plan.html"
    return page(request, template, person, **_shown(seen, action, max(start, 0)))


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
        done = await approve(board, person, plan_id, budget=_amount(budget))
    except (BadInput, ProblemDetails) as error:
        new = error.extra.get("plan") if isinstance(error, ProblemDetails) else None
        if new is not None and new != plan_id:
            return RedirectResponse(f"/plans/{part(new)}", 303)
        return await _refused(request, board, person, plan_id, error)
    return RedirectResponse(f"/c/{part(done.campaign)}", 303)


@router.post("/again")
async def again(
    request: Request,
    board: TheBoard,
    person: Reviewer,
    plan_id: str,
    campaign: Annotated[str, Form()] = "",
    budget: Annotated[str, Form()] = "",
    select: Annotated[str, Form()] = "",
) -> Response:
    """Have the plan made anew: as it was, or on other terms."""
    seen = await see_plan(board, person, plan_id)
    try:
        if seen.plan.sheet_id is None or seen.plan.kind != "run":
            new = await plan_anew(board, person, seen.plan, words="a person asked for a new one")
        else:
            terms = PlanTerms.read(
                {
                    **seen.plan.terms,
                    "campaign": campaign.strip() or seen.plan.terms.get("campaign"),
                    "select": select.strip() or None,
                    "budget": _amount(budget),
                }
            )
            new = await plan_of_sheet(board, person, seen.plan.sheet_id, terms)
    except (BadInput, ProblemDetails) as error:
        return await _refused(request, board, person, plan_id, error)
    return RedirectResponse(f"/plans/{part(new)}", 303)


async def _refused(
    request: Request, board: Board, person: Person, plan_id: str, error: Exception
) -> Response:
    """Show the plan with why it was not approved."""
    seen = await see_plan(board, person, plan_id)
    status = error.status if isinstance(error, ProblemDetails) else 422
    told = {
        "title": getattr(error, "title", "This cannot be meant"),
        "words": str(error),
        "remedy": getattr(error, "remedy", None),
    }
    shown = {**_shown(seen, "", 0), "refused": told}
    return page(request, "plan.html", person, status=status, **shown)


def _amount(text: str) -> Decimal | None:
    found = parse_credits(text.replace(",", "").strip()) if text.strip() else None
    if text.strip() and found is None:
        raise BadInput(f'"{text.strip()[:40]}" is no amount of credits', remedy="write 120")
    return found


def _shown(seen: PlanView, action: str, start: int) -> dict[str, Any]:
    rows = [row for row in seen.rows if not action or row["action"] == action]
    credits = {
        name: parse_credits(value) for name, value in seen.document.get("credits", {}).items()
    }
    before = seen.replaces.document if seen.replaces and seen.replaces.document else {}
    total, left = credits.get("total"), _left(seen.document)
    return {
        "seen": seen,
        "plan": seen.plan,
        "state": seen.state,
        "rows": rows[start : start + PAGE],
        "matching": len(rows),
        "start": start,
        "each": PAGE,
        "action": action,
        "actions": ACTIONS,
        "counts": {name: seen.counts[name] for name in ACTIONS if seen.counts.get(name)},
        "total": total,
        "unpriced": seen.document.get("credits", {}).get("unpriced") or 0,
        "budget": credits.get("budget"),
        "left": left,
        "after": None if left is None or total is None else left - total,
        "before": {line["row"]: parse_credits(line["quoted"]) for line in before.get("rows", ())},
        "before_total": seen.replaces.total if seen.replaces else None,
        "paid": sum(1 for row in seen.rows if row["action"] in PAID),
        "paid_credits": _charged(row for row in seen.rows if row["action"] in PAID),
        "refused": None,
    }


def _charged(rows: Iterable[Mapping[str, Any]]) -> Decimal:
    """Return what rows have been charged so far, over all their takes."""
    return sum((parse_credits(row.get("charged")) or Decimal(0) for row in rows), Decimal(0))


def _left(document: Mapping[str, Any]) -> Decimal | None:
    """Return what is left of the budget; below 0 where charges went beyond it."""
    left = document.get("credits", {}).get("left")
    return None if left is None else Decimal(str(left))
