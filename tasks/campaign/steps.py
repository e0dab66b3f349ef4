"""The steps of a run: plain functions of ids. What follows what is in `flows.pipeline`.

Each reads what it needs from the run at hand, and leaves there what the next one needs; what is
durable is in the ledger.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

from sqlalchemy import Connection

from callsheet.tasks.campaign.catalogue import compared
from callsheet.tasks.campaign.hold import find_earlier, hold_campaign
from callsheet.tasks.campaign.match import Match, match_sheet, name_campaign
from callsheet.tasks.campaign.plan import plan_sheet, priced
from callsheet.tasks.campaign.plan_words import sums_of
from callsheet.tasks.campaign.progress_words import say_outcome
from callsheet.tasks.campaign.quote import (
    as_shown,
    ask_balance,
    check_budget,
    check_prices,
    check_readable,
    check_wanted,
    quote_rows,
)
from callsheet.tasks.campaign.recovery import refuse_refused
from callsheet.tasks.campaign.report import outcome_of, unreported
from callsheet.tasks.campaign.report_files import write_report
from callsheet.tasks.campaign.run import Run, current_run
from callsheet.tasks.campaign.settled import is_settled
from callsheet.tasks.campaign.values import Plan
from callsheet.tasks.engine.lanes.price import Price
from callsheet.tasks.errors import SpendRefused, StoreError, StoreUnusable
from callsheet.tasks.ledger import (
    Account,
    Campaign,
    CampaignRow,
    PricedRow,
    Unsynced,
    approve,
    check_unchanged,
    endings_of,
    ensure_campaign,
    find_account,
    pages_of,
    priced_rows,
    set_apart,
    set_budget,
    sync_sheet,
)
from callsheet.tasks.ledger.earlier import allow_to_pay
from callsheet.tasks.sheet import Sheet, SheetOptions, read_sheet
from callsheet.tasks.suggest import again_with
from callsheet.tasks.traces import spanned

log = logging.getLogger("callsheet.run")

#: Rows that are in memory while their prices are asked for.
QUOTED = 10_000


@spanned("read")
async def read_step(sheet: str) -> str:
    """Read the sheet; return the campaign's name. Raises SheetError with every problem."""
    run = current_run()
    if run.sheet is None:
        options = SheetOptions(
            campaign=run.options.campaign,
            budget=run.options.budget,
            delimiter=run.options.delimiter,
            worksheet=run.options.worksheet,
            hidden_rows=run.options.hidden_rows or run.at.settings.hidden_rows,
            name_template=run.at.settings.names,
        )
        found = await read_sheet(sheet, options)
        run.sheet = await name_campaign(run.at.ledger, found, run.options)
    return run.sheet.campaign


@spanned("plan")
async def plan_step(campaign: str) -> None:
    """Take the sheet into the ledger, held for this process from here to the end of the run.

    Raises SpendRefused, with nothing written, when it may be another campaign than it says, and
    SheetError when a row that would be paid for names a tool or a field that is not there.
    """
    run = current_run()
    at, sheet = run.at, run.sheet
    assert sheet is not None, "the sheet is read first"
    match = await match_sheet(at.ledger, sheet, run.options, at.settings)
    if match.refusal is not None:
        raise match.refusal
    sheet = await _without_unwanted(run)
    if await is_settled(run, match):
        return
    run.campaign = await _campaign_of(run, sheet, match)
    wait = 0.0 if run.options.if_running == "leave" else run.time_left
    await hold_campaign(run, run.campaign, wait=wait)
    at = run.at
    # Whoever gave it another sheet was told what that retires; a saved plan says it by itself.
    told = match.moved and not run.options.saved_plan
    options = replace(run.options, retire=run.options.retire or told)
    plan = await plan_sheet(at.ledger, sheet, options)
    await _sync(run, plan)
    if await find_earlier(run, run.campaign):
        # Rows that were found, or that may have been paid for, are not made any more.
        plan = await plan_sheet(at.ledger, sheet, options)
    run.go_by(plan)
    if plan.moves_anything:
        await run.meet_starter()
    # After the recovery: what was made before is made, whatever the service offers by now.
    rows = {line.row for line in plan.spending}
    run.sheet = await compared(
        sheet, rows, at.settings, ledger=at.ledger, service=at.service, clock=at.clock
    )


