"""Approves plans on the board, each in one transaction.

An approval is stored completely or not at all: the approver, the check of the allowance, what it
writes to the rows, and the one run that executes the plan. Before it the ledger takes the sheet in,
with prices and in pieces: many rows would keep all others from writing.
"""

from __future__ import annotations

from decimal import Decimal
from functools import partial
from typing import NamedTuple

from sqlalchemy import Connection

from callsheet.tasks.aftercare.retake import LEFT_BEHIND, RETAKE
from callsheet.tasks.campaign.approve import approve
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.plan_document import stored_plan
from callsheet.tasks.campaign.sheet_verb import approve_sheet, take_in
from callsheet.tasks.campaign.stored_plans import unquoted_rows
from callsheet.tasks.campaign.values import Plan
from callsheet.tasks.ledger.audit_log import note_act, restored_since
from callsheet.tasks.ledger.campaigns import find_campaign, is_begun
from callsheet.tasks.ledger.dialect import dialect_of
from callsheet.tasks.ledger.ledger import LedgerAccess
from callsheet.tasks.ledger.people import Person, person_of
from callsheet.tasks.ledger.plans import (
    KeptPlan,
    approved_since,
    approved_today,
    begun_by,
    planned_first,
    start_of_day,
)
from callsheet.tasks.ledger.runs import RunRow, ask_run, find_run, run_for
from callsheet.tasks.runtime.errors import AllowanceSpent, MovedOn, NotApproved
from callsheet.tasks.sheet import Sheet
from callsheet.tasks.values.amounts import CreditPrice, as_text, count, in_credits, with_money

#: Things that a refusal names at most.
NAMED = 3


async def approve_on_board(
    ledger: LedgerAccess,
    plan: KeptPlan,
    *,
    options: RunOptions,
    run_id: str,
    person: int,
    at: float,
    sheet: Sheet | None = None,
    asked_by: str | None = None,
    credit_price: CreditPrice | None = None,
) -> RunRow:
    """Approve a plan as it was shown; return its run. A second approval returns the same run.

    `person` is the id of the approver, whose role and allowance (credits a day, UTC) are read here.
    `sheet` is the planned one, which the ledger takes in first, None for a plan of rows. `asked_by`
    is the program in which the approver answered, `credit_price` what refusals say in money.

    Raise NotApproved if the person may not approve, MovedOn for an outdated plan, AllowanceSpent
    above the allowance, SpendRefused for a campaign that was cancelled meanwhile.
    """
    shown = stored_plan(plan, credit_price)
    asked = _Asked(plan, shown, options, sheet, person, asked_by, at, options.budget)
    # Of somebody who may not approve it, the ledger takes no sheet in.
    if already := await ledger.read(_check, asked=asked):
        return already
    if sheet is not None:
        taking = partial(take_in, ledger, shown, sheet, options)
        try:
            shown, budget = await taking(at=at)
        except MovedOn:
            # Of two who approve it at once, the second one meets what the first one did.
            if already := await ledger.read(run_for, plan_id=plan.id):
                return already
            raise
        asked = asked._replace(shown=shown, budget=budget)
    return await ledger.write(_approve, asked=asked, run_id=run_id)


class _Asked(NamedTuple):
    """What someone wants to approve: a stored plan, as it is `shown` by the ledger of now."""

    plan: KeptPlan
    shown: Plan
    options: RunOptions
    sheet: Sheet | None
    #: The id of the approver.
    person: int
    #: The program in which they answered.
    asked_by: str | None
    #: When, in Unix seconds.
    at: float
    #: What the campaign may cost from then on, if that is another sum than before.
    budget: Decimal | None


def _approve(connection: Connection, asked: _Asked, run_id: str) -> RunRow:
    """Approve a plan in one transaction: its rows, who did it, and the one run that executes it."""
    dialect_of(connection).hold_approvals(connection)
    if already := run_for(connection, asked.plan.id):
        return already
    approver = person_of(connection, asked.person, locked=True)
    if approver is None or not approver.may("agent"):
        raise _not_approved()
    _check_others(connection, asked.plan)
    _check_allowance(connection, asked, approver, locked=True)
    plan, shown, at = asked.plan, asked.shown, asked.at
    by = approver.name
    if asked.sheet is None:
        approving = partial(approve, connection, shown, RETAKE, terms=asked.options.kept())
        approving(by=by, at=at, budget=asked.budget)
    else:
        approving = partial(approve_sheet, connection, shown, asked.sheet, asked.options)
        approving(by=by, at=at, budget=asked.budget)
    ask_run(connection, run_id, plan_id=plan.id, campaign=plan.campaign, by=by, at=at)
    words = f"{in_credits(plan.total)}, plan {plan.id}"
    if asked.asked_by not in (None, by):
        words += f", asked by {asked.asked_by}"
    noting = partial(note_act, act="approve", campaign=plan.campaign, rows=len(shown.spending))
    noting(connection, by=by, words=words, at=at)
    run = find_run(connection, run_id)
    assert run is not None
    return run


def _check(connection: Connection, asked: _Asked) -> RunRow | None:
    """Return the run of a plan that has one; raise where the approver may not approve it.

    What the plan changes besides making videos is told before the ledger takes its sheet in.
    """
    if already := run_for(connection, asked.plan.id):
        return already
    approver = person_of(connection, asked.person)
    if approver is None:
        # Whoever guards changes says why, at the first one.
        return None
    if not approver.may("agent"):
        raise _not_approved()
    _check_others(connection, asked.plan)
    _check_allowance(connection, asked, approver, locked=False)
    return None


