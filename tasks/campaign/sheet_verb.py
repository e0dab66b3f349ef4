"""What approving the plan of a sheet writes: rows, and what the sheet sets besides them.

The rows are in the ledger before, with their prices (`steps`); what a person decides with a plan is
written here, in the transaction of the approval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial

from sqlalchemy import Connection

from callsheet.tasks.campaign.adoption import adopt, hold_videos
from callsheet.tasks.campaign.approve import Check, Effect, Lines, Verb, approve, approve_lines
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.plan import edits_of, plan_of_sheet
from callsheet.tasks.campaign.quotes import check_elsewhere, raises_budget
from callsheet.tasks.campaign.stored_plans import with_known_prices
from callsheet.tasks.campaign.validity import moved_since
from callsheet.tasks.campaign.values import PAID, Plan, PlanLine
from callsheet.tasks.campaign.waits import waiting_lines
from callsheet.tasks.ledger.campaigns import (
    Campaign,
    campaigns_from,
    ensure_campaign,
    remember_origin,
    set_budget,
    set_retention,
)
from callsheet.tasks.ledger.dialect import dialect_of
from callsheet.tasks.ledger.earlier_takes import allow_to_pay
from callsheet.tasks.ledger.figures import pages_of
from callsheet.tasks.ledger.present_rows import PresentRow, present_rows
from callsheet.tasks.ledger.quotes import Quoted, changed_since, hold_unpaid, record_quotes
from callsheet.tasks.ledger.sync import Unsynced, sync_sheet
from callsheet.tasks.ledger.values import NOT_BEGUN, CampaignRow, rows_of
from callsheet.tasks.sheet import Sheet


def sheet_verb(sheet: Sheet, options: RunOptions, checks: Sequence[Check] = ()) -> Verb:
    """Return what is done with a sheet; `checks` are those of the door that approves it."""
    write = partial(_approve, pay_again=options.pay_again)
    effects = dict.fromkeys(PAID, Effect(frozenset({"quoted", "approved"}), write))
    adopting = Effect(NOT_BEGUN | {"held", "retired"}, _adopt)
    return Verb(
        "run",
        partial(plan_of_sheet, sheet=sheet),
        {**effects, "adopt": adopting},
        checks=(_check_elsewhere, *checks),
        settle=partial(settle, sheet=sheet, options=options),
    )


def approve_sheet(
    connection: Connection,
    shown: Plan,
    sheet: Sheet,
    options: RunOptions,
    *,
    by: str,
    at: float,
    priced_at: float,
) -> Plan:
    """Take a sheet into the ledger and approve its stored plan as it was shown, or do nothing.

    For a person who approves without a run. The prices are those that were shown, as they were
    asked for at `priced_at` (Unix seconds). Raise MovedOn for anything that is not as it was shown
    by now, OverBudget, or SpendRefused for a campaign that was cancelled meanwhile.
    """
    if shown.adopting:
        hold_videos(connection)
    dialect_of(connection).hold_approvals(connection)
    now = with_known_prices(shown, plan_of_sheet(connection, options, sheet=sheet), {})
    if moved := moved_since(shown, now):
        raise changed_since(moved)
    campaign = _take_in(connection, sheet, options, now, at=at, priced_at=priced_at)
    rows = present_rows(connection, campaign.id, now.named(*PAID, "adopt"), locked=False)
    now = replace(with_present_rows(now, rows), id=shown.id)
    return approve(
        connection,
        replace(now, budget=campaign.budget, cancelled_at=campaign.cancel_requested_at),
        sheet_verb(sheet, options),
        by=by,
        at=at,
        budget=None if now.budget == campaign.budget else now.budget,
        at_limit=options.at_limit,
        terms=options.kept(),
    )


def _take_in(
    connection: Connection,
    sheet: Sheet,
    options: RunOptions,
    plan: Plan,
    *,
    at: float,
    priced_at: float,
) -> Campaign:
    """Have the rows of a sheet in the ledger with the prices of a plan; return its campaign."""
    campaign = campaign_of(connection, sheet, options, at=at)
    sync_plan(connection, campaign, sheet, options, plan, at=at)
    prices = {line.row: line for line in (*plan.spending, *waiting_lines(plan))}
    for page in pages_of(list(prices)):
        quotes = [
            Quoted(row, prices[row.row].priced)
            for row in rows_of(connection, campaign.id, named=page)
            if row.state in NOT_BEGUN | {"held"} and not _is_quoted(row, prices[row.row])
        ]
        record_quotes(connection, quotes, tolerance=Decimal(0), at=priced_at)
    return campaign


def _is_quoted(row: CampaignRow, line: PlanLine) -> bool:
    """Whether a row rests at the price of its line: not if it waited and is released."""
    rests = ("quoted", "approved") if line.spends else ("held", "quoted")
    return row.quoted == line.priced and row.state in rests


def campaign_of(
    connection: Connection, sheet: Sheet, options: RunOptions, *, at: float
) -> Campaign:
    """Return the campaign that a sheet is of, which is in the ledger from here on.

    Until a plan is approved the next run of the sheet may continue another one.
    """
    naming = partial(ensure_campaign, sheet=sheet.address, sheet_digest=sheet.digest)
    return naming(connection, sheet.campaign, at=at, sandbox=options.sandbox)


def sync_plan(
    connection: Connection,
    campaign: Campaign,
    sheet: Sheet,
    options: RunOptions,
    plan: Plan,
    *,
    at: float,
) -> None:
    """Take a sheet into the ledger as a plan found it to differ, but for what is approved."""
    sync_sheet(
        connection,
        campaign.id,
        sheet.briefs,
        at=at,
        skipped=sheet.skipped,
        retire=False,
        files=not changes_files(plan),
        edits=edits_of(sheet, options),
        only=Unsynced(plan.unsynced, plan.retiring),
    )


def with_present_rows(plan: Plan, now: Mapping[str, PresentRow]) -> Plan:
    """Return a plan whose paid lines show their rows as the ledger has them by now."""
    lines = tuple(
        line._replace(state=row.state, nth=row.nth, take=row.take, kept=row.kept)
        if (line.spends or line.action == "adopt") and (row := now.get(line.row))
        else line
        for line in plan.lines
    )
    return replace(plan, lines=lines)


def settle(
    connection: Connection,
    campaign: Campaign,
    plan: Plan,
    at: float,
    *,
    sheet: Sheet,
    options: RunOptions,
) -> None:
    """Write what a plan sets that is no approval of rows, whether someone approved it or not.

    Rows that wait for first videos go on hold and rows that left the sheet retire. Without an
    approval a budget never rises, and files keep their names.
    """
    _hold(connection, campaign, plan, at)
    lowers = plan.budget is not None and not raises_budget(campaign, plan)
    if plan.budget is not None and not plan.by and lowers:
        set_budget(connection, campaign, budget=plan.budget, at=at)
    # What nobody was asked about leaves the sheet with the campaign that it has.
    origin = sheet.origin
    if origin is not None and (plan.by or not campaigns_from(connection, origin)):
        remember_origin(connection, campaign.id, origin, at=at)
    if plan.by:
        set_retention(connection, campaign, keep=sheet.keep_at_service)
    places = plan.unsynced if changes_files(plan) else ()
    if places or plan.retiring:
        sync_sheet(
            connection,
            campaign.id,
            sheet.briefs,
            at=at,
            skipped=sheet.skipped,
            edits=edits_of(sheet, options),
            only=Unsynced(places, plan.retiring),
        )


def changes_files(plan: Plan) -> bool:
    """Whether a plan changes how files are called, or where they are copied to."""
    return any(one.what in ("copies", "names") for one in plan.changes)


def _approve(
    connection: Connection,
    campaign: Campaign,
    lines: Lines,
    plan: Plan,
    at: float,
    *,
    pay_again: bool,
) -> None:
    waiting = {n: line for n, line in lines.items() if line.state == "quoted"}
    if pay_again:
        named = [line.row for line in waiting.values()]
        allow_to_pay(connection, campaign.id, named, by=plan.by, at=at)
    approve_lines(connection, campaign, waiting, plan, at)


def _adopt(connection: Connection, campaign: Campaign, lines: Lines, plan: Plan, at: float) -> None:
    adopt(connection, campaign, plan, at=at)


def _check_elsewhere(connection: Connection, campaign: Campaign, plan: Plan) -> None:
    rows = {line.row for line in plan.spending if line.state != "approved"}
    check_elsewhere(connection, campaign, plan, rows)


def _hold(connection: Connection, campaign: Campaign, plan: Plan, at: float) -> None:
    """Put rows on hold that wait for a canary or a wave, or whose video cannot be taken over."""
    waiting = (*waiting_lines(plan), *(one for one in plan.lines if one.found and one.on_hold))
    reasons = {line.row: line.why or "" for line in waiting}
    for page in pages_of(list(reasons)):
        for row in rows_of(connection, campaign.id, named=page):
            if row.state in ("planned", "quoted", "approved", "held"):
                hold_unpaid(connection, row, reasons[row.row], at=at)
