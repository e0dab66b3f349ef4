"""The steps of a run: plain functions of ids. What follows what is in `flows.pipeline`.

Each reads what it needs from the run at hand, and leaves there what the next one needs; what is
durable is in the ledger.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    nullcontext,
)
from dataclasses import replace
from functools import partial
from uuid import uuid4

from sqlalchemy import Connection

from tasks.campaign.catalogue import compared
from tasks.campaign.crews import Crews, CrewStarter
from tasks.campaign.lease import leased
from tasks.campaign.match import check_same_money, match_sheet, name_campaign, note_ledger
from tasks.campaign.plan import plan_sheet, priced
from tasks.campaign.plan_words import sums_of
from tasks.campaign.progress_words import say_outcome
from tasks.campaign.quote import (
    ask_balance,
    check_budget,
    check_prices,
    check_readable,
    check_wanted,
    quote_rows,
)
from tasks.campaign.recovery import recover, refuse_too_old
from tasks.campaign.report import outcome_of, unreported
from tasks.campaign.report_files import write_manifest, write_report
from tasks.campaign.run import Run, current_run
from tasks.campaign.settled import is_settled
from tasks.campaign.values import Plan
from tasks.engine.engine import Engine
from tasks.engine.lanes.price import Price
from tasks.engine.owner import its_crews
from tasks.engine.pages import NAMED, Shard, Work
from tasks.errors import SpendRefused, StoreError, StoreUnusable
from tasks.garbage import search_of_new
from tasks.ledger import (
    Account,
    Campaign,
    CampaignRow,
    PricedRow,
    State,
    Terms,
    Unsynced,
    approve,
    endings_of,
    ensure_campaign,
    find_account,
    names_of_rows,
    pages_of,
    priced_rows,
    rows_to_carry,
    set_apart,
    set_budget,
    sync_sheet,
    tally_of,
)
from tasks.sheet import Sheet, SheetOptions, read_sheet
from tasks.suggest import again_with
from tasks.traces import span, spanned
from tasks.webhooks import Subscriber
from tasks.webhooks.listener import following_hints

log = logging.getLogger("callsheet.run")

#: Rows that are in memory while their prices are asked for.
QUOTED = 10_000
#: How often progress is shown, in seconds.
TICK = 0.5


async def carry_only(
    run: Run, campaign: Campaign, names: Iterable[str], *, wait: float | None = 0.0
) -> None:
    """Make a run of some rows as the ledger has them, held for this process until it ends.

    Raises Parked when another process is at work on the campaign for longer than `wait` seconds
    (None: no matter how long), SpendRefused where what it has is of the other kind of service.
    """
    check_same_money(campaign, run.options)
    run.campaign = campaign
    run.only = frozenset(names)
    await _hold_campaign(run, campaign, wait=wait)


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
    change = partial(
        ensure_campaign,
        name=campaign,
        sheet=sheet.address,
        sheet_digest=sheet.digest,
        at=at.clock(),
        origin=sheet.origin,
        sandbox=run.options.sandbox,
        apart_from=[one.campaign_id for one in match.elsewhere] if run.options.new_campaign else (),
    )
    run.campaign = await at.ledger.write(change)
    wait = 0.0 if run.options.if_running == "leave" else run.time_left
    await _hold_campaign(run, run.campaign, wait=wait)
    at = run.at
    # Whoever gave it another sheet was told what that retires; a saved plan says it by itself.
    told = match.moved and not run.options.saved_plan
    options = replace(run.options, retire=run.options.retire or told)
    plan = await plan_sheet(at.ledger, sheet, options)
    await _sync(run, plan)
    run.recovery = await recover(at, run.campaign)
    if run.recovery.restored:
        plan = await plan_sheet(at.ledger, sheet, options)
        # What a lost ledger had been charged was not charged by this run.
        await _count_from_here(run, run.campaign)
    run.go_by(plan)
    # After the recovery: what was made before is made, whatever the service offers by now.
    rows = {line.row for line in plan.spending}
    run.sheet = await compared(
        sheet, rows, at.settings, ledger=at.ledger, service=at.service, clock=at.clock
    )


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


async def _without_unwanted(run: Run) -> Sheet:
    """Return the sheet, without its hidden rows where some would cost and are not wanted."""
    assert run.sheet is not None, "the sheet is read first"
    if run.sheet.hidden:
        plan = await plan_sheet(run.at.ledger, run.sheet, run.options)
        costly = [line.row for line in plan.spending if line.row in run.sheet.hidden]
        if costly and not await run.hidden_wanted(costly):
            run.sheet = run.sheet.visible_only()
    return run.sheet


async def _hold_campaign(run: Run, campaign: Campaign, *, wait: float | None) -> None:
    """Have the campaign to this run alone from here to its end, and set credits aside in its name.

    Raises Parked when another run has it for longer than `wait` seconds (None: no matter how long).
    """
    at, options = run.at, run.options
    if run.starter is not None:
        run.production_id = uuid4().hex
    holding = leased(
        at.ledger,
        campaign,
        clock=at.clock,
        lapse=at.settings.lease,
        wait=wait,
        on_wait=run.say_wait,
        on_lost=run.lose,
        owner=its_crews(run.production_id) if run.production_id else None,
    )
    lease = await run.holding.enter_async_context(holding)
    if lease is None:
        return
    await _count_from_here(run, campaign)
    terms = Terms(
        owner=lease.owner,
        day_budget=at.settings.day_budget,
        cost_center_budgets=at.settings.cost_center_budgets,
        run=None if options.run_budget is None else uuid4().hex,
        run_budget=options.run_budget,
        at_limit=options.at_limit or "stop",
    )
    run.at = replace(at, terms=terms, in_charge=lease.holds)


async def _count_from_here(run: Run, campaign: Campaign) -> None:
    """Note what the campaign has been charged so far: all beyond that is this run's."""
    run.charged_before = (await run.at.ledger.read(partial(tally_of, campaign=campaign))).charged


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
    """Have the plan approved as it stands; return how many rows that approved.

    Raises SpendRefused when the budget or a person says no, StoreUnusable when the films would
    have nowhere to go. Nothing has been spent by then.
    """
    run = current_run()
    assert run.campaign is not None
    assert run.plan is not None, "the rows are planned first"
    if run.interrupted is not None:
        raise SpendRefused(f"{run.interrupted}; nothing was spent")
    found = await run.at.ledger.read(partial(priced_rows, campaign_id=run.campaign.id))
    found = [row for row in found if run.has(row.row)]
    rows = [row for row in found if row.row in run.before]
    if run.on_plan is not None:
        balance = await ask_balance(run.at.service) if run.plan.spending else None
        run.plan = replace(run.plan, accounts=await _limits(run, rows), balance=balance)
        run.on_plan(run.plan)
        run.on_plan = None
    if log.isEnabledFor(logging.INFO):
        log.info("plan for %s: %s", run.plan.campaign, "; ".join(sums_of(run.plan)))
    if run.before_approval is not None:
        await run.before_approval(run.plan)
    if not run.options.pay_again:
        wanted = {line.row for line in run.plan.spending}
        refuse_too_old(run.recovery, wanted, horizon=run.at.settings.horizon)
    check_prices(rows, run.before)
    check_budget(run.plan, run.options.at_limit, part=again_with("--at-limit", "fit"))
    check_readable(rows, run.at.terms, now=run.at.clock())
    if run.plan.moves_anything:
        await run.at.store.check()
    left = run.plan.retiring if run.plan.needs_word else ()
    gone = frozenset(left)
    waiting = [row for row in found if row.state == "quoted" and row.enabled]
    waiting = [row for row in waiting if row.row not in gone]
    by = await run.approval(run.plan) if waiting or left else ""
    if not run.settled:
        change = partial(_approve, run=run, waiting=waiting, left=left, by=by)
        return await run.at.ledger.write(change)
    return 0


