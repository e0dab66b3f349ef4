"""Approving a plan: what was shown is held against what is so now, then it is one transaction.

Whatever has moved on, nothing happens, and a new plan is made in its place.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial

from callsheet.deployments.board.acts.plans import kept_plan, latest_of, plan_anew
from callsheet.deployments.board.acts.sheets import hand_in_fetched, kept_sheet, parsed
from callsheet.deployments.board.board import Board
from callsheet.deployments.board.fetching import fetch_again
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.who import Person
from callsheet.tasks.aftercare.approval import approve_on_board
from callsheet.tasks.aftercare.retake_plan import is_as_shown, rows_named
from callsheet.tasks.campaign.board_plan import (
    PlanTerms,
    differences,
    paid_lines,
    with_known_prices,
)
from callsheet.tasks.campaign.priced_plan import plan_unpriced
from callsheet.tasks.campaign.prices import ask_prices
from callsheet.tasks.crash import crashpoint
from callsheet.tasks.credits import as_text, in_credits, parse_credits
from callsheet.tasks.engine.context import open_service
from callsheet.tasks.engine.lanes.price import Price, Priceable
from callsheet.tasks.errors import AllowanceSpent, MovedOn, NotApproved
from callsheet.tasks.ledger import BoardRun, KeptPlan, find_campaign, run_for
from callsheet.tasks.sheet import Sheet

#: Prices are asked for again for so long, in seconds; a run holds all others against the plan.
CHECK = 5.0


@dataclass(frozen=True, kw_only=True)
class Approved:
    """An approved plan is being carried out: the run, and of which campaign."""

    run: str
    campaign: str

    def as_json(self) -> dict[str, str]:
        """Return the answer of `POST /plans/ID/approve`."""
        return {"run": self.run, "campaign": self.campaign}


async def approve(
    board: Board, person: Person, plan_id: str, *, budget: Decimal | None = None
) -> Approved:
    """Approve a plan as it was shown, and have it carried out; again, the same answer.

    `budget` is what the campaign may cost in all; without one, a campaign keeps the budget it has,
    unless the same person planned another. Raises ProblemDetails: 409 when something has
    moved on, with the new `plan`; 403 beyond the person's role or allowance; 422 where the plan
    does not fit the budget or cannot be approved at all.
    """
    if not person.may("approver"):
        raise ProblemDetails(403, f"this takes a person of the role approver, not {person.role}")
    plan = await kept_plan(board, plan_id)
    if run := await board.read(partial(run_for, plan_id=plan_id)):
        return _answer(run)
    await _check_state(board, person, plan)
    terms = PlanTerms.read(plan.terms)
    if budget is not None:
        terms = replace(terms, budget=budget)
    elif plan.made_by != person.name:
        # A reviewer asks for a budget with a plan, or writes it into a sheet; an approver gives it.
        terms = replace(terms, keep_budget=True)
    _check_sandbox(board, terms)
    sheet: Sheet | None = None
    if plan.kind == "run":
        sheet = await _check_run(board, person, plan, terms)
    else:
        await _check_retake(board, person, plan, terms)
    change = partial(
        approve_on_board,
        plan=plan,
        sheet=sheet,
        terms=terms,
        run_id=board.token(),
        person=person.id,
        at=board.clock(),
    )
    crashpoint("board: before a plan is approved")
    try:
        run = await board.write(change)
    except MovedOn as error:
        raise await _moved_on(board, person, plan, [str(error)]) from error
    except (AllowanceSpent, NotApproved) as error:
        raise ProblemDetails(403, str(error), remedy=error.remedy) from error
    crashpoint("board: after a plan is approved")
    board.attention.set()
    return _answer(run)


def _answer(run: BoardRun) -> Approved:
    return Approved(run=run.id, campaign=run.campaign)


async def _check_state(board: Board, person: Person, plan: KeptPlan) -> None:
    """Raise ProblemDetails (409) for a plan that cannot be approved any more, or not yet."""
    state = plan.state_at(board.clock())
    if state == "quoting":
        raise ProblemDetails(
            409, "its prices are still asked for", title="Not yet", extra={"plan": plan.id}
        )
    if state == "void":
        words = plan.words or "the plan does not stand any more"
        new = await latest_of(board, plan)
        raise ProblemDetails(409, words, extra={} if new is None else {"plan": new})
    if state == "expired":
        raise await _moved_on(board, person, plan, ["its prices have stopped holding"])


def _check_sandbox(board: Board, terms: PlanTerms) -> None:
    if terms.sandbox != board.sandbox:
        made = "with --sandbox" if terms.sandbox else "with a real service"
        raise ProblemDetails(
            409, f"the plan was made by a board {made}; nothing was approved or spent"
        )


async def _check_run(board: Board, person: Person, plan: KeptPlan, terms: PlanTerms) -> Sheet:
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
    sheet = await parsed(board, kept, terms, person)
    found = await plan_unpriced(board.ledger, sheet, terms.options(kept), board.settings)
    wanted = {line.row for line in found.plan.spending}
    asked = await _prices_now(board, [b for b in found.sheet.briefs if b.row in wanted])
    now = with_known_prices(plan.document, found.plan, asked)
    moved = differences(plan.document, now)
    if found.match.refusal is not None:
        moved.append(str(found.match.refusal))
    if moved:
        raise await _moved_on(board, person, plan, moved)
    _check_budget(now.budget, now.committed, now.total, unpriced=now.unpriced)
    return found.sheet


async def _check_retake(board: Board, person: Person, plan: KeptPlan, terms: PlanTerms) -> None:
    assert plan.document is not None
    campaign = await board.read(partial(find_campaign, name=plan.campaign))
    if campaign is None:
        raise ProblemDetails(409, f"there is no campaign {plan.campaign} any more")
    lines = {line["row"]: line for line in paid_lines(plan.document)}
    read = partial(rows_named, campaign=campaign, names=list(lines))
    rows = await board.read(read)
    asked = await _prices_now(board, rows)
    moved = [
        f"{row.row}: it changed meanwhile" for row in rows if not is_as_shown(row, lines[row.row])
    ]
    moved += [f"{row}: it is not there any more" for row in lines.keys() - {r.row for r in rows}]
    for row, price in asked.items():
        before = parse_credits(lines[row]["quoted"])
        if price.refusal or price.amount != before:
            now = price.refusal or as_text(price.amount)
            moved.append(f"{row}: {as_text(before)} credits then, now {now}")
    if moved:
        raise await _moved_on(board, person, plan, moved)
    budget = campaign.budget if terms.budget is None else terms.budget
    committed = campaign.reserved + campaign.charged
    unpriced = int(plan.document["credits"]["unpriced"])
    _check_budget(budget, committed, plan.total or Decimal(0), unpriced=unpriced)


async def _prices_now(board: Board, wanted: Sequence[Priceable]) -> dict[str, Price]:
    """Return what the service says now, of as many rows as it answers for in time."""
    asked: dict[str, Price] = {}

    async def keep(found: Sequence[tuple[Priceable, Price]]) -> None:
        asked.update((one.row, price) for one, price in found)

    if not wanted:
        return asked
    settings = board.settings
    async with await open_service(settings, board.ledger, board.clock) as service:
        try:
            async with asyncio.timeout(CHECK):
                ask = partial(ask_prices, at_once=settings.quotes, clock=board.clock, keep=keep)
                return await ask(service, wanted)
        except TimeoutError:
            return asked


def _check_budget(
    budget: Decimal | None, committed: Decimal, total: Decimal, *, unpriced: int
) -> None:
    """Raise ProblemDetails (422) where a plan does not fit the budget of its campaign."""
    if budget is None or not (total or unpriced):
        return
    if unpriced:
        raise ProblemDetails(
            422,
            f"a budget is set and {unpriced} rows have no readable price; nothing was spent",
            title="The budget cannot be kept",
            remedy="give a clip max_credits in the sheet, or leave such rows out",
        )
    short = committed + total - budget
    if short > 0:
        raise ProblemDetails(
            422,
            f"the plan costs {in_credits(total)}, {as_text(committed)} of the budget of "
            f"{as_text(budget)} for the campaign are reserved or charged: {as_text(short)} "
            "too many; nothing was spent",
            title="The budget is too small",
            remedy=f"approve it with a budget of {as_text(committed + total)}, or name fewer rows",
        )


async def _moved_on(
    board: Board,
    person: Person,
    plan: KeptPlan,
    moved: Sequence[str],
    *,
    sheet_id: str | None = None,
) -> ProblemDetails:
    """Have a new plan made; return the refusal that leads to it."""
    words = "; ".join(moved)
    new = await plan_anew(board, person, plan, words=words, sheet_id=sheet_id)
    return ProblemDetails(
        409, f"{words}: nothing was approved or spent",
        remedy="check the new plan and approve it",
        extra={"plan": new},
    )  # fmt: skip
