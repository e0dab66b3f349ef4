"""Plans: asked for of a sheet or of rows, priced in the background, looked at until approved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from callsheet.deployments.board.board import Board
from callsheet.deployments.board.places import Place
from callsheet.deployments.board.problem_details import ProblemDetails, listed
from callsheet.deployments.board.services.sheet_view import more_problems, problem_json
from callsheet.deployments.board.services.sheets import kept_sheet, read_mapped
from callsheet.deployments.commands.cancel import Rows, Select
from callsheet.tasks.aftercare.retake import RETAKE
from callsheet.tasks.campaign.match import check_same_money
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.propose import propose
from callsheet.tasks.campaign.stored_plans import (
    ask_plan,
    plan_unpriced,
    replace_plan,
)
from callsheet.tasks.campaign.values import PAID, Plan
from callsheet.tasks.ledger.plans import (
    KeptPlan,
    PlanState,
    find_plan,
    latest_plan,
    plan_before,
    plans_of,
)
from callsheet.tasks.ledger.row_filter import RowFilter
from callsheet.tasks.ledger.runs import RunRow, run_for
from callsheet.tasks.runtime.errors import (
    SheetError,
    VideoKept,
)
from callsheet.tasks.values.answers import iso

PlanId = Annotated[str, Field(max_length=64)]
Amount = Annotated[Decimal, Field(ge=0, le=10**12, max_digits=18, decimal_places=6)]
#: An amount of credits: whole where it is.
Number = int | float
#: Rows that a refusal names at most.
NAMED = 20


First = Annotated[
    int | None,
    Field(ge=1, le=10**6, description="process only the first rows of the sheet, this many"),
]
Canary = Annotated[
    Literal["no", "yes"] | None,
    Field(description="yes: one video of each kind first; the others wait until it is kept"),
]
Waves = Annotated[
    list[str] | None,
    Field(max_length=20, description='parts of the rows to make first, as `["10%", "50%"]`'),
]
Edits = Annotated[
    Literal["cheapest", "retake"] | None,
    Field(description="what a changed row gets: an edit of its video if that is enough, or a new"),
]
RetryFailed = Annotated[
    int | None,
    Field(ge=0, le=10, description="new attempts of each row whose render fails, at most"),
]
Adopt = Annotated[
    bool, Field(description="take over videos that exist at the service; none is made")
]


class PlanAsked(BaseModel):
    """What is to be planned: a sheet that was uploaded, and the terms."""

    model_config = ConfigDict(extra="forbid")

    sheet: str = Field(max_length=64)
    campaign: str | None = Field(default=None, min_length=1, max_length=200)
    select: Select = None
    budget: Amount | None = None
    hidden_rows: Annotated[
        Literal["skip", "read"] | None,
        Field(description="what becomes of rows that a workbook hides"),
    ] = None
    worksheet: Annotated[
        str | None, Field(max_length=200, description="the one to read of a workbook")
    ] = None
    first: First = None
    canary: Canary = None
    edits: Edits = None
    waves: Waves = None
    retry_failed: RetryFailed = None
    adopt: Adopt = False
    yes_many: Annotated[bool, Field(description="accept a matrix of more than 10,000 videos")] = (
        False
    )
    new_campaign: Annotated[
        bool, Field(description="make videos again that another campaign paid for")
    ] = False
    same_campaign: Annotated[
        bool, Field(description="the campaign goes on with this sheet from another place")
    ] = False


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

    `limits` says what is left of the budgets of a day, a month and cost centers. `elsewhere` are
    rows that another campaign has paid for, `retiring` those that have left the
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
    limits: list[str]
    elsewhere: list[dict[str, Any]]
    retiring: list[str]
    changes: list[str]
    notes: list[str]
    because: str | None
    expires_at: str | None
    words: Place | None
    refusal: Place | None
    remedy: Place | None
    made_by: str
    made_at: str
    approved_by: str | None
    approved_at: str | None
    replaced_by: str | None
    replaces: str | None
    run: str | None


async def make_plan(board: Board, asked: PlanAsked) -> PlanBegun:
    """Make a plan: what would happen to every row, and its price. Spends nothing."""
    options = RunOptions.of(asked.model_dump(exclude={"sheet"}))
    return PlanBegun(plan=await plan_of_sheet(board, asked.sheet, options), state="quoting")


async def get_plan(board: Board, plan: PlanId) -> PlanOut:
    """Return a plan as it is now."""
    return (await see_plan(board, plan)).answer


async def plan_retakes(
    board: Board,
    campaign: str,
    rows: Rows = None,
    select: Select = None,
    because: Annotated[str | None, Field(max_length=2000)] = None,
    even_kept: Annotated[
        bool, Field(description="also rows named here whose video a person keeps")
    ] = False,
) -> PlanBegun:
    """Make a plan with the price of new takes; approving the plan pays for them."""
    if not rows and not select:
        raise ProblemDetails(
            422, "say which rows are to be taken again", remedy='"rows": [...] or "select": "..."'
        )
    check_same_money(await board.campaign(campaign), sandbox=board.sandbox)
    ask = RunOptions(
        campaign=campaign,
        rows=tuple(rows) if rows else None,
        select=select,
        because=because,
        # A selection leaves out what is kept.
        even_kept=even_kept and bool(rows),
        sandbox=board.sandbox,
    )
    try:
        plan = await board.read(RETAKE.plan, ask=ask, make=False)
    except VideoKept as error:
        remedy = '"even_kept": true has them made again all the same'
        raise ProblemDetails(422, str(error), remedy=remedy) from error
    if not plan.spending or (rows and plan.named("fetch")):
        raise ProblemDetails(422, _unfit(plan))
    ask = ask.but(rows=tuple(plan.named("retake")), select=None)
    change = partial(ask_plan, kind="retake", campaign=campaign)
    return PlanBegun(plan=await _begin(board, change, ask), state="quoting")


def _unfit(plan: Plan) -> str:
    """Say which of the rows of a plan cannot be taken again, and why."""
    several = [line for line in plan.lines if line.action != "retake"]
    named = ", ".join(f"{line.row} ({line.why})" for line in several[:NAMED])
    words = f"{named} cannot" if named else "none of these rows can"
    return f"{words} be taken again; nothing was spent"


@dataclass(frozen=True, kw_only=True)
class PlanView:
    """A plan as it is now: `state` says whether it has expired, `run` is there once approved.

    `replaces` is the plan whose place it took, `latest` the one that stands in its own by now.
    """

    plan: KeptPlan
    state: PlanState
    run: RunRow | None = None
    replaces: KeptPlan | None = None
    latest: str | None = None

    @property
    def document(self) -> Mapping[str, Any]:
        """What it says; nothing while it is quoted."""
        return self.plan.document or {}

    @property
    def rows(self) -> Sequence[Mapping[str, Any]]:
        """Its lines, as `plan --json` has them."""
        found: Sequence[Mapping[str, Any]] = self.document.get("rows", ())
        return found

    @property
    def spending(self) -> int:
        """How many rows it pays for."""
        return sum(self.counts[action] for action in PAID)

    @property
    def counts(self) -> Counter[str]:
        """How many rows there are of each action."""
        return Counter(line["action"] for line in self.rows)

    @property
    def changes(self) -> list[str]:
        """What it changes besides making videos, a sentence each."""
        return [one["words"] for one in self.document.get("changes", ())]

    @property
    def answer(self) -> PlanOut:
        """The answer of `GET /plans/ID`."""
        plan, credits = self.plan, self.document.get("credits", {})
        return PlanOut(
            plan=plan.id,
            state=self.state,
            kind=plan.kind,
            campaign=plan.campaign,
            sheet=plan.sheet_id,
            rows=[_line(line) for line in self.rows],
            counts=dict(self.counts),
            total=credits.get("total"),
            unpriced=credits.get("unpriced"),
            budget=credits.get("budget"),
            left=credits.get("left"),
            balance=credits.get("balance"),
            limits=self.document.get("limits", []),
            elsewhere=self.document.get("elsewhere", []),
            retiring=self.document.get("retiring", []),
            changes=self.changes,
            notes=self.document.get("notes", []),
            because=self.document.get("because"),
            expires_at=_moment(plan.expires_at),
            words=plan.words,
            refusal=self.document.get("refusal"),
            remedy=remedy_in(self.document),
            made_by=plan.made_by,
            made_at=iso(plan.made_at),
            approved_by=plan.approved_by,
            approved_at=_moment(plan.approved_at),
            replaced_by=self.latest,
            replaces=self.replaces.id if self.replaces else None,
            run=self.run.id if self.run else None,
        )


async def plan_of_sheet(board: Board, sheet_id: str, options: RunOptions) -> str:
    """Have a plan made of a sheet; return its id, while it is being quoted.

    Raises BadInput for a selection that cannot be read, ProblemDetails (422) with the problems of
    the sheet, or where a workbook hides rows and no one said whether they are wanted.
    """
    kept = await kept_sheet(board, sheet_id)
    RowFilter.parse(options.select)
    options, found = await read_mapped(board, kept, options.but(sandbox=board.sandbox))
    try:
        sheet = found.good()
    except SheetError as error:
        problems = listed(error.problems, problem_json, more_problems)
        raise ProblemDetails(
            422, str(error), title="The sheet has problems", remedy=error.remedy, problems=problems
        ) from error
    if sheet.hidden:
        raise ProblemDetails(
            422,
            f"the workbook hides rows ({', '.join(sorted(sheet.hidden)[:5])})",
            title="Are hidden rows wanted?",
            remedy='say "hidden_rows": "skip" to leave them out, "read" to make videos of them too',
        )
    run = options.of_sheet(kept.place)
    named = await plan_unpriced(board.ledger, sheet, run, board.settings)
    change = partial(ask_plan, kind="run", campaign=named.sheet.campaign, sheet_id=kept.id)
    return await _begin(board, change, options)


async def see_plan(board: Board, plan_id: str) -> PlanView:
    """Return a plan; raises ProblemDetails (404) for none."""
    plan = await kept_plan(board, plan_id)
    return PlanView(
        plan=plan,
        state=plan.state_at(board.clock()),
        run=await board.read(run_for, plan_id=plan_id),
        replaces=await board.read(plan_before, plan_id=plan_id),
        latest=await latest_of(board, plan),
    )


async def latest_of(board: Board, plan: KeptPlan) -> str | None:
    """Return the plan that stands in the place of a plan by now; None where it was not replaced."""
    if plan.replaced_by is None:
        return None
    return await board.read(latest_plan, plan_id=plan.replaced_by)


async def see_plans(board: Board, campaign: str | None, *, limit: int = 50) -> list[PlanView]:
    """Return the newest plans, of a campaign or of all, without their rows."""
    found = await board.read(plans_of, campaign=campaign, limit=limit)
    return [PlanView(plan=plan, state=plan.state_at(board.clock())) for plan in found]


def remedy_in(document: Mapping[str, Any]) -> str | None:
    """Return what helps where a plan is refused, as a call of the API says it."""
    said: str | None = document.get("remedy")
    if said is None or "--" not in said:
        return said
    terms = ("same_campaign", "new_campaign")
    named = [f'"{one}": true' for one in terms if f"--{one.replace('_', '-')}" in said]
    return ", or with ".join(['make a plan with another "campaign"', *named])


async def plan_again(
    board: Board, old: KeptPlan, *, words: str, sheet_id: str | None = None
) -> str:
    """Have a plan made in the place of one that no longer holds; return the new one's id."""
    terms = old.terms
    if old.made_by != board.by:
        # The budget that another person asked for does not become one that this person planned.
        terms = {**terms, "keep_budget": True}
    new = await board.write(
        replace_plan,
        old=old,
        plan_id=board.token(),
        terms=terms,
        words=words,
        by=board.by,
        at=board.clock(),
        sheet_id=sheet_id,
    )
    board.attention.set()
    return new


