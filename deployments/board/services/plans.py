"""Plans: made from a sheet, priced, and approved as shown.

If anything changed since a plan was shown, nothing is approved, and a new plan replaces it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any

from callsheet.deployments.board.board import Board
from callsheet.deployments.board.problem_details import ProblemDetails, listed
from callsheet.deployments.board.services.sheets import (
    hand_in_fetched,
    kept_sheet,
    more_problems,
    parsed,
    problem_json,
    read_mapped,
)
from callsheet.deployments.board.uploads import fetch_again
from callsheet.tasks.aftercare.approval import approve_on_board
from callsheet.tasks.aftercare.retake import RETAKE
from callsheet.tasks.campaign.match import note_ledger
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.plan import as_planned
from callsheet.tasks.campaign.plan_document import stored_plan
from callsheet.tasks.campaign.propose import propose
from callsheet.tasks.campaign.quotes import ask_prices, shortage
from callsheet.tasks.campaign.selection import parse_selection
from callsheet.tasks.campaign.stored_plans import (
    ask_plan,
    plan_unpriced,
    replace_plan,
    with_known_prices,
)
from callsheet.tasks.campaign.validity import moved_since
from callsheet.tasks.campaign.values import PAID, Plan
from callsheet.tasks.engine.free_calls import Price, Priceable
from callsheet.tasks.ledger.people import Person
from callsheet.tasks.ledger.plans import (
    KeptPlan,
    PlanState,
    find_plan,
    latest_plan,
    plan_before,
    plans_of,
)
from callsheet.tasks.ledger.runs import RunRow, run_for
from callsheet.tasks.runtime.crash_points import crashpoint
from callsheet.tasks.runtime.errors import (
    AllowanceSpent,
    MovedOn,
    NotApproved,
    OverBudget,
    SheetError,
)
from callsheet.tasks.sheet import Sheet
from callsheet.tasks.values.amounts import as_text
from callsheet.tasks.values.answers import iso

#: Rows that are named where something has moved on; of more the number is said.
NAMED = 20
#: Prices are asked for again for so long, in seconds; a run holds all others against the plan.
CHECK = 5.0


@dataclass(frozen=True, kw_only=True)
class Approved:
    """An approved plan is being executed: the run, and of which campaign."""

    run: str
    campaign: str

    def as_json(self) -> dict[str, str]:
        """Return the answer of `POST /plans/ID/approve`."""
        return {"run": self.run, "campaign": self.campaign}


async def approve(
    board: Board,
    person: Person,
    plan_id: str,
    *,
    budget: Decimal | None = None,
    asked_by: str | None = None,
) -> Approved:
    """Approve a plan as it was shown, and have it executed; again, the same answer.

    `budget` is what the campaign may cost in all; without one, a campaign keeps the budget it has,
    unless the same person planned another. `asked_by` is the program in which the person answered.
    Raises ProblemDetails: 409 when something has
    moved on, with the new `plan`; 403 beyond the person's role or allowance; 422 where the plan
    does not fit the budget or cannot be approved at all.
    """
    if not person.may("agent"):
        raise ProblemDetails(403, f"this takes a person of the role approver, not {person.role}")
    plan = await kept_plan(board, plan_id)
    if run := await board.read(run_for, plan_id=plan_id):
        return _answer(run)
    try:
        run = await _approve(board, person, plan, budget=budget, asked_by=asked_by)
    except _ApprovedMeanwhile as already:
        run = already.run
    board.attention.set()
    return _answer(run)


async def _approve(
    board: Board,
    person: Person,
    plan: KeptPlan,
    *,
    budget: Decimal | None,
    asked_by: str | None,
) -> RunRow:
    """Approve a plan that nobody has approved; raise as `approve` does, or _ApprovedMeanwhile."""
    await _check_state(board, person, plan)
    options = RunOptions.of(plan.terms)
    if budget is not None:
        options = options.but(budget=budget)
    elif plan.made_by != person.name:
        # A reviewer asks for a budget with a plan, or writes it into a sheet; an approver gives it.
        options = options.but(keep_budget=True)
    _check_sandbox(board, options)
    sheet: Sheet | None = None
    if plan.kind == "run":
        sheet = await _check_run(board, person, plan, options)
    else:
        await _check_rows(board, person, plan, options)
    approving = partial(
        approve_on_board,
        # Not its ledger: the board checks the person with each change.
        board,
        plan,
        sheet=sheet,
        options=options,
        run_id=board.token(),
        person=person.id,
        at=board.clock(),
        asked_by=asked_by,
    )
    crashpoint("board: before a plan is approved")
    try:
        run = await approving()
    except MovedOn as error:
        raise await _moved_on(board, person, plan, [str(error)]) from error
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


def _answer(run: RunRow) -> Approved:
    return Approved(run=run.id, campaign=run.campaign)


async def _check_state(board: Board, person: Person, plan: KeptPlan) -> None:
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
        raise await _moved_on(board, person, plan, ["this plan has expired"])


def _check_sandbox(board: Board, options: RunOptions) -> None:
    if options.sandbox != board.sandbox:
        made = "with --sandbox" if options.sandbox else "with a real service"
        raise ProblemDetails(
            409, f"the plan was made by a board {made}; nothing was approved or spent"
        )


async def _check_run(board: Board, person: Person, plan: KeptPlan, options: RunOptions) -> Sheet:
    """Return the sheet as it was planned; raise ProblemDetails for what has moved on."""
    assert plan.document is not None
    assert plan.sheet_id is not None
    if plan.document["refusal"]:
        raise ProblemDetails(
            422, plan.document["refusal"], title="This cannot be approved",
            remedy=plan.document["remedy"],
        )  # fmt: skip
    kept = await kept_sheet(board, plan.sheet_id)
    fetched = await fetch_again(board, kept)
    if fetched is not None:
        seen = await hand_in_fetched(board, person, fetched=fetched, place=kept.place)
        words = [f"the sheet at {kept.place} has changed"]
        raise await _moved_on(board, person, plan, words, sheet_id=seen.kept.id)
    sheet = await parsed(board, kept, options, person)
    run = options.of_sheet(kept.place)
    found = await plan_unpriced(board.ledger, sheet, run, board.settings)
    shown = stored_plan(plan)
    wanted = {line.row for line in shown.spending}
    lines = [line for line in found.plan.spending if line.row in wanted]
    asked = await _prices_now(board, as_planned(found.sheet.briefs, lines))
    now = with_known_prices(shown, found.plan, asked)
    moved = moved_since(shown, now)
    if found.match.refusal is not None:
        moved.append(str(found.match.refusal))
    if moved:
        raise await _moved_on(board, person, plan, moved)
    if refusal := shortage(now):
        raise _over_budget(refusal)
    return found.sheet


async def _check_rows(board: Board, person: Person, plan: KeptPlan, options: RunOptions) -> None:
    """Raise ProblemDetails for a plan of rows that has moved on, or costs another price."""
    shown = stored_plan(plan)
    now = await proposed(board, plan, options, shown=shown, within=CHECK)
    if moved := moved_since(shown, now):
        raise await _moved_on(board, person, plan, moved)


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
    return await proposing(at_once=board.settings.polls_at_once, shown=shown, within=within)


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
    person: Person,
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
    new = await plan_again(board, person, plan, words=words, sheet_id=sheet_id)
    return ProblemDetails(
        409, f"{words}: nothing was approved or spent",
        remedy="check the new plan and approve it",
        extra={"plan": new},
    )  # fmt: skip


# Plans: asked for of a sheet, priced in the background, looked at until someone approves.


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

    def as_json(self) -> dict[str, Any]:
        """Return the answer of `GET /plans/ID`."""
        plan, credits = self.plan, self.document.get("credits", {})
        return {
            "plan": plan.id,
            "state": self.state,
            "kind": plan.kind,
            "campaign": plan.campaign,
            "sheet": plan.sheet_id,
            "rows": [_line(line) for line in self.rows],
            "counts": dict(self.counts),
            "total": credits.get("total"),
            "unpriced": credits.get("unpriced"),
            "budget": credits.get("budget"),
            "left": credits.get("left"),
            "balance": credits.get("balance"),
            "elsewhere": self.document.get("elsewhere", []),
            "retiring": self.document.get("retiring", []),
            "changes": self.changes,
            "notes": self.document.get("notes", []),
            "because": self.document.get("because"),
            "expires_at": _moment(plan.expires_at),
            "words": plan.words,
            "refusal": self.document.get("refusal"),
            "made_by": plan.made_by,
            "made_at": _moment(plan.made_at),
            "approved_by": plan.approved_by,
            "approved_at": _moment(plan.approved_at),
            "replaced_by": self.latest,
            "replaces": self.replaces.id if self.replaces else None,
            "run": self.run.id if self.run else None,
        }


async def plan_of_sheet(board: Board, person: Person, sheet_id: str, options: RunOptions) -> str:
    """Have a plan made of a sheet; return its id, while it is being quoted.

    Raises BadInput for a selection that cannot be read, ProblemDetails (422) with the problems of
    the sheet, or where a workbook hides rows and no one said whether they are wanted.
    """
    kept = await kept_sheet(board, sheet_id)
    parse_selection(options.select)
    options, found = await read_mapped(board, kept, options.but(sandbox=board.sandbox), person)
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
    return await _begin(board, person, change, options)


async def see_plan(board: Board, person: Person, plan_id: str) -> PlanView:
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


async def see_plans(
    board: Board, person: Person, campaign: str | None, *, limit: int = 50
) -> list[PlanView]:
    """Return the newest plans, of a campaign or of all, without their rows."""
    found = await board.read(plans_of, campaign=campaign, limit=limit)
    return [PlanView(plan=plan, state=plan.state_at(board.clock())) for plan in found]


async def plan_again(
    board: Board, person: Person, old: KeptPlan, *, words: str, sheet_id: str | None = None
) -> str:
    """Have a plan made in the place of one that no longer holds; return the new one's id."""
    new = await board.write(
        replace_plan,
        old=old,
        plan_id=board.token(),
        terms=old.terms,
        words=words,
        by=person.name,
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


async def _begin(board: Board, person: Person, change: Any, options: RunOptions) -> str:
    plan_id = board.token()
    begun = partial(change, plan_id=plan_id, terms=options.kept())
    await board.write(begun, by=person.name, at=board.clock())
    board.attention.set()
    return plan_id


def _line(line: Mapping[str, Any]) -> dict[str, Any]:
    more = {name: value for name, value in line.items() if name not in ("id", "take_id", "nth")}
    return {**more, "credits": line["quoted"]}


def _moment(seconds: float | None) -> str | None:
    return None if seconds is None else iso(seconds)
