"""`/plans`, `/runs` and retakes."""

from __future__ import annotations

from dataclasses import asdict
from decimal import Decimal
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field

from callsheet.deployments.board.board import Approver, Reviewer, TheBoard, Viewer
from callsheet.deployments.board.services.plans import approve, plan_of_sheet, see_plan
from callsheet.deployments.board.services.rows import (
    plan_of_retakes,
    resume,
    see_run,
)
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.ledger.plans import PlanState
from callsheet.tasks.values.answers import Moment

router = APIRouter(prefix="/plans", tags=["plans"])

PlanId = Annotated[str, Path(max_length=64)]
Amount = Annotated[Decimal, Field(ge=0, le=10**12, max_digits=18, decimal_places=6)]


#: An amount of credits: whole where it is.
Number = int | float


class PlanAsked(BaseModel):
    """What is to be planned: a sheet that was uploaded, and the terms.

    `new_campaign` and `same_campaign` say what a person says of a sheet that looks like another
    campaign's; `hidden_rows` what becomes of rows that a workbook hides. `first` leaves out all but
    the first rows; with `canary` one row of each kind is made, and the others wait until its video
    is kept. With `waves` parts of the rows are made first, as `["10%", "50%"]`;
    `retry_failed` allows so many new attempts of each row whose render fails. With `edits` of
    `retake` a changed row gets a new video instead of an edit. With `adopt` rows take over videos
    that exist at the service, and none is made. `worksheet` is the one to read of a workbook;
    `yes_many` accepts a matrix of more than 10,000 videos.
    """

    model_config = ConfigDict(extra="forbid")

    sheet: str = Field(max_length=64)
    campaign: str | None = Field(default=None, min_length=1, max_length=200)
    select: str | None = Field(default=None, max_length=4000)
    budget: Amount | None = None
    hidden_rows: Literal["skip", "read"] | None = None
    worksheet: str | None = Field(default=None, max_length=200)
    first: int | None = Field(default=None, ge=1, le=10**6)
    canary: Literal["no", "yes"] | None = None
    edits: Literal["cheapest", "retake"] | None = None
    waves: list[str] | None = Field(default=None, max_length=20)
    retry_failed: int | None = Field(default=None, ge=0, le=10)
    adopt: bool = False
    yes_many: bool = False
    new_campaign: bool = False
    same_campaign: bool = False


class PlanBegun(BaseModel):
    """A plan whose prices are being asked for."""

    plan: str
    state: PlanState


class PlanLineOut(BaseModel):
    """What would happen to one row; `credits` is null while no one can say."""

    model_config = ConfigDict(extra="allow")

    row: str
    action: str
    credits: Number | None
    why: str | None


class PlanOut(BaseModel):
    """A plan; amounts in credits, null where there is none or no one could read it.

    `elsewhere` are rows that another campaign has paid for, `retiring` those that have left the
    sheet; `changes` says what else approving it changes: all of this is approved with it.
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
    changes: list[str]
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
    """The run that executes what was approved."""

    run: str
    campaign: str


@router.post("", status_code=202, response_model=PlanBegun)
async def make_plan(asked: PlanAsked, board: TheBoard, person: Reviewer) -> dict[str, str]:
    """Make a plan: what would happen to every row, and its price. Spends nothing."""
    options = RunOptions.of(asked.model_dump(exclude={"sheet"}))
    return {"plan": await plan_of_sheet(board, person, asked.sheet, options), "state": "quoting"}


@router.get("/{plan}", response_model=PlanOut)
async def get_plan(plan: PlanId, board: TheBoard, person: Viewer) -> dict[str, Any]:
    """Return a plan as it is now."""
    return (await see_plan(board, person, plan)).as_json()


@router.post("/{plan}/approve", status_code=202, response_model=ApprovedOut)
async def approve_plan(
    plan: PlanId, board: TheBoard, person: Approver, asked: ApproveAsked | None = None
) -> dict[str, str]:
    """Approve a plan as it was shown, and start its run. Sent again, it gives the same answer."""
    budget = None if asked is None else asked.budget
    return (await approve(board, person, plan, budget=budget)).as_json()


# `/campaigns/C/retakes`: other takes of rows, as a plan with prices.


retakes_router = APIRouter(prefix="/campaigns/{campaign}/retakes", tags=["campaigns"])

CampaignName = Annotated[str, Path(max_length=200)]
RowId = Annotated[str, Field(min_length=1, max_length=200)]


class RetakesAsked(BaseModel):
    """Which rows are to be made once more, and why; a video that is kept only with `even_kept`."""

    model_config = ConfigDict(extra="forbid")

    rows: list[RowId] | None = Field(default=None, min_length=1, max_length=100_000)
    select: str | None = Field(default=None, min_length=1, max_length=4000)
    because: str | None = Field(default=None, max_length=2000)
    even_kept: bool = False


@retakes_router.post("", status_code=202, response_model=PlanBegun)
async def plan_retakes(
    campaign: CampaignName, asked: RetakesAsked, board: TheBoard, person: Reviewer
) -> dict[str, str]:
    """Make a plan with the price of new takes; approving the plan pays for them."""
    plan = await plan_of_retakes(board, person, campaign, **asked.model_dump())
    return {"plan": plan, "state": "quoting"}


# `/runs`: what became of runs that were approved on the board.


runs_router = APIRouter(prefix="/runs", tags=["runs"])

RunId = Annotated[str, Path(max_length=64)]


class RunOut(BaseModel):
    """A run; `exit` as the command line's exit status.

    `place` had its lease last; `leased_until` is null once that has lapsed or was released.
    """

    id: str
    plan_id: str
    campaign: str
    started_by: str
    asked_at: Moment
    place: str | None
    begun_at: Moment | None
    ended_at: Moment | None
    exit: int | None
    words: str | None
    due_at: Moment | None
    leased_until: Moment | None


@runs_router.get("/{run}", response_model=RunOut)
async def get_run(run: RunId, board: TheBoard, person: Viewer) -> dict[str, Any]:
    """Return a run as it is now."""
    return asdict(await see_run(board, person, run))


@runs_router.post("/{run}/carry-on", status_code=202, response_model=RunOut)
async def carry_run_on(run: RunId, board: TheBoard, person: Approver) -> dict[str, Any]:
    """Resume a run that has ended or whose lease lapsed; it pays for what was approved, at most."""
    return asdict(await resume(board, person, run))