async def kept_plan(board: Board, plan_id: str) -> KeptPlan:
    """Return a plan as the ledger has it; raises ProblemDetails (404) for none."""
    plan = await board.read(find_plan, plan_id=plan_id)
    if plan is None:
        raise ProblemDetails(404, "there is no such plan")
    return plan


async def _begin(board: Board, change: Any, options: RunOptions) -> str:
    plan_id = board.token()
    begun = partial(change, plan_id=plan_id, terms=options.kept())
    await board.write(begun, by=board.by, at=board.clock())
    board.attention.set()
    return plan_id


def _line(line: Mapping[str, Any]) -> PlanLineOut:
    more = {name: value for name, value in line.items() if name not in ("id", "take_id", "nth")}
    return PlanLineOut(**more, credits=line["quoted"])


def _moment(seconds: float | None) -> str | None:
    return None if seconds is None else iso(seconds)


async def proposed(
    board: Board,
    plan: KeptPlan,
    options: RunOptions,
    *,
    shown: Plan | None = None,
    within: float | None = None,
) -> Plan:
    """Return a stored plan of rows as it would be now; `shown` and `within` as in `propose`."""
    ask = options.but(campaign=plan.campaign, saved_plan=True)
    proposing = partial(propose, RETAKE, ask, board.ledger, board.service, clock=board.clock)
    return await proposing(settings=board.settings, shown=shown, within=within)
