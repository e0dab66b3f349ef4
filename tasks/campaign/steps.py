"""The steps of a run: read, plan, quote, approve, report; `production` makes what is approved.

Each reads what it needs from the run at hand, and leaves there what the next one needs; what is
durable is in the ledger.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from sqlalchemy import Connection

from callsheet.tasks.campaign.approve import approve
from callsheet.tasks.campaign.lease import find_earlier, is_settled, lease_campaign
from callsheet.tasks.campaign.match import Match, match_sheet, name_campaign
from callsheet.tasks.campaign.outputs import CopiesMade, make_copies
from callsheet.tasks.campaign.plan import plan_sheet
from callsheet.tasks.campaign.quotes import (
    check_budget,
    check_prices,
    check_readable,
    limits_of,
    quote_rows,
    raises_budget,
)
from callsheet.tasks.campaign.recovery import refuse_refused
from callsheet.tasks.campaign.report import outcome_of, say_outcome, sums_of, unreported
from callsheet.tasks.campaign.report_files import write_report
from callsheet.tasks.campaign.run import Run
from callsheet.tasks.campaign.run_record import at_step
from callsheet.tasks.campaign.sheet_verb import (
    campaign_of,
    settle,
    sheet_verb,
    take_rows_in,
    with_present_rows,
)
from callsheet.tasks.campaign.stored_plans import price_plan
from callsheet.tasks.campaign.values import PAID, Plan, PlanLine
from callsheet.tasks.campaign.waits import released, waiting_lines
from callsheet.tasks.engine.free_calls import Price
from callsheet.tasks.ledger.campaigns import (
    Campaign,
    check_owner,
    check_unchanged,
    is_begun,
)
from callsheet.tasks.ledger.decisions import hold_videos
from callsheet.tasks.ledger.figures import endings_of, pages_of
from callsheet.tasks.ledger.present_rows import PresentRow, present_rows
from callsheet.tasks.ledger.runs import note_plan
from callsheet.tasks.ledger.values import CampaignRow
from callsheet.tasks.runtime.errors import SpendRefused, StoreError, StoreUnusable
from callsheet.tasks.runtime.suggest import again_with, suggest
from callsheet.tasks.runtime.telemetry import spanned
from callsheet.tasks.sheet import Sheet, read_sheet

log = logging.getLogger("callsheet.run")

#: Changes of a campaign that a person is asked about, though they cost nothing.
ASKED = ("retention", "copies", "names")
#: Rows that are in memory while their prices are asked for.
QUOTED = 2_000


@spanned("read")
@at_step("reading")
async def read_step(run: Run, sheet: str) -> str:
    """Read the sheet; return the campaign's name. Raises SheetError with every problem."""
    if run.sheet is None:
        run.sheet = await read_sheet(sheet, run.options.reading(run.at.settings))
    run.sheet = await name_campaign(run.at.ledger, run.sheet, run.options)
    return run.sheet.campaign


@spanned("plan")
@at_step("planning")
async def plan_step(run: Run, campaign: str) -> None:
    """Take the sheet into the ledger, held for this process from here to the end of the run.

    Raises SpendRefused, with nothing written, when it may be another campaign than it says.
    """
    at, sheet = run.at, run.sheet
    assert sheet is not None, "the sheet is read first"
    match = await _matched(run, sheet)
    sheet = await _without_unwanted(run)
    if await is_settled(run, match):
        return
    run.campaign = await at.ledger.write(
        campaign_of, sheet=sheet, options=run.options, at=at.clock()
    )
    wait = 0.0 if run.options.if_running == "leave" else run.time_left
    await lease_campaign(run, run.campaign, wait=wait)
    at = run.at
    # Anyone who gave it another sheet was told what that retires; a saved plan says it by itself.
    told = match.moved and not run.options.saved_plan
    options = run.options.but(retire=run.options.retire or told)
    plan = await plan_sheet(at.ledger, sheet, options)
    # Before the ledger takes the sheet in: a refused run leaves no other reading behind.
    await _check_reading(run, sheet, plan)
    await take_rows_in(at.ledger, run.campaign, sheet, run.options, plan, at=at.clock())
    if await find_earlier(run, run.campaign):
        # Rows that were found, or that may have been paid for, are not made any more.
        changes = plan.changes
        plan = replace(await plan_sheet(at.ledger, sheet, options), changes=changes)
    if plan.elsewhere:
        # Other campaigns may have approved its rows since. Whoever approves is taken to have seen
        # what a plan says of that, and `--yes` sees nothing.
        await _matched(run, sheet)
    run.go_by(plan.under(at.settings))
    if plan.moves_anything:
        await run.meet_starter()


async def _matched(run: Run, sheet: Sheet) -> Match:
    """Judge whose the sheet is; raise SpendRefused where that stands in the way of spending."""
    match = await match_sheet(run.at.ledger, sheet, run.options, run.at.settings)
    if match.refusal is not None:
        raise match.refusal
    return match


