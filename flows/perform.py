"""Performs a verb: plans it, has the plan approved, makes its rows. One way for every door.

Doors differ in who approves (an `ApprovePlan`) and where the run is shown (a `Watch`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial

from callsheet.flows.executor import process
from callsheet.tasks.campaign.approve import Verb, approve
from callsheet.tasks.campaign.approver import ApprovePlan
from callsheet.tasks.campaign.lease import find_earlier, lease_campaign
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.plan_document import stored_plan
from callsheet.tasks.campaign.propose import campaign_asked, propose, rows_named
from callsheet.tasks.campaign.run import Run, Watch, open_run, unwatched
from callsheet.tasks.campaign.run_record import run_approved, run_begins, steps_to
from callsheet.tasks.campaign.values import PAID, Plan, RunOutcome
from callsheet.tasks.ledger.ledger import Ledger, open_ledger
from callsheet.tasks.ledger.plans import find_plan
from callsheet.tasks.ledger.runs import RunKind
from callsheet.tasks.ledger.values import CampaignRow
from callsheet.tasks.runtime.known_settings import Settings


@dataclass(frozen=True, kw_only=True)
class Performed:
    """What was planned, its rows as they are now, and how the run ended, where there was one."""

    plan: Plan
    rows: Mapping[str, CampaignRow]
    outcome: RunOutcome | None = None

    @property
    def exit_status(self) -> int:
        """3 where a line of the plan needs a person; else that of the run."""
        needs = 3 if self.plan.named("person") else 0
        return max(needs, self.outcome.exit_status) if self.outcome else needs


async def perform(
    verb: Verb,
    ask: RunOptions,
    settings: Settings,
    approve_plan: ApprovePlan,
    *,
    watch: Watch = unwatched,
    make: bool = True,
    plan_id: str | None = None,
    wait: float | None = 0.0,
) -> Performed:
    """Plan what is asked for, have it approved, and with `make` process its rows to their end.

    `plan_id` is what the plan is approved under, once: a run that is started again makes the rows
    that were approved then, and asks no one. `wait` is as in `lease_campaign`. Raise SpendRefused,
    Parked, or the error of the planner, of `approve_plan`, of the service, ledger or store.
    """
    if plan_id is None:
        # What cannot be done is said before a service is needed.
        async with await open_ledger(settings.ledger, create=False) as ledger:
            plan = await ledger.read(verb.plan, ask=ask, make=make)
        if not plan.named(*PAID, "fetch"):
            return Performed(plan=plan, rows={})
    # A selection says what is planned; the rows that are made may be in other states by then.
    kind: RunKind = "retake" if verb.kind == "retake" else "approve" if verb.effects else "fetch"
    async with _opened(ask.but(select=None, rows=None), settings, watch, kind) as run:
        at, ask = run.at, ask.but(sandbox=run.options.sandbox)
        plan = await _approved_before(at.ledger, plan_id) or await _approved(
            run, verb, ask, approve_plan, make=make, plan_id=plan_id
        )
        names = plan.named(*PAID, "fetch")
        # A run that is started again reports, where nothing is left to do.
        if make and (names or plan_id is not None):
            run.only = frozenset(names)
            await _make(run, wait=wait)
        rows = await at.ledger.read(rows_named, campaign=plan.campaign, names=names)
        return Performed(plan=plan, rows={row.row: row for row in rows}, outcome=run.outcome)


async def perform_approved(
    plan: Plan,
    ask: RunOptions,
    settings: Settings,
    *,
    watch: Watch,
    begins: Callable[[], Awaitable[None]],
) -> RunOutcome:
    """Process a plan that was approved before, of a sheet or of rows; wait until it is its turn.

    `begins` is called then. Raise as `perform` does.
    """
    async with _opened(ask, settings, watch) as run:
        assert run.campaign is not None
        run.go_by(replace(plan, adopt=ask.adopt))
        if not plan.sheet_digest or plan.sheet_digest != run.campaign.sheet_digest:
            # Of a campaign that was given another sheet since, it begins nothing of that.
            run.only = frozenset(plan.named(*PAID, "adopt", "fetch"))
        return await _make(run, wait=None, begins=begins)


@asynccontextmanager
async def _opened(
    ask: RunOptions, settings: Settings, watch: Watch, kind: RunKind = "run"
) -> AsyncIterator[Run]:
    """Open a run of a campaign that is in the ledger, and show it."""
    async with open_run(ask, settings, kind=kind) as run:
        ask = ask.but(sandbox=run.options.sandbox)
        run.campaign = await run.at.ledger.read(campaign_asked, ask=ask)
        async with watch(run):
            yield run


async def _make(
    run: Run,
    *,
    wait: float | None,
    begins: Callable[[], Awaitable[None]] | None = None,
) -> RunOutcome:
    """Process what the run is about, once no other run has its campaign."""
    assert run.campaign is not None
    await run.at.store.check()
    await lease_campaign(run, run.campaign, wait=wait)
    await find_earlier(run, run.campaign)
    if begins is not None:
        await begins()
    return await process(run, run.campaign.name)


async def _approved(
    run: Run,
    verb: Verb,
    ask: RunOptions,
    approve_plan: ApprovePlan,
    *,
    make: bool,
    plan_id: str | None,
) -> Plan:
    """Return the plan of what is asked for, approved where it pays for anything."""
    at, settings = run.at, run.at.settings
    proposing = partial(propose, verb, ask, at.ledger, lambda: nullcontext(at.service))
    # Without an id, rows under way may be what the same command approved before it broke off.
    first = make and plan_id is None
    plan = await proposing(settings=settings, clock=at.clock, make=first)
    if not plan.spending:
        return plan
    given = plan.budget if ask.budget is None else ask.budget
    shown = replace(plan, budget=given)
    run.show(shown)
    run_begins(at.ledger, settings, plan.campaign)
    steps_to("approving")
    # Cancelling this run from here on cancels what it approves.
    run.only = frozenset(plan.named(*PAID))
    if make:
        await at.store.check()
    by = (await approve_plan(shown)).by
    change = partial(approve, plan=replace(plan, id=plan_id), verb=verb, by=by, budget=ask.budget)
    approved = await at.ledger.write(change, at=at.clock())
    run_approved(approved.id)
    return approved


async def _approved_before(ledger: Ledger, plan_id: str | None) -> Plan | None:
    """Return the plan that was approved under an id; None for none."""
    stored = None if plan_id is None else await ledger.read(find_plan, plan_id=plan_id)
    return None if stored is None or stored.state != "approved" else stored_plan(stored)
