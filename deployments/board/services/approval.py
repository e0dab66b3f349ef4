"""Approving a plan as it was shown, and having it executed.

If anything changed since a plan was shown, nothing is approved, and a new plan replaces it.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from functools import partial
from typing import Annotated

from pydantic import BaseModel, Field

from callsheet.deployments.board.board import Board
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.services.plans import (
    Amount,
    PlanId,
    kept_plan,
    latest_of,
    plan_again,
    proposed,
    remedy_in,
)
from callsheet.deployments.board.services.sheets import (
    hand_in_fetched,
    kept_sheet,
    parsed,
)
from callsheet.deployments.board.uploads import fetch_again
from callsheet.tasks.aftercare.approval import approve_on_board
from callsheet.tasks.campaign.match import note_ledger
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.plan import as_planned
from callsheet.tasks.campaign.plan_document import stored_plan
from callsheet.tasks.campaign.quotes import ask_prices, shortage
from callsheet.tasks.campaign.stored_plans import (
    plan_unpriced,
    with_known_prices,
)
from callsheet.tasks.campaign.validity import moved_since
from callsheet.tasks.engine.free_calls import Price, Priceable
from callsheet.tasks.ledger.plans import (
    KeptPlan,
)
from callsheet.tasks.ledger.runs import RunRow, run_for
from callsheet.tasks.runtime.crash_points import crashpoint
from callsheet.tasks.runtime.errors import (
    AllowanceSpent,
    MovedOn,
    NotApproved,
    OverBudget,
)
from callsheet.tasks.sheet import Sheet
from callsheet.tasks.values.amounts import as_text

#: Rows that are named where something has moved on; of more the number is said.
NAMED = 20
#: What a refusal says at its end, where the ledger's has not said it.
UNSPENT = "nothing was approved or spent"
#: Prices are asked for again for so long, in seconds; a run holds all others against the plan.
CHECK = 5.0


class ApprovedOut(BaseModel):
    """The run that executes what was approved."""

    run: str
    campaign: str


async def approve_plan(
    board: Board,
    plan: PlanId,
    budget: Annotated[Amount | None, Field(description="of the campaign from now on")] = None,
) -> ApprovedOut:
    """Approve a plan as it was shown, and start its run. Sent again, it gives the same answer.

    Without a budget, the campaign keeps the one it has; a campaign without a budget gets the
    plan's. The budget of a plan that you asked for yourself counts as given.
    """
    return await approve(board, plan, budget=budget)


async def approve(
    board: Board,
    plan_id: str,
    *,
    budget: Decimal | None = None,
    asked_by: str | None = None,
) -> ApprovedOut:
    """Approve a plan as it was shown, and have it executed; again, the same answer.

    `budget` is what the campaign may cost in all; without one, a campaign keeps the budget it has,
    unless the same person planned another. `asked_by` is the program in which the person answered.
    Raises ProblemDetails: 409 when something has
    moved on, with the new `plan`; 403 beyond the person's role or allowance; 422 where the plan
    does not fit the budget or cannot be approved at all.
    """
    if not board.who.may("agent"):
        raise ProblemDetails(403, f"this takes a person of the role approver, not {board.who.role}")
    plan = await kept_plan(board, plan_id)
    if run := await board.read(run_for, plan_id=plan_id):
        return _answer(run)
    try:
        run = await _approve(board, plan, budget=budget, asked_by=asked_by)
    except _ApprovedMeanwhile as already:
        run = already.run
    board.attention.set()
    return _answer(run)


async def _approve(
    board: Board,
    plan: KeptPlan,
    *,
    budget: Decimal | None,
    asked_by: str | None,
) -> RunRow:
    """Approve a plan that nobody has approved; raise as `approve` does, or _ApprovedMeanwhile."""
    await _check_state(board, plan)
    options = RunOptions.of(plan.terms)
    if budget is not None:
        options = options.but(budget=budget, keep_budget=False)
    elif plan.made_by != board.by:
        # A reviewer asks for a budget with a plan, or writes it into a sheet; an approver gives it.
        options = options.but(keep_budget=True)
    _check_sandbox(board, options)
    sheet: Sheet | None = None
    if plan.kind == "run":
        sheet = await _check_run(board, plan, options)
    else:
        await _check_rows(board, plan, options)
    approving = partial(
        approve_on_board,
        # Not its ledger: the board checks the person with each change.
        board,
        plan,
        sheet=sheet,
        options=options,
        run_id=board.token(),
        person=board.who.id,
        at=board.clock(),
        asked_by=asked_by,
        credit_price=board.settings.credit_price,
    )
    crashpoint("board: before a plan is approved")
    try:
        run = await approving()
    except MovedOn as error:
        raise await _moved_on(board, plan, [str(error)]) from error
    except (AllowanceSpent, NotApproved) as error:
        raise ProblemDetails(403, str(error), remedy=error.remedy) from error
    except OverBudget as error:
        raise _over_budget(error) from error
    crashpoint("board: after a plan is approved")
    if sheet is not None:
        note_ledger(board.settings, sheet)
    return run


class _ApprovedMeanwhile(Exception):
    """The plan has a run by now: what has moved on is what that has done."""

    def __init__(self, run: RunRow) -> None:
        super().__init__(run.id)
        self.run = run


def _answer(run: RunRow) -> ApprovedOut:
    return ApprovedOut(run=run.id, campaign=run.campaign)


async def _check_state(board: Board, plan: KeptPlan) -> None:
    """Raise ProblemDetails (409) for a plan that cannot be approved any more, or not yet."""
    state = plan.state_at(board.clock())
    if state == "quoting":
        raise ProblemDetails(
            409, "its prices are still asked for", title="Not yet", extra={"plan": plan.id}
        )
    if state == "void":
        words = plan.words or "the plan is no longer valid"
        new = await latest_of(board, plan)
        raise ProblemDetails(409, words, extra={} if new is None else {"plan": new})
    if state == "expired":
        raise await _moved_on(board, plan, ["this plan has expired"])


def _check_sandbox(board: Board, options: RunOptions) -> None:
    if options.sandbox != board.sandbox:
        made = "with --sandbox" if options.sandbox else "with a real service"
        raise ProblemDetails(
            409, f"the plan was made by a board {made}; nothing was approved or spent"
        )


async def _check_run(board: Board, plan: KeptPlan, options: RunOptions) -> Sheet:
    """Return the sheet as it was planned; raise ProblemDetails for what has moved on."""
    assert plan.document is not None
    assert plan.sheet_id is not None
    if plan.document["refusal"]:
        raise ProblemDetails(
            422, plan.document["refusal"], title="This cannot be approved",
            remedy=remedy_in(plan.document),
        )  # fmt: skip
    kept = await kept_sheet(board, plan.sheet_id)
    fetched = await fetch_again(board, kept)
    if fetched is not None:
        seen = await hand_in_fetched(board, fetched=fetched, place=kept.place)
        words = [f"the sheet at {kept.place} has changed"]
        raise await _moved_on(board, plan, words, sheet_id=seen.kept.id)
    sheet = await parsed(board, kept, options)
    run = options.of_sheet(kept.place)
    found = await plan_unpriced(board.ledger, sheet, run, board.settings)
    shown = stored_plan(plan, board.settings.credit_price)
    wanted = {line.row for line in shown.spending}
    lines = [line for line in found.plan.spending if line.row in wanted]
    asked = await _prices_now(board, as_planned(found.sheet.briefs, lines))
    now = with_known_prices(shown, found.plan, asked)
    moved = moved_since(shown, now)
    if found.match.refusal is not None:
        moved.append(str(found.match.refusal))
    if moved:
        raise await _moved_on(board, plan, moved)
    if refusal := shortage(now):
        raise _over_budget(refusal)
    return found.sheet


async def _check_rows(board: Board, plan: KeptPlan, options: RunOptions) -> None:
    """Raise ProblemDetails for a plan of rows that has moved on, or costs another price."""
    shown = stored_plan(plan)
    now = await proposed(board, plan, options, shown=shown, within=CHECK)
    if moved := moved_since(shown, now):
        raise await _moved_on(board, plan, moved)


async def _prices_now(board: Board, wanted: Sequence[Priceable]) -> dict[str, Price]:
    """Return what the service says now, of as many rows as it answers for in time."""
    if not wanted:
        return {}
    async with board.service() as service:
        asking = partial(ask_prices, at_once=board.settings.polls_at_once, within=CHECK)
        return await asking(service, wanted, clock=board.clock)


def _over_budget(refusal: OverBudget) -> ProblemDetails:
    """Return the refusal of a plan that does not fit the budget of its campaign."""
    if refusal.needed is None:
        title = "The budget cannot be kept"
        remedy = "give a clip max_credits in the sheet, or leave such rows out"
    else:
        title = "The budget is too small"
        needed = as_text(refusal.needed)
        remedy = f"approve it with a budget of {needed}, or name fewer rows"
    return ProblemDetails(422, str(refusal), title=title, remedy=remedy)


async def _moved_on(
    board: Board,
    plan: KeptPlan,
    moved: Sequence[str],
    *,
    sheet_id: str | None = None,
) -> ProblemDetails:
    """Have a new plan made; return the refusal that leads to it.

    Raise _ApprovedMeanwhile where someone has just approved the plan.
    """
    if run := await board.read(run_for, plan_id=plan.id):
        raise _ApprovedMeanwhile(run)
    more = len(moved) - NAMED
    words = "; ".join([*moved[:NAMED], *([f"and {more:,} more"] if more > 0 else [])])
    new = await plan_again(board, plan, words=words, sheet_id=sheet_id)
    return ProblemDetails(
        409, words if UNSPENT in words else f"{words}: {UNSPENT}",
        remedy="check the new plan and approve it",
        extra={"plan": new},
    )  # fmt: skip
