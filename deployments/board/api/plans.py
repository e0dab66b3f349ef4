"""`/plans`: asked for of a sheet, looked at, approved."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field

from callsheet.deployments.board.acts.approve import approve
from callsheet.deployments.board.acts.plans import plan_of_sheet, see_plan
from callsheet.deployments.board.board import TheBoard
from callsheet.deployments.board.who import Approver, Reviewer, Viewer
from callsheet.tasks.campaign.board_plan import PlanTerms
from callsheet.tasks.ledger import PlanState

router = APIRouter(prefix="/plans", tags=["plans"])

PlanId = Annotated[str, Path(max_length=64)]
Amount = Annotated[Decimal, Field(ge=0, le=10**12, max_digits=18, decimal_places=6)]


#: An amount of credits: whole where it is.
Number = int | float


class PlanAsked(BaseModel):
    """What is to be planned: a sheet that was handed in, and the terms.

    `new_campaign` and `same_campaign` say what a person says of a sheet that looks like another
    campaign's; `hidden_rows` what becomes of rows that a workbook hides.
    """

    model_config = ConfigDict(extra="forbid")

    sheet: str = Field(max_length=64)
    campaign: str | None = Field(default=None, min_length=1, max_length=200)
    select: str | None = Field(default=None, max_length=4000)
    budget: Amount | None = None
    hidden_rows: Literal["skip", "read"] | None = None
    new_campaign: bool = False
    same_campaign: bool = False


class PlanBegun(BaseModel):
    """A plan whose prices are being asked for."""

    plan: str
    state: PlanState


class PlanLineOut(BaseModel):
    """What would happen to one row; `credits` is null while nobody can say."""

    model_config = ConfigDict(extra="allow")

    row: str
    action: str
    credits: Number | None
    why: str | None


class PlanOut(BaseModel):
    """A plan; amounts in credits, null where there is none or nobody could read it.

    `elsewhere` are rows that another campaign has paid for, `retiring` those that have left the
    sheet: both are approved with it.
    """

    plan: str
    state: PlanState
    kind: Literal["run", "retake"]
    campaign: str
    sheet: str | None
    rows: list[PlanLineOut]
    counts: dict[str, int]
    total: Number | None
    unpriced: int | None
    budget: Number | None
    left: Number | None
    balance: Number | None
    elsewhere: list[dict[str, Any]]
    retiring: list[str]
    notes: list[str]
    because: str | None
    expires_at: str | None
    words: str | None
    refusal: str | None
    made_by: str
    made_at: str
    approved_by: str | None
    approved_at: str | None
    replaced_by: str | None
    replaces: str | None
    run: str | None


class ApproveAsked(BaseModel):
    """A budget for the campaign from now on, over all its runs.

    Without one, the campaign keeps the budget it has; a campaign without a budget gets the plan's.
    The budget of a plan that you asked for yourself counts as given.
    """

    model_config = ConfigDict(extra="forbid")

    budget: Amount | None = None


class ApprovedOut(BaseModel):
    """The run that carries out what was approved."""

    run: str
    campaign: str


@router.post("", status_code=202, response_model=PlanBegun)
async def make_plan(asked: PlanAsked, board: TheBoard, person: Reviewer) -> dict[str, str]:
    """Have a plan made: what would happen to every row, and its price. Spends nothing."""
    terms = PlanTerms(**asked.model_dump(exclude={"sheet"}))
    return {"plan": await plan_of_sheet(board, person, asked.sheet, terms), "state": "quoting"}


@router.get("/{plan}", response_model=PlanOut)
async def get_plan(plan: PlanId, board: TheBoard, person: Viewer) -> dict[str, Any]:
    """Return a plan as it is now."""
    return (await see_plan(board, person, plan)).as_json()


@router.post("/{plan}/approve", status_code=202, response_model=ApprovedOut)
async def approve_plan(
    plan: PlanId, board: TheBoard, person: Approver, asked: ApproveAsked | None = None
) -> dict[str, str]:
    """Approve a plan as it was shown, and have it carried out; sent again, the same answer."""
    budget = None if asked is None else asked.budget
    return (await approve(board, person, plan, budget=budget)).as_json()