async def _without_unwanted(run: Run) -> Sheet:
    """Return the sheet, without its hidden rows where some would cost and are not wanted."""
    assert run.sheet is not None, "the sheet is read first"
    if run.sheet.hidden:
        plan = await plan_sheet(run.at.ledger, run.sheet, run.options)
        costly = [line.row for line in plan.spending if line.row in run.sheet.hidden]
        if costly and not await run.hidden_wanted(costly):
            run.sheet = run.sheet.visible_only()
    return run.sheet


async def _campaign_of(run: Run, sheet: Sheet, match: Match) -> Campaign:
    """Return the campaign that the sheet is of, which is in the ledger from here on."""
    apart_from = [one.campaign_id for one in match.elsewhere] if run.options.new_campaign else ()
    change = partial(
        ensure_campaign,
        name=sheet.campaign,
        sheet=sheet.address,
        sheet_digest=sheet.digest,
        at=run.at.clock(),
        origin=sheet.origin,
        sandbox=run.options.sandbox,
        apart_from=apart_from,
    )
    return await run.at.ledger.write(change)


async def _sync(run: Run, plan: Plan) -> None:
    """Take the sheet into the ledger as the plan found it to differ."""
    assert run.sheet is not None
    assert run.campaign is not None
    change = partial(
        sync_sheet,
        campaign_id=run.campaign.id,
        briefs=run.sheet.briefs,
        at=run.at.clock(),
        skipped=run.sheet.skipped,
        retire=not plan.needs_word,
        only=Unsynced(plan.unsynced, plan.retiring),
    )
    await run.at.ledger.write(change)


@spanned("quote")
async def quote_step(campaign: str) -> None:
    """Ask for the price of every chosen row that would be made."""
    run = current_run()
    assert run.plan is not None, "the rows are planned first"
    prices: dict[str, Price] = {}
    resting: dict[str, CampaignRow] = {}
    for page in pages_of([line.row for line in run.plan.spending], QUOTED):
        rows = await run.named(page)
        run.before |= {row.row: row.state for row in rows}
        found = await quote_rows(run.at, rows, run.on_quotes)
        prices |= found
        asked = (row for row in await run.named([*found]) if row.state in ("rejected", "held"))
        resting |= {row.row: row for row in asked}
    if not prices:
        return
    lines = tuple(
        line._replace(action="person", why=resting[line.row].reason, state=resting[line.row].state)
        if line.row in resting
        else line
        for line in priced(run.plan, prices).lines
    )
    run.plan = replace(run.plan, lines=lines)


@spanned("approve")
async def approve_step(campaign: str) -> int:
    """Have the plan approved as it was shown; return how many rows that approved.

    Raises SpendRefused when the budget or a person says no, or when something changed while the
    person was asked; StoreUnusable when the store cannot take the videos. Nothing has been spent
    by then.
    """
    run = current_run()
    assert run.campaign is not None
    assert run.plan is not None, "the rows are planned first"
    if run.interrupted is not None:
        raise SpendRefused(f"{run.interrupted}; nothing was spent")
    found = await run.at.ledger.read(partial(priced_rows, campaign_id=run.campaign.id))
    found = [row for row in found if run.has(row.row)]
    rows = [row for row in found if row.row in run.before]
    await _show_plan(run, run.plan, rows)
    if log.isEnabledFor(logging.INFO):
        log.info("plan for %s: %s", run.plan.campaign, "; ".join(sums_of(run.plan)))
    if run.before_approval is not None:
        await run.before_approval(run.plan)
    _check_payable(run, run.plan, rows)
    if run.plan.moves_anything:
        await run.at.store.check()
    left = run.plan.retiring if run.plan.needs_word else ()
    gone = frozenset(left)
    waiting = [row for row in found if row.state == "quoted" and row.enabled]
    waiting = as_shown((row for row in waiting if row.row not in gone), run.plan)
    by = await run.approval(run.plan) if waiting or left else ""
    # One that was stopped, or has lost its campaign, leaves what it would approve to another run.
    if not run.settled and run.lost is None:
        change = partial(_approve, run=run, waiting=waiting, left=left, by=by)
        return await run.at.ledger.write(change)
    return 0