def _approve(
    connection: Connection, run: Run, waiting: Sequence[PricedRow], left: Sequence[str], by: str
) -> int:
    """Write what was approved: all of it, or nothing."""
    assert run.campaign is not None
    assert run.plan is not None
    now = run.at.clock()
    if waiting:
        check_wanted(connection, run.campaign)
        if run.also_approves is not None:
            run.also_approves(connection, waiting)
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


async def _limits(run: Run, rows: Iterable[PricedRow]) -> tuple[Account, ...]:
    """Return the accounts with a limit in which the rows would count, as they are now."""
    now = run.at.clock()
    found = {account for row in rows for account in run.at.terms.accounts(row, at=now)}
    limited = sorted((a for a in found if a.budget is not None), key=lambda a: (a.kind, a.name))

    def read(connection: Connection) -> tuple[Account, ...]:
        return tuple(find_account(connection, account) for account in limited)

    return await run.at.ledger.read(read)


async def work_of(run: Run) -> Work:
    """Return what a run carries, in the order in which it goes."""
    assert run.campaign is not None, "the rows are planned first"
    campaign_id = run.campaign.id

    def read(connection: Connection) -> Work:
        return Work(row for row in rows_to_carry(connection, campaign_id) if run.has(row.row))

    return await run.at.ledger.read(read)