def _not_approved() -> NotApproved:
    return NotApproved("you may no longer approve plans; nothing was approved or spent")


def _check_others(connection: Connection, plan: KeptPlan) -> None:
    other = approved_since(connection, plan.campaign, plan.made_at)
    if other is not None and other.id != plan.id:
        raise MovedOn(
            f"another plan of {plan.campaign} was {other.approval} meanwhile; nothing was "
            "approved or spent"
        )


def _check_allowance(
    connection: Connection, asked: _Asked, approver: Person, *, locked: bool
) -> None:
    plan, at = asked.plan, asked.at
    by, allowance, price = approver.name, approver.allowance, asked.shown.credit_price
    if allowance is None:
        return
    _check_videos_only(connection, asked, approver)
    is_person = approver.role != "agent"
    if rows := unquoted_rows(asked.shown, accepts_limits=is_person):
        named = ", ".join(rows[:5]) + (", ..." if len(rows) > 5 else "")
        raise AllowanceSpent(
            f"the service gives no price for rows of the plan ({named}), and {by} may approve "
            f"{in_credits(allowance, price)} a day; nothing was approved or spent",
            remedy="ask a person without an allowance limit to approve it, or leave those rows out",
        )
    if restored_since(connection, start_of_day(at)):
        raise AllowanceSpent(
            f"the ledger was restored from a backup today (UTC): what {by} approved before is not "
            "known; nothing was approved or spent",
            remedy="ask a person without an allowance limit to approve it",
        )
    spent = approved_today(connection, by, at=at, to_approve=locked)
    total = plan.total or Decimal(0)
    if spent + total > allowance:
        more = spent + total - allowance
        costs = "costs" if total == asked.shown.total else "may cost up to"
        raise AllowanceSpent(
            f"the plan {costs} {in_credits(total, price)}; {by} may approve "
            f"{in_credits(allowance, price)} a day and has approved "
            f"{with_money(as_text(spent), spent, price)} today (UTC): "
            f"{with_money(as_text(more), more, price)} too many; nothing was approved or spent",
            remedy="ask a person with a higher allowance to approve it, or name fewer rows",
        )


def _check_videos_only(connection: Connection, asked: _Asked, approver: Person) -> None:
    """Raise AllowanceSpent where a plan changes more than an allowance covers."""
    remedy = "ask a person without an allowance limit to approve it"
    words = beyond_allowance(connection, asked.plan, approver)
    if words is None and (budget := _new_budget(connection, asked)) is not None:
        words = f"this sets the budget of {asked.plan.campaign} to {in_credits(budget)}"
        known = find_campaign(connection, asked.plan.campaign)
        if known is not None and known.budget is not None:
            remedy = f"approve it with the budget of now, {in_credits(known.budget)}, or {remedy}"
    if words is not None:
        raise AllowanceSpent(
            f"an allowance covers only making videos, and {words}; nothing was approved or spent",
            remedy=remedy,
        )


def _new_budget(connection: Connection, asked: _Asked) -> Decimal | None:
    """Return the budget that an approval gives a campaign instead of the one that it has."""
    campaign, options = find_campaign(connection, asked.plan.campaign), asked.options
    from_sheet = None if asked.sheet is None else asked.sheet.budget
    wished = options.budget if options.budget is not None else from_sheet
    if campaign is None or (options.keep_budget and campaign.budget is not None):
        return None
    if not is_begun(connection, campaign.id) and planned_first(connection, campaign.name):
        # An earlier approval of it was refused: it is still new.
        return None
    return None if wished == campaign.budget else wished


def beyond_allowance(connection: Connection, plan: KeptPlan, approver: Person) -> str | None:
    """Say what a plan does besides making videos, which no allowance covers; None for nothing.

    Rows of a campaign that somebody else began are beyond the allowance of an agent, and so are
    rows whose last take may be paid for: whether they are paid for again is for a person to say.
    """
    shown = stored_plan(plan)
    of_sheet = (one for one in shown.changes if not one.by_settings)
    # What a person gives with the approval counts, and not what was planned (`_new_budget`).
    asked = (one for one in of_sheet if one.what != "budget" or approver.role == "agent")
    found = [f"with this plan {one.words}" for one in asked]
    if videos := len(shown.adopting):
        found.append(f"this plan takes over {count(videos, 'video')}")
    if approver.role == "agent" and not is_of_agent(connection, plan.campaign, approver, plan):
        found.append(f"{approver.name} did not begin campaign {plan.campaign}")
    doubtful = [line.row for line in shown.spending if line.state in LEFT_BEHIND]
    if approver.role == "agent" and doubtful:
        found.append(f"a video of {', '.join(doubtful[:NAMED])} may be paid for already")
    return "; ".join(found[:NAMED]) or None


def is_of_agent(
    connection: Connection, campaign: str, agent: Person, plan: KeptPlan | None = None
) -> bool:
    """Return whether an agent began a campaign, or begins it with this plan."""
    begun = begun_by(connection, campaign) or planned_first(connection, campaign)
    if begun is None and find_campaign(connection, campaign) is None:
        begun = plan.made_by if plan is not None else None
    return begun == agent.name
