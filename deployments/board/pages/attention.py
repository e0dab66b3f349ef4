"""`/c/C/attention`: what waits for a person, by what is the matter, each with its one button."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from callsheet.deployments.board.acts.plans import plan_of_sheet, see_plans
from callsheet.deployments.board.acts.runs import carry_on, see_runs
from callsheet.deployments.board.board import Board, TheBoard
from callsheet.deployments.board.page import page, part
from callsheet.deployments.board.pages.live import campaign_of
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.who import Approver, Person, Viewer
from callsheet.tasks.campaign.board_plan import PlanTerms
from callsheet.tasks.ledger import NEEDS_PERSON, KeptPlan, RowFilter, State, tally_of
from callsheet.tasks.ledger.shown import MOST, ShownRow, shown_rows

router = APIRouter(prefix="/c/{campaign}")

#: In the order in which money is at stake.
ORDER: Sequence[State] = ("uncertain", "failed", "held", "stalled", "rejected")


@dataclass(frozen=True)
class _Group:
    """Rows that wait for the same reason."""

    state: State
    reason: str
    rows: Sequence[ShownRow]


@router.get("/attention")
async def attention(request: Request, board: TheBoard, person: Viewer, campaign: str) -> Response:
    """Show the rows that wait for somebody, by state and reason."""
    found = await campaign_of(board, campaign)
    which = RowFilter(states=tuple(sorted(NEEDS_PERSON)))
    read = partial(shown_rows, campaign_id=found.id, which=which, limit=MOST)
    shown = await board.read(read)
    return page(
        request,
        "attention.html",
        person,
        tab="attention",
        campaign=found.name,
        root=f"/c/{part(found.name)}",
        tally=await board.read(partial(tally_of, campaign=found)),
        groups=_grouped(shown.rows),
        more=shown.next is not None,
        sheet=await _last_sheet(board, person, found.name) is not None,
        run=await _last_run(board, person, found.name),
    )


@router.post("/again")
async def again(board: TheBoard, person: Approver, campaign: str) -> Response:
    """Plan the campaign's last sheet again: what is paid for is carried on, the rest is priced."""
    plan = await _last_sheet(board, person, campaign)
    if plan is None or plan.sheet_id is None:
        raise ProblemDetails(
            409,
            f"no sheet of {campaign} was uploaded on the board",
            title="Which sheet?",
            remedy="Hand it in under New campaign: a campaign of that name is gone on with.",
        )
    terms = PlanTerms.read({**plan.terms, "select": None})
    new = await plan_of_sheet(board, person, plan.sheet_id, terms)
    return RedirectResponse(f"/plans/{part(new)}", 303)


@router.post("/carry-on")
async def go_on(board: TheBoard, person: Approver, campaign: str) -> Response:
    """Have the last run go on with what it left: it looks again, and pays for nothing new."""
    run = await _last_run(board, person, campaign)
    if run is None:
        raise ProblemDetails(409, f"no run of {campaign} that started on the board has ended")
    await carry_on(board, person, run)
    return RedirectResponse(f"/c/{part(campaign)}", 303)


def _grouped(rows: Sequence[ShownRow]) -> list[_Group]:
    found: dict[tuple[State, str], list[ShownRow]] = defaultdict(list)
    for row in rows:
        found[row.state, row.reason or ""].append(row)
    groups = [_Group(state, reason, these) for (state, reason), these in found.items()]
    return sorted(groups, key=lambda one: (ORDER.index(one.state), -len(one.rows)))


async def _last_sheet(board: Board, person: Person, campaign: str) -> KeptPlan | None:
    """Return the newest plan that was made of a sheet."""
    plans = await see_plans(board, person, campaign)
    return next((seen.plan for seen in plans if seen.plan.sheet_id is not None), None)


async def _last_run(board: Board, person: Person, campaign: str) -> str | None:
    """Return the id of the newest run, where it has ended."""
    runs = await see_runs(board, person, campaign, limit=1)
    return runs[0].id if runs and runs[0].ended_at is not None else None
