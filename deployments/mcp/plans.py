"""The tools that plan, spend and cancel.

No tool approves by itself: a plan is approved by an allowance that a person gave, by a person's
answer in the client, or on the board.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Annotated, Any, Literal

from mcp.server.elicitation import (
    AcceptedElicitation,
    CancelledElicitation,
    DeclinedElicitation,
    ElicitationResult,
)
from mcp.server.mcpserver import Context, Elicit, Resolve
from pydantic import BaseModel, Field

from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.services.approval import approve
from callsheet.deployments.board.services.plans import (
    Adopt,
    Canary,
    Edits,
    First,
    PlanAsked,
    PlanOut,
    PlanView,
    RetryFailed,
    Waves,
    make_plan,
    plan_retakes,
    see_plan,
)
from callsheet.deployments.commands.cancel import Cancelled, cancel_rows
from callsheet.deployments.mcp.arguments import (
    Amount,
    Because,
    Budget,
    Campaign,
    NewCampaign,
    PlanId,
    Rows,
    Select,
    Sheet,
    SomeRows,
)
from callsheet.deployments.mcp.caller import Caller, answering, caller_of
from callsheet.deployments.mcp.sheets import upload
from callsheet.tasks.aftercare.approval import beyond_allowance, is_of_agent
from callsheet.tasks.campaign.plan_document import stored_plan
from callsheet.tasks.campaign.stored_plans import unquoted_rows
from callsheet.tasks.ledger.plans import approved_today, void_plan
from callsheet.tasks.ledger.runs import RunRow
from callsheet.tasks.runtime.errors import AllowanceSpent, CallsheetError, VideoKept
from callsheet.tasks.runtime.suggest import suggest
from callsheet.tasks.values.amounts import as_number, count, in_credits, parse_credits

#: Rows that an answer names at most.
SHOWN = 200
#: How long is waited for prices, and for a run to start, in seconds; and between two looks.
PRICES, START, LOOK = 12.0, 6.0, 0.1


class PlanAnswer(PlanOut):
    """A plan: what it would do with each row and cost; `approve_at` where a person approves it.

    Of long lists only the beginning is here; `rows_total` counts all rows.
    """

    rows_total: int
    credits: Amount | None
    approved: bool
    approve_at: str | None
    next: str


class RunAnswer(BaseModel):
    """A run of an approved plan; `credits` is what was approved, the most that it charges."""

    run: str
    state: Literal["starting", "running", "waiting", "finished"]
    campaign: str
    credits: Amount | None
    exit: int | None
    words: str | None
    next: str


class Consent(BaseModel):
    """What a person answers in the client."""

    approve: bool = Field(description="Yes: pay for this plan. No: nothing is paid.")


class NotAsked(BaseModel):
    """Nobody was asked: the allowance covers the plan, it cannot be approved, or nobody can be."""


@answering
async def plan(
    ctx: Context[Any, Any],
    sheet: Sheet,
    budget: Budget = None,
    campaign: NewCampaign = None,
    select: Select = None,
    first: First = None,
    canary: Canary = None,
    waves: Waves = None,
    edits: Edits = None,
    retry_failed: RetryFailed = None,
    adopt: Adopt = False,
) -> PlanAnswer:
    """Price every row of a sheet and store the plan. Spends nothing.

    `sheet` is a path below the working folder, an https:// address, or the text of a sheet (CSV,
    YAML or JSON); name the `campaign` of a text. `budget` limits what a new campaign may cost in
    credits, over all its runs. `select` chooses rows: `tag:x`, `language:en`, or ids with commas.
    To try before paying for all: `first`, `canary` or `waves`.
    Next: show the person the price, then call `run_plan`.
    """
    caller = await caller_of(ctx, "reviewer")
    seen = await upload(caller, sheet, name=campaign)
    asked = PlanAsked(
        sheet=seen.kept.id,
        campaign=campaign,
        select=select,
        budget=None if budget is None else Decimal(str(budget)),
        first=first,
        canary=canary,
        waves=waves,
        edits=edits,
        retry_failed=retry_failed,
        adopt=adopt,
    )
    return await priced(caller, (await make_plan(caller.board, asked)).plan)


@answering
async def retake(
    ctx: Context[Any, Any], campaign: Campaign, rows: Rows, because: Because
) -> PlanAnswer:
    """Price new videos for rows whose video is not good enough. Spends nothing: returns a plan.

    `because` is the reason, for the person who approves. Next: show the price, call `run_plan`.
    """
    caller = await caller_of(ctx, "reviewer")
    try:
        begun = await plan_retakes(caller.board, campaign, rows, because=because)
    except ProblemDetails as error:
        if isinstance(error.__cause__, VideoKept):
            error.remedy = "a person can have it made again on the board"
        raise
    return await priced(caller, begun.plan)


async def priced(caller: Caller, plan_id: str) -> PlanAnswer:
    """Return a plan once its prices are known, or as it is after a while."""
    view = await _seen(caller, plan_id, PRICES, lambda view: view.state != "quoting")
    if view.state == "void":
        words = view.plan.words or "the plan could not be made; nothing was charged"
        raise ProblemDetails(409, words, remedy="solve this, then make a new plan")
    return await plan_answer(caller, view)


async def _seen(
    caller: Caller, plan_id: str, within: float, ready: Callable[[PlanView], bool]
) -> PlanView:
    """Return a plan once it is ready, or as it is after so many seconds."""
    clock = asyncio.get_running_loop().time
    until = clock() + within
    while True:
        view = await see_plan(caller.board, plan_id)
        if ready(view) or clock() >= until:
            return view
        await asyncio.sleep(LOOK)


async def plan_answer(caller: Caller, view: PlanView) -> PlanAnswer:
    """Return a plan as tools say it."""
    said = view.answer.model_dump()
    within = await is_within(caller, view)
    open_ = view.state in ("quoting", "ready") and not within
    link = await link_to(caller, view) if open_ else None
    shown = {name: said[name][:SHOWN] for name in ("rows", "elsewhere", "retiring")}
    if _stopped(view):
        said["remedy"] = _next(view, within=False, link=link)
    return PlanAnswer(
        **{**said, **shown},
        rows_total=len(said["rows"]),
        credits=said["total"] if view.state != "quoting" else None,
        approved=view.state == "approved",
        approve_at=link,
        next=_next(view, within=within, link=link),
    )


def _stopped(view: PlanView) -> str | None:
    """Return why nobody can approve a plan as it is; None where a person can."""
    said: str | None = view.document.get("refusal")
    return said if view.state == "ready" else None


def _next(view: PlanView, *, within: bool, link: str | None = None) -> str:
    if view.state == "quoting":
        return "its prices are still asked for: call `run_plan` or `status` in a few seconds"
    if view.state == "void":
        return f"{view.plan.words or 'the plan is no longer valid'}: make a new plan"
    if view.state == "expired":
        return "its prices no longer hold: make a new plan"
    if view.state == "approved":
        return "it is approved: `status` shows how far its run is"
    if _stopped(view):
        words = "it cannot be approved as it is (`refusal`): call `plan` with another `campaign`"
        return words + (", or ask a person to choose at `approve_at`" if link else "")
    if within:
        return "the allowance covers it: `run_plan` pays for it and starts"
    words = "a person has to approve it: call `run_plan`, or "
    there = "give them the address in `approve_at`"
    return words + (there if link else f"ask them to start `{suggest('board')}` and approve it")


async def link_to(caller: Caller, view: PlanView) -> str | None:
    """Return where a person approves a plan; None where no board of this ledger answers there."""
    answers = caller.desk.board_answers
    if answers is not None and not await answers():
        return None
    return f"{caller.board.origin}/plans/{view.plan.id}"


async def is_within(caller: Caller, view: PlanView) -> bool:
    """Whether what is left of an agent's allowance today covers a plan.

    The transaction that approves decides it again.
    """
    person, plan = caller.person, view.plan
    if person.role != "agent" or plan.document is None or _stopped(view):
        return False
    if unquoted_rows(stored_plan(plan), accepts_limits=False):
        return False
    if await caller.board.read(beyond_allowance, plan=plan, approver=person):
        return False
    spent = await caller.board.read(approved_today, person=person.name, at=caller.board.clock())
    return spent + (plan.total or Decimal(0)) <= (person.allowance or Decimal(0))


async def ask(ctx: Context[Any, Any], plan: str) -> NotAsked | Elicit[Consent]:
    """Return the question to the person, where one has to be asked and the client can ask it.

    It is run again with each answer, and has to ask the same then: its words are the plan's alone.
    """
    try:
        caller = await caller_of(ctx, "reviewer")
        view = await see_plan(caller.board, plan)
        if view.state != "ready" or _stopped(view) or not _can_ask(ctx):
            return NotAsked()
        if await is_within(caller, view) or await caller.approver() is None:
            return NotAsked()
    except (CallsheetError, ProblemDetails):
        # The tool itself says what is wrong.
        return NotAsked()
    rows, budget = count(view.spending, "row"), view.document["credits"]["budget"]
    unpriced = view.document["credits"]["unpriced"]
    more = f", and {count(unpriced, 'row')} without a price" if unpriced else ""
    limit = f" The budget of the campaign is {in_credits(parse_credits(budget))}." if budget else ""
    words = (
        f"Approve {rows} of campaign {view.plan.campaign} for {in_credits(view.plan.total)}{more}?"
        f"{limit}{_also(view)} Plan {view.plan.id}."
    )
    return Elicit(words, Consent)


def _also(view: PlanView) -> str:
    """Say what else is approved, in the question to a person."""
    return f" Approving it also means: {'; '.join(view.changes)}." if view.changes else ""


def _can_ask(ctx: Context[Any, Any]) -> bool:
    said = ctx.client_capabilities
    form = said.elicitation if said else None
    return form is not None and (form.form is not None or form.url is None)


@answering
async def run_plan(
    ctx: Context[Any, Any],
    plan: PlanId,
    answer: Annotated[ElicitationResult[Consent], Resolve(ask)],
) -> RunAnswer:
    """Pay for a plan and start making its videos; returns at once. This spends credits.

    It is approved by the allowance that a person gave you, or by the person's answer in this
    client, or on the board. The same plan twice is one run and one charge. Next: `status`.
    """
    caller = await caller_of(ctx, "reviewer")
    view = await see_plan(caller.board, plan)
    if view.run is None:
        by = await _approver(caller, view, answer)
        try:
            await approve(replace(caller.board, person=by), plan, asked_by=caller.person.name)
        except ProblemDetails as error:
            if isinstance(error.__cause__, AllowanceSpent):
                raise await _link(caller, view, error.detail) from error
            raise
    view = await _seen(caller, plan, START, _has_begun)
    assert view.run is not None, "an approved plan has a run"
    return run_answer(view.run, view)


def _has_begun(view: PlanView) -> bool:
    """Whether a process has the run of a plan, or had it."""
    run = view.run
    return run is not None and (run.begun_at is not None or run.ended_at is not None)


async def _approver(caller: Caller, view: PlanView, answer: ElicitationResult[Any]) -> Any:
    """Return who approves; a no is final and comes before anything else is looked at."""
    if isinstance(answer, DeclinedElicitation) or (
        isinstance(answer, AcceptedElicitation)
        and isinstance(answer.data, Consent)
        and not answer.data.approve
    ):
        words = "a person declined it; nothing was charged"
        await caller.board.write(void_plan, plan_id=view.plan.id, old="ready", words=words)
        raise ProblemDetails(
            403, f"{words}. This answer is final",
            remedy="do not run this plan again; ask the person what to change, then make another",
        )  # fmt: skip
    if isinstance(answer, CancelledElicitation):
        raise await _link(
            caller, view, "the question was closed without an answer; nothing was charged"
        )
    if isinstance(answer.data, Consent):
        approver = await caller.approver()
        if approver is not None:
            return approver
    if await is_within(caller, view):
        return caller.person
    raise await _not_approved(caller, view)


async def _not_approved(caller: Caller, view: PlanView) -> ProblemDetails:
    """Return the refusal of a plan that nobody approves by this call."""
    if view.state == "ready" and not _stopped(view):
        words = f"a person has to approve this plan{await _why(caller, view)}"
        return await _link(caller, view, words)
    link = await link_to(caller, view) if _stopped(view) else None
    return ProblemDetails(
        409, _stopped(view) or f"the plan is {view.state}; nothing was charged",
        remedy=_next(view, within=False, link=link),
        extra={"plan": view.plan.id, "approve_at": link} if link else {},
    )  # fmt: skip


async def _why(caller: Caller, view: PlanView) -> str:
    """Say why an agent's allowance does not do, where that is not the amount."""
    words = None
    if caller.person.role == "agent":
        words = await caller.board.read(beyond_allowance, plan=view.plan, approver=caller.person)
    because = f": an allowance covers only making videos, and {words}" if words else ""
    return f"{because}; nothing was charged"


