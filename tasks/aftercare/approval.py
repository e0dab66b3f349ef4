"""Approving a plan of the board: one transaction that checks, approves and asks for the run.

Either all of it stands in the ledger, or nothing: whose word it was, that it is within what that
person may approve, the other takes it is about, and the one run that carries it out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from typing import Any

from sqlalchemy import Connection

from tasks.aftercare.retake import Offer, approve_wanted
from tasks.campaign.board_plan import PlanTerms, paid_lines, words_of_approval
from tasks.credits import as_number, as_text, in_credits, parse_credits
from tasks.errors import AllowanceSpent, MovedOn
from tasks.ledger import (
    BoardRun,
    Campaign,
    CampaignRow,
    KeptPlan,
    Quoted,
    Review,
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
    kept_rows,
    note_act,
    pages_of,
    rows_of,
    run_for,
    unbegun_run,
    void_plan,
)
from tasks.sheet import Sheet

#: Other plans of a campaign wait for so long, in seconds, until an approved one is in its rows.
UNBEGUN = 120.0


def approve_on_board(
    connection: Connection,
    plan: KeptPlan,
    *,
    terms: PlanTerms,
    run_id: str,
    by: str,
    allowance: Decimal | None,
    at: float,
    sheet: Sheet | None = None,
) -> BoardRun:
    """Approve a plan as it was shown; return its run. Again, and by whoever: the same run.

    `sheet` is the one that was planned: a new campaign is in the ledger from here on.

    Raises MovedOn when it does not stand any more, AllowanceSpent when it is more than `allowance`
    (credits a day, UTC) lets the person approve, SpendRefused for a campaign cancelled meanwhile.
    """
    hold_plans(connection, plan.campaign)
    if already := run_for(connection, plan.id):
        return already
    _check_others(connection, plan, at)
    _check_allowance(connection, plan, by=by, allowance=allowance, at=at)
    if not approve_plan(connection, plan.id, terms=terms.as_json(), by=by, at=at):
        raise MovedOn("the plan does not stand any more; nothing was approved or spent")
    if sheet is not None and find_campaign(connection, plan.campaign) is None:
        made = partial(ensure_campaign, sheet=sheet.address, sheet_digest=sheet.digest)
        made(connection, plan.campaign, at=at, origin=sheet.origin, sandbox=terms.sandbox)
    if plan.kind == "retake":
        _approve_takes(connection, plan.id, terms, at=at)
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


def retake_document(campaign: Campaign, found: Sequence[Offer]) -> dict[str, Any]:
    """Return what a plan of other takes says, in the shape of a plan of a sheet.

    `review` is what somebody said of the film of before: whoever edits a brief reads why.
    """
    wanted = [offer for offer in found if not offer.refusal]
    total = sum((offer.price or Decimal(0) for offer in wanted), Decimal(0))
    committed = campaign.reserved + campaign.charged
    left = None if campaign.budget is None else campaign.budget - committed
    return {
        "campaign": campaign.name,
        "credits": {
            "total": as_number(total),
            "unpriced": sum(offer.price is None for offer in wanted),
            "committed": as_number(committed),
            "budget": as_number(campaign.budget),
            "left": as_number(left),
            "balance": None,
        },
        "rows": [_line(offer) for offer in found],
    }


def _line(offer: Offer) -> dict[str, Any]:
    """Return a row as it is shown and, when approved, compared with what it is then."""
    row = offer.row
    return {
        "row": row.row,
        "action": "person" if offer.refusal else "retake",
        "why": offer.words,
        "review": _said(offer.review),
        "title": row.title,
        "digest": row.digest,
        "quoted": as_number(offer.price),
        "charged": as_number(offer.earlier),
        "state": row.state,
        "nth": row.nth,
        "take": row.take.number if row.take else 0,
        "take_id": row.take.id if row.take else None,
    }


def _said(review: Review | None) -> dict[str, Any] | None:
    """Return what was said of the film of before, for whoever edits the brief."""
    if review is None:
        return None
    return {name: getattr(review, name) for name in ("verdict", "reason", "note", "by")}


def _approve_takes(connection: Connection, plan_id: str, terms: PlanTerms, *, at: float) -> None:
    plan = find_plan(connection, plan_id)
    assert plan is not None
    campaign = find_campaign(connection, plan.campaign)
    if campaign is None:
        raise MovedOn(f"there is no campaign {plan.campaign} any more; nothing was approved")
    assert plan.document is not None
    lines = {line["row"]: line for line in plan.document["rows"] if line["action"] == "retake"}
    found = rows_named(connection, campaign, list(lines))
    wanted = [Quoted(row, parse_credits(lines[row.row]["quoted"])) for row in found]
    moved = sorted(lines.keys() - {row.row for row in found})
    moved += [row.row for row in found if not is_as_shown(row, lines[row.row])]
    if not terms.even_kept:
        kept = kept_rows(connection, campaign.id)
        moved += [row.row for row in found if row.id in kept]
    if moved:
        raise MovedOn(f"{', '.join(moved)} moved on in the meantime; nothing was approved or spent")
    by = words_of_approval(plan)
    approve_wanted(
        connection,
        campaign,
        wanted,
        by=by,
        because=terms.because,
        budget=terms.budget,
        at=at,
        even_kept=terms.even_kept,
    )


def rows_named(
    connection: Connection, campaign: Campaign, names: Sequence[str]
) -> list[CampaignRow]:
    """Return rows of a campaign by their ids."""
    pages = (rows_of(connection, campaign.id, named=page) for page in pages_of(names))
    return [row for page in pages for row in page]


def is_as_shown(row: CampaignRow, line: Mapping[str, Any]) -> bool:
    """Whether a row is what it was when another take of it was priced."""
    taken = row.take.id if row.take else None
    now = (row.state, row.digest, row.nth, taken)
    return now == tuple(line[name] for name in ("state", "digest", "nth", "take_id"))


def _check_others(connection: Connection, plan: KeptPlan, at: float) -> None:
    other = approved_since(connection, plan.campaign, plan.made_at)
    if other is not None and other.id != plan.id:
        raise MovedOn(
            f"{other.approved_by} has approved another plan of {plan.campaign} in the meantime; "
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
            remedy="have somebody without an allowance approve it, or leave those rows out",
        )
    day = datetime.fromtimestamp(at, UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    spent = approved_by(connection, by, since=day.timestamp())
    total = plan.total or Decimal(0)
    if spent + total > allowance:
        raise AllowanceSpent(
            f"the plan costs {in_credits(total)}; {by} may approve {as_text(allowance)} a day and "
            f"has approved {as_text(spent)} today (UTC): {as_text(spent + total - allowance)} too "
            "many; nothing was approved or spent",
            remedy="have somebody with a higher allowance approve it, or name fewer rows",
        )
