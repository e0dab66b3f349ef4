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

from callsheet.tasks.campaign.adoption import adopt
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
    find_campaign,
    remember_origin,
    set_budget,
    set_retention,
)
from callsheet.tasks.ledger.decisions import hold_videos
from callsheet.tasks.ledger.earlier_takes import allow_to_pay
from callsheet.tasks.ledger.figures import pages_of
from callsheet.tasks.ledger.ledger import LedgerAccess
from callsheet.tasks.ledger.present_rows import PresentRow, present_rows
from callsheet.tasks.ledger.quotes import Quoted, changed_since, hold_unpaid, record_quotes
from callsheet.tasks.ledger.retries import end_retries
from callsheet.tasks.ledger.sync import FEW, Unsynced, sync_sheet
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
        checks=(check_elsewhere, *checks),
        settle=partial(settle, sheet=sheet, options=options),
    )


async def take_in(
    ledger: LedgerAccess,
    shown: Plan,
    sheet: Sheet,
    options: RunOptions,
    *,
    at: float,
) -> tuple[Plan, Decimal | None]:
    """Have the rows of a sheet in the ledger as a stored plan showed them; return what to approve.

    That is the plan with the budget that the campaign has, and another one if that is to be set.

    For a person who approves without a run. The prices are those that were shown, as old as they
    were (`priced_at`). Nothing is approved: a plan that is refused leaves the rows with their
    prices, as a run does. Raise MovedOn for anything that is not as it was shown.
    """
    compared = partial(_as_shown, shown=shown, sheet=sheet, options=options)
    now = await ledger.read(compared)
    campaign = await ledger.write(campaign_of, sheet=sheet, options=options, at=at)
    await take_rows_in(ledger, campaign, sheet, options, now, at=at)
    # A page at a time: others write in between.
    quoting = partial(_quote, campaign_id=campaign.id, at=shown.priced_at or at)
    for page in pages_of([*now.spending, *waiting_lines(now)]):
        await ledger.write(quoting, lines=page)
    # Read before the plan: a budget that is changed in between is another than the one known.
    found = await ledger.read(find_campaign, name=now.campaign)
    now = await ledger.read(compared, before=now)
    has = None if found is None else found.budget
    return replace(now, budget=has), None if now.budget == has else now.budget


def _as_shown(
    connection: Connection,
    shown: Plan,
    sheet: Sheet,
    options: RunOptions,
    *,
    before: Plan | None = None,
) -> Plan:
    """Return the plan of a sheet as it is now, at the prices shown; raise MovedOn for another one.

    `before` is the one from before the sheet was taken in, which has what the sheet changes: its
    lines show their rows as they are now.
    """
    now = with_known_prices(shown, plan_of_sheet(connection, options, sheet=sheet), {})
    now = replace(now, tolerance=shown.tolerance)
    if before is not None:
        now = replace(now, changes=before.changes, unsynced=before.unsynced)
    if moved := moved_since(shown, now):
        raise changed_since(moved)
    campaign = find_campaign(connection, sheet.campaign)
    if campaign is None or before is None:
        return now
    rows = present_rows(connection, campaign.id, now.named(*PAID, "adopt"), locked=False)
    return replace(with_present_rows(now, rows), id=shown.id)


def approve_sheet(
    connection: Connection,
    plan: Plan,
    sheet: Sheet,
    options: RunOptions,
    *,
    budget: Decimal | None,
    by: str,
    at: float,
) -> Plan:
    """Approve the plan of a sheet that was taken in, as `approve` does."""
    if plan.adopting:
        hold_videos(connection)
    approving = partial(approve, connection, plan, sheet_verb(sheet, options))
    return approving(by=by, at=at, budget=budget, at_limit=options.at_limit, terms=options.kept())


def _quote(
    connection: Connection, campaign_id: int, lines: Sequence[PlanLine], *, at: float
) -> None:
    """Record the prices of lines for their rows, where these do not have them."""
    known = {line.row: line for line in lines}
    quotes = [
        Quoted(row, known[row.row].priced)
        for row in rows_of(connection, campaign_id, named=list(known))
        if row.state in NOT_BEGUN | {"held"} and not _is_quoted(row, known[row.row])
    ]
    record_quotes(connection, quotes, tolerance=Decimal(0), at=at)


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


async def take_rows_in(
    ledger: LedgerAccess,
    campaign: Campaign,
    sheet: Sheet,
    options: RunOptions,
    plan: Plan,
    *,
    at: float,
) -> None:
    """Take a sheet into the ledger as a plan found it to differ, but for what is approved.

    A piece at a time, so that others write in between: no row needs another one, and what a crash
    leaves out is taken in by the next run. Rows that may have other ids by now are taken in
    together.
    """
    syncing = partial(sync_plan, campaign=campaign, sheet=sheet, options=options, plan=plan, at=at)
    for begin in range(0, len(plan.unsynced), FEW):
        if await ledger.write(syncing, places=plan.unsynced[begin : begin + FEW]):
            return


def sync_plan(
    connection: Connection,
    campaign: Campaign,
    sheet: Sheet,
    options: RunOptions,
    plan: Plan,
    places: Sequence[int],
    *,
    at: float,
) -> bool:
    """Take these places of a sheet into the ledger; return whether that took all of it in."""
    return sync_sheet(
        connection,
        campaign.id,
        sheet.briefs,
        at=at,
        skipped=sheet.skipped,
        retire=False,
        files=not changes_files(plan),
        edits=edits_of(sheet, options),
        only=Unsynced(places, ()),
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

    Rows that wait for first videos go on hold and rows that left the sheet retire; of those that
    are finished first, no other take is made by itself. Without an approval a budget never rises,
    and files keep their names.
    """
    _hold(connection, campaign, plan, at)
    end_retries(connection, campaign.id, sheet.briefs, skipped=sheet.skipped)
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


def _hold(connection: Connection, campaign: Campaign, plan: Plan, at: float) -> None:
    """Put rows on hold that wait for a canary or a wave, or whose video cannot be taken over."""
    waiting = (*waiting_lines(plan), *(one for one in plan.lines if one.found and one.on_hold))
    reasons = {line.row: line.why or "" for line in waiting}
    for page in pages_of(list(reasons)):
        for row in rows_of(connection, campaign.id, named=page):
            if row.state in ("planned", "quoted", "approved", "held"):
                hold_unpaid(connection, row, reasons[row.row], at=at)