async def _without_unwanted(run: Run) -> Sheet:
    """Return the sheet, without its hidden rows where some would cost and are not wanted."""
    assert run.sheet is not None, "the sheet is read first"
    if run.sheet.hidden:
        plan = await plan_sheet(run.at.ledger, run.sheet, run.options)
        costly = [line.row for line in plan.spending if line.row in run.sheet.hidden]
        if costly and not await _wants_hidden(run, costly):
            run.sheet = run.sheet.visible_only()
    return run.sheet


async def _wants_hidden(run: Run, rows: Sequence[str]) -> bool:
    """Ask whether hidden rows are wanted, by id; raise SpendRefused where no one says."""
    wanted = await run.approver.wants_hidden(rows)
    if wanted is not None:
        return wanted
    videos = "a video of it is" if len(rows) == 1 else "videos of them are"
    raise SpendRefused(
        f"{say_hidden(rows)} in the workbook, and you did not say whether {videos} wanted; "
        "nothing was spent",
        remedy="--include-hidden makes videos of them too, and `hidden_rows` in a profile says "
        f"it for good; to skip them, {again_with('--visible-only')}",
    )


def say_hidden(rows: Sequence[str]) -> str:
    """Say which rows are hidden: `2 rows are hidden (r1, r2)`."""
    shown = ", ".join([*rows[:5], *["..."] * (len(rows) > 5)])
    return f"{'1 row is' if len(rows) == 1 else f'{len(rows)} rows are'} hidden ({shown})"


async def _check_reading(run: Run, sheet: Sheet, plan: Plan) -> None:
    """Raise SpendRefused unless a known sheet may be read in another way than before.

    A saved plan shows it, and is compared with the plan of now before it is approved.
    """
    if run.options.saved_plan:
        return
    for words in (one.words for one in plan.changes if one.what == "columns"):
        if await run.approver.accepts_reading(words):
            continue
        given = [word for one in run.options.map or () for word in ("--map", one)]
        look = suggest("plan", sheet.address, *given, "-o", "plan.html")
        raise SpendRefused(
            f"{words}; nothing was changed, nothing was spent",
            remedy="to read it as before, check its headers and columns.toml next to it; if this "
            f"is what you want, look at the plan and run that:\n  {look}\n  "
            f"{suggest('run', '--plan', 'plan.html')}",
        )


@spanned("quote")
@at_step("quoting")
async def quote_step(run: Run, campaign: str) -> None:
    """Ask for the price of every chosen row that would be made, now or in a later round.

    Raises SheetError when a row that would be paid for names a tool or a field that is not there:
    after the recovery, since what was made before is made, whatever the service offers by now.
    """
    assert run.sheet is not None, "the sheet is read first"
    assert run.plan is not None, "the rows are planned first"
    at, resting = run.at, dict[str, CampaignRow]()
    price = partial(price_plan, settings=at.settings, ledger=at.ledger, clock=at.clock)
    ask = partial(_quote, run, resting)
    run.sheet, plan = await price(run.sheet, run.plan, ask=ask, service=at.service)
    for one in resting.values():
        if one.state == "rejected":
            log.warning("row %s is rejected: %s", one.row, one.reason, extra={"row": one.row})
    lines = (
        line._replace(action="person", why=row.reason, state=row.state)
        if (row := resting.get(line.row))
        else line
        for line in plan.lines
    )
    run.go_by(replace(plan, lines=tuple(lines)) if resting else plan)


async def _quote(
    run: Run, resting: dict[str, CampaignRow], _: Sheet, lines: Sequence[PlanLine]
) -> Mapping[str, Price]:
    """Quote rows in the ledger; return their prices, and put the ones that rest into `resting`."""
    prices: dict[str, Price] = {}
    waiting = {line.row for line in lines if not line.spends}
    for page in pages_of([line.row for line in lines], QUOTED):
        rows = [r for r in await run.named(page) if r.state == "planned" or r.row not in waiting]
        found = await quote_rows(run.at, rows, run.on_quotes)
        prices |= found
        asked = (row for row in await run.named([*found]) if row.state in ("rejected", "held"))
        resting |= {row.row: row for row in asked}
    return prices


@spanned("approve")
@at_step("approving")
async def approve_step(run: Run) -> None:
    """Have the plan approved as it was shown, with all that the sheet sets: all of it, or nothing.

    Raises SpendRefused when the budget or a person says no, or when something changed while the
    person was asked; StoreUnusable when the store cannot take the videos. Nothing has been spent
    by then.
    """
    assert run.campaign is not None
    assert run.sheet is not None
    assert run.plan is not None, "the rows are planned first"
    if run.interrupted is not None:
        raise SpendRefused(f"{run.interrupted}; nothing was spent")
    run.plan = shown = await _see(run, run.campaign, run.plan)
    if run.plan.moves_anything:
        await run.at.store.check()
    asks = shown.unapproved or await _sets_more(run, shown)
    if asks:
        run.plan = await run.approver.approve(shown)
    # One that was stopped, or has lost its campaign, leaves what it would approve to another run.
    if run.settled or run.lost is not None:
        return
    await run.at.ledger.write(_approve if asks else _settle, run=run, plan=run.plan)