async def _show_plan(run: Run, plan: Plan, rows: Sequence[PricedRow]) -> None:
    """Show the plan to whoever asked to see it, with what limits it: once a run."""
    if run.on_plan is None:
        return
    balance = await ask_balance(run.at.service) if plan.spending else None
    run.plan = replace(plan, accounts=await _limits(run, rows), balance=balance)
    run.on_plan(run.plan)
    run.on_plan = None


async def _limits(run: Run, rows: Iterable[PricedRow]) -> tuple[Account, ...]:
    """Return the accounts with a limit in which the rows would count, as they are now."""
    now = run.at.clock()
    found = {account for row in rows for account in run.at.terms.accounts(row, at=now)}
    limited = sorted((a for a in found if a.budget is not None), key=lambda a: (a.kind, a.name))

    def read(connection: Connection) -> tuple[Account, ...]:
        return tuple(find_account(connection, account) for account in limited)

    return await run.at.ledger.read(read)


def _check_payable(run: Run, plan: Plan, rows: Sequence[PricedRow]) -> None:
    """Raise SpendRefused where prices, a budget or the age of a lost ledger stand in the way."""
    if not (run.options.pay_again or run.leaves_refused):
        refuse_refused(plan.refused)
    check_prices(rows, run.before)
    check_budget(plan, run.options.at_limit, part=again_with("--at-limit", "fit"))
    check_readable(rows, run.at.terms, now=run.at.clock())


def _approve(
    connection: Connection, run: Run, waiting: Sequence[PricedRow], left: Sequence[str], by: str
) -> int:
    """Write what was approved: all of it, or nothing.

    Raises MovedOn when the campaign or a row is not what was shown to the person who approves.
    """
    assert run.campaign is not None
    assert run.plan is not None
    now = run.at.clock()
    check_unchanged(connection, run.campaign, owner=run.at.terms.owner)
    if run.also_approves is not None and (waiting or left):
        run.also_approves(connection, waiting)
    if waiting:
        check_wanted(connection, run.campaign)
        if run.options.pay_again:
            named = [row.row for row in waiting]
            allow_to_pay(connection, run.campaign.id, named, by=by, at=now)
        # Whoever approved saw that they are paid for elsewhere, and is not asked again.
        elsewhere = [one.campaign_id for one in run.plan.elsewhere]
        set_apart(connection, run.campaign.id, elsewhere)
    # A budget counts from the approval on: one that was refused leaves nothing behind.
    if run.plan.budget is not None:
        set_budget(connection, run.campaign, budget=run.plan.budget, at=now)
    if left:
        assert run.sheet is not None
        briefs, skipped = run.sheet.briefs, run.sheet.skipped
        sync_sheet(connection, run.campaign.id, briefs, at=now, skipped=skipped)
    return approve(connection, waiting, by=by, at=now)


@spanned("report")
async def report_step(campaign: str) -> None:
    """Write manifest and status sheet into the store, and say how the run ended.

    A store that cannot take them does not hide what became of the rows.
    """
    run = current_run()
    assert run.campaign is not None, "the rows are planned first"
    wanted = None if run.is_about_all else run.has
    states = await run.at.ledger.read(
        partial(endings_of, campaign_id=run.campaign.id, wanted=wanted)
    )
    before = None if run.settled else run.charged_before
    outcome = await outcome_of(run.at, run.campaign, states, run.engine, charged_before=before)
    if run.lost is not None and "quoted" in states:
        # It was stopped before they were approved: they need another run, and no decision.
        words = outcome.words or f"{run.lost}; nothing of this plan was approved"
        outcome = replace(outcome, exit_status=5, words=words)
    try:
        if not run.settled:
            await write_report(run.at, run.campaign)
    except (StoreError, StoreUnusable) as error:
        outcome = unreported(outcome, error)
    run.outcome = outcome
    log.info("%s", say_outcome(outcome))
