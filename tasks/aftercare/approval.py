"""Approving a plan of the board, and cancelling one that has not begun: each in one transaction.

Either all of an approval stands in the ledger, or nothing: whose word it was, that it is within
what that person may approve, the other takes it is about, and the one run that carries it out.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial

from sqlalchemy import Connection

from callsheet.tasks.aftercare.retake_plan import approve_takes
from callsheet.tasks.campaign.board_plan import PlanTerms, paid_lines
from callsheet.tasks.credits import as_text, in_credits
from callsheet.tasks.errors import AllowanceSpent, MovedOn, NotApproved
from callsheet.tasks.ledger import (
    BoardRun,
    Campaign,
    CampaignRow,
    KeptPlan,
    approve_plan,
    approved_by,
    approved_since,
    ask_run,
    ask_to_cancel,
    end_run,
    ensure_campaign,
    find_campaign,
    find_plan,
    find_run,
    hold_plans,
    note_act,
    rows_of,
    run_for,
    unbegun_run,
    void_plan,
)
from callsheet.tasks.ledger.people import person_of
from callsheet.tasks.sheet import Sheet

#: Other plans of a campaign wait for so long, in seconds, until an approved one is in its rows.
UNBEGUN = 120.0


def approve_on_board(
    connection: Connection,
    plan: KeptPlan,
    *,
    terms: PlanTerms,
    run_id: str,
    person: int,
    at: float,
    sheet: Sheet | None = None,
) -> BoardRun:
    """Approve a plan as it was shown; return its run. The second approval returns the same run.

    `person` is the id of the approver, whose role and allowance (credits a day, UTC) are read here.
    `sheet` is the one that was planned: a new campaign is in the ledger from here on.

    Raises NotApproved for a person who may not approve, MovedOn for a plan that is out of date,
    AllowanceSpent beyond the allowance, SpendRefused for a campaign cancelled meanwhile.
    """
    approver = person_of(connection, person, locked=True)
    if approver is None or not approver.may("approver"):
        raise NotApproved("you may not approve plans any more; nothing was approved or spent")
    by = approver.name
    hold_plans(connection, plan.campaign)
    if already := run_for(connection, plan.id):
        return already
    _check_others(connection, plan, at)
    _check_allowance(connection, plan, by=by, allowance=approver.allowance, at=at)
    if not approve_plan(connection, plan.id, terms=terms.as_json(), by=by, at=at):
        raise MovedOn("the plan does not stand any more; nothing was approved or spent")
    if sheet is not None and find_campaign(connection, plan.campaign) is None:
        made = partial(ensure_campaign, sheet=sheet.address, sheet_digest=sheet.digest)
        made(connection, plan.campaign, at=at, origin=sheet.origin, sandbox=terms.sandbox)
    if plan.kind == "retake":
        approve_takes(connection, plan.id, terms, at=at)
    ask_run(connection, run_id, plan_id=plan.id, campaign=plan.campaign, by=by, at=at)
    assert plan.document is not None
    rows = len(paid_lines(plan.document))
    words = f"{in_credits(plan.total)}, plan {plan.id}"
    note_act(
        connection, act="approve", by=by, at=at, campaign=plan.campaign, rows=rows, words=words
    )
    run = find_run(connection, run_id)
    assert run is not None
    return run


def _check_others(connection: Connection, plan: KeptPlan, at: float) -> None:
    other = approved_since(connection, plan.campaign, plan.made_at)
    if other is not None and other.id != plan.id:
        raise MovedOn(
            f"{other.approved_by} has approved another plan of {plan.campaign} meanwhile; "
            "nothing was approved or spent"
        )
    run = unbegun_run(connection, plan.campaign)
    if run is not None and at - run.asked_at < UNBEGUN:
        raise MovedOn(
            f"a run that {run.started_by} has approved is about to begin in {plan.campaign}; "
            "nothing was approved or spent"
        )


def _check_allowance(
    connection: Connection, plan: KeptPlan, *, by: str, allowance: Decimal | None, at: float
) -> None:
    if allowance is None:
        return
    assert plan.document is not None
    if plan.document["credits"]["unpriced"]:
        raise AllowanceSpent(
            f"the plan has rows without a readable price, and {by} may approve "
            f"{in_credits(allowance)} a day; nothing was approved or spent",
            remedy="ask a person without an allowance limit to approve it, or leave those rows out",
        )
    day = datetime.fromtimestamp(at, UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    spent = approved_by(connection, by, since=day.timestamp())
    total = plan.total or Decimal(0)
    if spent + total > allowance:
        raise AllowanceSpent(
            f"the plan costs {in_credits(total)}; {by} may approve {as_text(allowance)} a day and "
            f"has approved {as_text(spent)} today (UTC): {as_text(spent + total - allowance)} too "
            "many; nothing was approved or spent",
            remedy="ask a person with a higher allowance to approve it, or name fewer rows",
        )


def cancel_on_board(
    connection: Connection,
    name: str,
    *,
    campaign: Campaign | None,
    only: Collection[str] | None,
    by: str,
    at: float,
) -> tuple[list[CampaignRow], int]:
    """Cancel rows of a campaign (None: all, and what was approved and has not begun).

    `campaign` is None where nothing of it is in the ledger yet. Returns the rows as they were, and
    how many others an approved plan would have made.
    """
    dropped = 0
    hold_plans(connection, name)
    while only is None and (run := unbegun_run(connection, name)):
        plan = find_plan(connection, run.plan_id)
        assert plan is not None, "a run has a plan"
        words = f"cancelled by {by} before its run began"
        void_plan(connection, plan.id, old="approved", words=words)
        end_run(connection, run.id, place=run.place, exit_status=4, words=words, at=at)
        known = () if campaign is None else rows_of(connection, campaign.id)
        there = {row.row for row in known}
        assert plan.document is not None
        dropped += sum(line["row"] not in there for line in paid_lines(plan.document))
    before = [] if campaign is None else ask_to_cancel(connection, campaign, only=only, at=at)
    return before, dropped