async def _see(run: Run, campaign: Campaign, planned: Plan) -> Plan:
    """Show the plan, its rows as they are by now; return it, or raise where none may approve it.

    The rows are read again by whoever approves, and are not kept until then: of a large sheet
    they take more memory than the plan.
    """
    names = [*planned.named(*PAID, "adopt"), *(line.row for line in waiting_lines(planned))]
    found = await run.at.ledger.read(
        present_rows, campaign_id=campaign.id, names=names, locked=False
    )
    now = {name: row for name, row in found.items() if row.state in ("quoted", "approved")}
    reading = partial(limits_of, run.at.ledger, run.at.terms, now.values())
    planned = replace(planned, accounts=await reading(needed=planned.total, now=run.at.clock()))
    run.show(planned)
    if log.isEnabledFor(logging.INFO):
        log.info("plan for %s: %s", planned.campaign, "; ".join(sums_of(planned)))
    shown = await run.approver.see(with_present_rows(planned, found))
    run.lacks_price = bool(shown.unpriced)
    check_prices(planned, now)
    _check_payable(run, shown, now)
    run.lacks_price = False
    return shown


async def _sets_more(run: Run, plan: Plan) -> bool:
    """Whether a plan changes more than videos of a campaign that has begun, so that it is asked."""
    assert run.campaign is not None
    changes = (one for one in plan.changes if one.what in ASKED and not one.by_settings)
    if run.settled or not (any(changes) or raises_budget(run.campaign, plan)):
        return False
    return await run.at.ledger.read(is_begun, campaign_id=run.campaign.id)


def _check_payable(run: Run, plan: Plan, now: Mapping[str, PresentRow]) -> None:
    """Raise SpendRefused where prices, a budget or the age of a lost ledger stand in the way."""
    if not run.options.pay_again:
        refuse_refused(plan.refused)
    # Later rounds make the waiting rows without another question, if this one asks one.
    goes_on = run.approver.approves_later and plan.is_released_by_checks and plan.spending
    whole = released(plan) if goes_on else plan
    check_budget(whole, run.options.at_limit, part=again_with("--at-limit", "fit"))
    check_readable(now.values(), run.at.terms, now=run.at.clock())


def _approve(connection: Connection, run: Run, plan: Plan) -> None:
    """Approve a plan as it was shown, and keep it so for this run, which has the campaign."""
    assert run.campaign is not None
    assert run.sheet is not None
    if plan.adopting:
        hold_videos(connection)
    owns = partial(_check_owner, owner=run.at.terms.owner)
    verb = sheet_verb(run.sheet, run.options, (owns, *run.approver.limits))
    known = replace(plan, budget=run.campaign.budget, cancelled_at=run.campaign.cancel_requested_at)
    budget = None if plan.budget == known.budget else plan.budget
    write = partial(approve, connection, known, verb, by=plan.by, budget=budget)
    approved = write(at_limit=run.options.at_limit, at=run.at.clock())
    if approved.id is not None:
        note_plan(connection, run.record_id, approved.id)


def _settle(connection: Connection, run: Run, plan: Plan) -> None:
    """Write what a plan sets that needs no approval."""
    assert run.campaign is not None
    assert run.sheet is not None
    check_unchanged(connection, run.campaign, owner=run.at.terms.owner)
    write = partial(settle, sheet=run.sheet, options=run.options)
    write(connection, run.campaign, plan, run.at.clock())


def _check_owner(connection: Connection, campaign: Campaign, _: Plan, *, owner: str | None) -> None:
    check_owner(connection, campaign, owner=owner)


@spanned("report")
@at_step("reporting")
async def report_step(run: Run, campaign: str) -> None:
    """Write manifest and status sheet into the store, and say how the run ended.

    A store that cannot take them does not hide what became of the rows.
    """
    assert run.campaign is not None, "the rows are planned first"
    wanted = None if run.is_about_all else run.has
    states = await run.at.ledger.read(endings_of, campaign_id=run.campaign.id, wanted=wanted)
    before = None if run.settled else run.charged_before
    outcome = await outcome_of(run.at, run.campaign, states, run.engine, charged_before=before)
    if run.lost is not None and "quoted" in states:
        # It was stopped before they were approved: they need another run, and no decision.
        words = outcome.words or f"{run.lost}; nothing of this plan was approved"
        outcome = replace(outcome, exit_status=5, words=words)
    try:
        copies = CopiesMade() if run.interrupted else await make_copies(run.at, run.campaign)
        if copies.held and outcome.exit_status == 0:
            outcome = replace(outcome, exit_status=3, words=outcome.words or copies.words)
        if copies.made or not run.settled:
            await write_report(run.at, run.campaign)
    except (StoreError, StoreUnusable) as error:
        outcome = unreported(outcome, error)
    run.outcome = outcome
    log.info("%s", say_outcome(outcome))