@asynccontextmanager
async def production(run: Run) -> AsyncIterator[list[Shard]]:
    """Start the engine; yield the shards it is to carry, as many as Prefect is to see."""
    assert run.campaign is not None, "the rows are planned first"
    if run.sheet is not None:
        # The ledger has the rows, and they are read from it as their turn comes.
        run.sheet = run.sheet.without_rows()
    work = await work_of(run)
    if run.sheet is not None and (work or run.campaign.charged):
        note_ledger(run.at.settings, run.sheet)
    if work:
        # Before anything is paid for: should the ledger be lost, the store knows of it.
        await write_manifest(run.at, run.campaign)
    async with AsyncExitStack() as stack:
        stack.enter_context(search_of_new())
        stack.enter_context(span("produce"))
        engine: Engine | Crews
        if run.starter is None:
            engine = Engine(run.campaign, run.at, max_wait=run.time_left)
        else:
            engine = _crews(run, run.campaign, work, run.starter)
        run.engine = await stack.enter_async_context(engine)
        if run.lost:
            engine.stop(run.lost)
        run.shards = await _shards(run, work) if isinstance(engine, Engine) else engine.shards
        engine.progress.expects(len(work))
        await stack.enter_async_context(_following_hints(run, engine) if work else nullcontext())
        if isinstance(engine, Crews):
            await engine.start()
        ticker = asyncio.create_task(_tell(run, engine), name="progress")
        try:
            yield run.shards
        finally:
            ticker.cancel()
            for listener in run.listeners:
                listener(engine.snapshot())


def _crews(run: Run, campaign: Campaign, work: Work, starter: CrewStarter) -> Crews:
    return Crews(
        campaign,
        run.at,
        production_id=run.production_id,
        count=run.options.workers or 1,
        starter=starter,
        work=work,
        whole=run.is_about_all,
        max_wait=run.time_left,
    )


async def _shards(run: Run, work: Work) -> list[Shard]:
    """Part what is carried; the rows that a shard is named after are not known yet where many."""
    if len(work) <= NAMED:
        return work.shards()
    return work.shards(await run.at.ledger.read(partial(names_of_rows, numbers=work.ends())))


def _following_hints(run: Run, engine: Engine | Crews) -> AbstractAsyncContextManager[None]:
    """Follow webhooks while the engine works, where there is an address for them."""
    at, wait = run.at, run.options.wait
    if wait == "poll" or not (at.settings.webhook_url or at.settings.webhook_secret):
        return nullcontext()
    who = Subscriber(settings=at.settings, ledger=at.ledger, service=at.service, clock=at.clock)
    return following_hints(who, engine, say=run.say_hints, strict=wait == "webhook")


async def produce_step(campaign: str, shard: int, label: str) -> dict[State, int]:
    """Carry one shard of the rows until each rests; return how many rest in each state."""
    run = current_run()
    assert run.engine is not None, "production is started first"
    return dict(await run.engine.carry_shard(run.shards[shard]))


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
    try:
        if not run.settled:
            await write_report(run.at, run.campaign)
    except (StoreError, StoreUnusable) as error:
        outcome = unreported(outcome, error)
    run.outcome = outcome
    log.info("%s", say_outcome(outcome))


async def _tell(run: Run, engine: Engine | Crews) -> None:
    while True:
        snapshot = engine.snapshot()
        for listener in run.listeners:
            listener(snapshot)
        await asyncio.sleep(TICK)