async def _link(caller: Caller, view: PlanView, words: str) -> ProblemDetails:
    """Return the refusal that leads a person to the board."""
    where = await link_to(caller, view)
    there = (
        f"approve it at {where}" if where else f"start `{suggest('board')}` and approve it there"
    )
    return ProblemDetails(
        403, words,
        remedy=f"ask a person to {there}, then call `run_plan` or `status` again; or make a plan "
        "with fewer rows",
        extra={"plan": view.plan.id, "approve_at": where},
    )  # fmt: skip


def run_answer(run: RunRow, view: PlanView) -> RunAnswer:
    """Return a run as tools say it."""
    state: Literal["starting", "running", "waiting", "finished"] = "starting"
    if run.is_over:
        state = "finished"
    elif run.due_at is not None:
        state = "waiting"
    elif run.begun_at is not None:
        state = "running"
    return RunAnswer(
        run=run.id,
        state=state,
        campaign=run.campaign,
        credits=as_number(view.plan.total),
        exit=run.exit,
        words=run.words or _why_ended(run),
        next=_after(run)
        if state == "finished"
        else "call `status` now and then; videos take minutes",
    )


def _why_ended(run: RunRow) -> str | None:
    """Return that a run failed without saying why; None for one that did not fail."""
    if run.exit in (None, 0, 3, 5):
        return None
    return f"the run ended with status {run.exit} and left no reason; its log on the board may"


def _after(run: RunRow) -> str:
    if run.exit in (0, 3):
        return "call `show_videos`, and `rows` for what needs attention"
    return "it stopped for the reason in `words`: tell the person, and make a new plan once solved"


@answering
async def cancel(ctx: Context[Any, Any], campaign: Campaign, rows: SomeRows = None) -> Cancelled:
    """Cancel rows, or all that is left of a campaign. Charges nothing; videos that exist stay.

    What is rendering is cancelled as far as the service allows, and may have been charged.
    """
    caller = await caller_of(ctx, "agent")
    if caller.person.role == "agent" and not await caller.board.read(
        is_of_agent, campaign=campaign, agent=caller.person
    ):
        raise ProblemDetails(
            403,
            f"{caller.person.name} did not begin campaign {campaign}; nothing was cancelled",
            remedy=f"ask a person to cancel it: `{suggest('cancel', campaign)}`, or on the board",
        )
    done = await cancel_rows(caller.board, campaign, rows)
    return done.model_copy(update={"rows": done.rows[:SHOWN]})
