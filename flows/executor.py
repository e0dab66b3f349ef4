"""The one executor: runs a sheet, or rows of the ledger, for every door.

Doors differ in who approves (an `Approver`) and where the run is shown (a `Watch`). Neither of them
changes what happens, nor does the way in which steps are taken: as functions or Prefect tasks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from uuid import uuid4

from callsheet.tasks.aftercare.repairs import plan_repairs, repair
from callsheet.tasks.campaign.approver import Approver
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.production import produce_step, production
from callsheet.tasks.campaign.run import FindStarter, Run, Watch, open_run, unwatched
from callsheet.tasks.campaign.shown_states import PRODUCE
from callsheet.tasks.campaign.steps import (
    approve_step,
    plan_step,
    quote_step,
    read_step,
    report_step,
)
from callsheet.tasks.campaign.validity import check_valid
from callsheet.tasks.campaign.values import Plan, RunOutcome
from callsheet.tasks.campaign.waits import next_round, released
from callsheet.tasks.ledger.campaigns import find_campaign
from callsheet.tasks.ledger.deliveries import verdicts_of
from callsheet.tasks.ledger.runs import RunKind
from callsheet.tasks.ledger.values import UNDER_WAY
from callsheet.tasks.runtime.errors import SpendRefused
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.suggest import again_with
from callsheet.tasks.sheet import Sheet

#: Changes from outside that a run names.
SHOWN = 20


async def run_sheet(
    options: RunOptions,
    settings: Settings,
    approver: Approver,
    *,
    watch: Watch = unwatched,
    begins: Callable[[], Awaitable[None]] | None = None,
    find_starter: FindStarter | None = None,
    sheet: Sheet | None = None,
) -> RunOutcome:
    """Plan a sheet, ask for approval, make and deliver the videos; return how it ended.

    `begins` is called when the rows are approved, before the first of them is made; `sheet` is the
    sheet if it has already been read. With `canary="auto"` more rounds make the rows that wait,
    each once the videos before have passed their checks, if the approver saw their price, too. All
    rounds share the run's budget and `max_wait`. Raise SheetError, SpendRefused, Parked, or the
    error of the service, ledger or store.
    """
    charged = Decimal(0)
    if options.run_id is None:
        # Of all rounds: they are one run.
        options = options.but(run_id=uuid4().hex)
    kind: RunKind = "adopt" if options.adopt else "run"
    opening = partial(open_run, find_starter=find_starter, kind=kind)
    while True:
        async with opening(options, settings=settings, approver=approver) as run, watch(run):
            run.sheet = sheet
            try:
                campaign = await prepare(run)
            except SpendRefused:
                if run.lacks_price:
                    await _fetch(run)
                raise
            if begins is not None:
                await begins()
            outcome = await process(run, campaign)
            charged += outcome.charged_this_run
            # People know of one run, however many rounds it has.
            run.outcome = replace(outcome, charged_this_run=charged)
            shown = run.plan
            options = options.but(max_wait=run.time_left)
            if shown is None or not await _goes_on(run, shown):
                return run.outcome
            if shown.by:
                # It has the budget that was approved, unless somebody has set another one since.
                options = options.but(keep_budget=True)
            # What was set on the board since is for other runs.
            settings = run.at.settings
        approver = _LaterRound(approver, shown, settings)


async def prepare(run: Run) -> str:
    """Read, plan, quote and approve; return the name of the campaign.

    Raise SheetError, SpendRefused, Parked, or the error of the service, ledger or store.
    """
    campaign = await _quote(run)
    await approve_step(run)
    return campaign


async def _fetch(run: Run) -> None:
    """Deliver the rows of a refused run that were sent before: what is paid for needs no price."""
    assert run.campaign is not None
    # A request that may not have left yet waits for the next run: it would be paid for now.
    sent = UNDER_WAY - {"submitting"}
    run.only = frozenset(row.row for row in await run.rows() if row.state in sent)
    if run.only:
        await process(run, run.campaign.name)
        # They were paid for before: this run has spent nothing.
        run.pays = False


async def _repair(run: Run, campaign: str) -> None:
    """Fix what changed outside since delivery where that is free, and say what was done."""
    at = run.at
    known = await at.ledger.read(find_campaign, name=campaign)
    if known is None:
        return
    plan = partial(plan_repairs, at.ledger, at.settings, known, service=at.service, files=True)
    found = await plan(select=run.options.select, clock=at.clock)
    if found.findings:
        for one in (await repair(found, at)).drift[:SHOWN]:
            run.say(str(one))


async def process(run: Run, campaign: str) -> RunOutcome:
    """Process approved rows and rows in progress, report, and return how it ended.

    No engine is started if everything is delivered and reported.
    """
    if not run.settled:
        async with production(run):
            taking = partial(run.take, PRODUCE, produce_step, campaign)
            labels = (shard.label for shard in run.shards)
            await asyncio.gather(*(taking(n, label) for n, label in enumerate(labels)))
    await run.take("report-campaign", report_step, campaign)
    assert run.outcome is not None
    return run.outcome


async def _quote(run: Run) -> str:
    campaign = await run.take("read-sheet", read_step, run.options.sheet)
    if run.options.repair:
        # Before the run has the lease of its campaign: a repair takes that itself.
        await _repair(run, campaign)
    await run.take("plan-rows", plan_step, campaign)
    await run.take("quote-rows", quote_step, campaign)
    return campaign


async def _goes_on(run: Run, plan: Plan) -> bool:
    """Return whether another round may start: the first videos passed their checks in time."""
    if not plan.is_released_by_checks or not plan.moves_anything:
        return False
    if not run.approver.approves_later or run.is_stopped or run.time_left == 0:
        return False
    assert run.campaign is not None
    found = await run.at.ledger.read(verdicts_of, campaign_id=run.campaign.id)
    return bool(next_round(plan, found))


#: What stands in the history of rows that a later round approved.
_PASSED = ", and the first videos passed their checks"


class _LaterRound(Approver):
    """Approves rows that waited for first videos, if they are as the first round showed them."""

    approves_later = True

    def __init__(self, first: Approver, shown: Plan, settings: Settings) -> None:
        self._first = first
        self._shown = shown
        self._tolerance = settings.quote_tolerance
        self.limits = first.limits

    async def wants_hidden(self, rows: Sequence[str]) -> bool:
        """Return the answer of the first round: its plan has the hidden rows that were wanted."""
        return {line.row for line in self._shown.lines} >= set(rows)

    async def accepts_reading(self, words: str) -> bool:
        """Ask nothing: the first round took the sheet in as it is."""
        return True

    async def approve(self, plan: Plan) -> Plan:
        """Return the plan as approved in the first round; raise MovedOn if it has changed.

        Without an approval there, of videos that an earlier run had begun, the first approver is
        asked.
        """
        check_valid(released(self._shown), plan, tolerance=self._tolerance, look=again_with())
        if not self._shown.by:
            return await self._first.approve(plan)
        return plan.approved(self._shown.by.removesuffix(_PASSED) + _PASSED)
