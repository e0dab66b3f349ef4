"""The run of one sheet in a nightly run, and what all of its sheets share.

Reports and notices are not its job.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from callsheet.flows.executor import Steps, run_sheet
from callsheet.flows.perform import perform
from callsheet.tasks.aftercare.resume import RESUME, plan_under_way
from callsheet.tasks.campaign.approver import approve_nothing
from callsheet.tasks.campaign.match import name_campaign
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.report import exit_status
from callsheet.tasks.campaign.run import Run, Watch
from callsheet.tasks.campaign.values import Plan, PlanLine, RunOutcome
from callsheet.tasks.campaign.waits import waiting_lines
from callsheet.tasks.ledger.campaigns import Campaign, find_campaign
from callsheet.tasks.ledger.figures import endings_of
from callsheet.tasks.ledger.inbox_sheets import SweptSheet
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.nightly_runs import KeptNight
from callsheet.tasks.ledger.values import State
from callsheet.tasks.nights.approval import NightApproval
from callsheet.tasks.nights.inboxes import Inbox
from callsheet.tasks.nights.locations import SheetFile
from callsheet.tasks.nights.records import begin
from callsheet.tasks.nights.reports import NightReport, SheetReport, add_report
from callsheet.tasks.runtime.crash_points import crashpoint
from callsheet.tasks.runtime.errors import BadInput, CallsheetError, Parked, SpendRefused
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.process import Sleep, UnixClock
from callsheet.tasks.runtime.suggest import suggest_run
from callsheet.tasks.sheet import Sheet

T = TypeVar("T")
log = logging.getLogger("callsheet.night")

#: Seconds to wait for the campaign of a killed run after its lease, and between two checks.
_GRACE, _PAUSE = 5.0, 2.0


class SheetRun:
    """Runs a sheet, or the rows in progress of its campaign.

    `known` is the ledger's record of the sheet, which gets the campaign's status before the run;
    `plan` is set once it was refused, `waiting` are the rows that wait for first videos.
    """

    def __init__(self, at: Sweeping, entry: SheetFile, known: SweptSheet) -> None:
        self.known = known
        self.campaign = known.campaign
        self.plan: Plan | None = None
        self.waiting: list[PlanLine] = []
        self._at = at
        self._entry = entry

    async def process(self, sheet: Sheet, approved: Callable[[], None]) -> RunOutcome:
        """Run the sheet; call `approved` once its approval is decided."""
        return await self._when_free(partial(self._run, sheet, approved))

    def _check_own(self, campaign: str) -> None:
        """Raise SpendRefused if another sheet of the inbox has the same campaign.

        Otherwise they would undo each other's rows, and each would pay for its own.
        """
        other = self._at.campaigns.setdefault(campaign, self._entry.name)
        if other != self._entry.name:
            raise SpendRefused(
                f"campaign {campaign} belongs to {other}, which is in the same inbox; nothing "
                "was spent",
                remedy="remove one of the two, or give it its own campaign name",
            )

    async def bring_home(self, more: frozenset[State]) -> RunOutcome | None:
        """Resume the rows in progress of the campaign, even if its sheet cannot be run.

        Rows in one of the states `more` are processed as well.
        """
        at = self._at
        found = await self.find()
        if found is None:
            return None
        sandbox = at.settings.sandbox
        ask = RunOptions(campaign=found.name, max_wait=at.time_left, sandbox=sandbox)
        verb = RESUME._replace(plan=partial(plan_under_way, more=more))
        go_on = partial(perform, verb, ask, at.settings, approve_nothing, watch=at.shown)
        try:
            if not (await at.ledger.read(verb.plan, ask=ask, make=True)).lines:
                return None
            await self.begin(found.name)
            return (await self._when_free(partial(go_on, steps=at.steps))).outcome
        except BadInput:
            raise
        except CallsheetError as error:
            log.warning("%s: rows in progress were not resumed: %s", self._entry.name, error)
            return None

    async def status(self) -> int:
        """Return the status of the campaign as an exit status; 5 with videos in progress."""
        found = await self.find()
        if found is None:
            return 0
        return exit_status(await self._at.ledger.read(endings_of, campaign_id=found.id))

    async def _run(self, sheet: Sheet, approved: Callable[[], None]) -> RunOutcome:
        """Run the sheet as it was read."""
        at = self._at
        options = self.options(sheet)
        sheet = await name_campaign(at.ledger, sheet, options.but(sandbox=at.settings.sandbox))
        self._check_own(sheet.campaign)
        await self.begin(sheet.campaign)
        approval = NightApproval(
            ledger=at.ledger,
            inbox=at.inbox,
            night=at.night,
            since=at.since,
            place=at.place,
            sheet=self._entry.name,
            again=self.by_hand(sheet.campaign),
            tolerance=at.settings.quote_tolerance,
            retries=sheet.retry_failed or 0,
        )
        has_begun = False

        async def begins() -> None:
            nonlocal has_begun
            has_begun = True
            crashpoint("night: what was approved is in the rows")
            approved()

        running = partial(run_sheet, options, at.settings, approval, at.steps)
        try:
            return await running(watch=at.shown, begins=begins, sheet=sheet)
        except SpendRefused:
            # Refused by a rule or a limit after the sheet was planned.
            self.plan = None if has_begun else approval.seen
            raise
        finally:
            self.waiting = [] if approval.seen is None else waiting_lines(approval.seen)

    async def _when_free(self, do: Callable[[], Awaitable[T]]) -> T:
        """Run it; if a killed run still has the lease, wait until that expires."""
        at = self._at
        loop = asyncio.get_running_loop()
        until = loop.time() + at.settings.lease + _GRACE
        while True:
            try:
                return await do()
            except Parked as error:
                soon = error.until.timestamp() <= at.clock() + at.settings.lease + _GRACE
                if not soon or loop.time() >= until or at.lost:
                    raise
                await asyncio.sleep(_PAUSE)

    def options(self, sheet: Sheet) -> RunOptions:
        at = self._at
        # The inbox sets the maximum: a sheet may set less.
        wanted = [b for b in (sheet.budget, at.inbox.budget) if b is not None]
        return RunOptions(
            sheet=self._entry.address,
            budget=min(wanted, default=None),
            max_wait=at.time_left,
            if_running="leave",
            canary="yes" if at.inbox.canary and at.inbox.approval != "plan-only" else None,
            waves=at.inbox.waves if at.inbox.approval != "plan-only" else None,
            sandbox=at.sandbox,
            typed=("--sandbox",) if at.sandbox else (),
        )

    def by_hand(self, campaign: str) -> str:
        """Return the command with which a person runs the sheet and approves it."""
        typed = ("--sandbox",) if self._at.sandbox else ()
        return suggest_run(self._entry.address, campaign, *typed)

    async def find(self) -> Campaign | None:
        if self.campaign is None:
            return None
        return await self._at.ledger.read(find_campaign, name=self.campaign)

    async def begin(self, campaign: str) -> None:
        """Record the campaign and its status before the run changes anything."""
        self.campaign = campaign
        known = replace(self.known, campaign=campaign)
        self.known = await self._at.ledger.write(begin, inbox=self._at.inbox.name, sheet=known)


# What all sheets of a scan share: ledger, limits, the lease of the night, and the report so far.


@dataclass(kw_only=True)
class Sweeping:
    """What all sheets of a scan share."""

    ledger: Ledger
    settings: Settings
    inbox: Inbox
    night: KeptNight
    #: Start of the night.
    since: float
    place: str
    steps: Steps
    watch: Watch
    sandbox: bool
    clock: UnixClock
    sleep: Sleep
    #: The sheet of each campaign.
    campaigns: dict[str, str] = field(default_factory=dict)
    #: Why nothing more may be started: another scan has the lease.
    lost: str | None = None
    _open: dict[int, Run] = field(default_factory=dict)
    _told: dict[str, SheetReport] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.night.report is not None:
            before = NightReport.read(self.night.report)
            self._told = {sheet.name: sheet for sheet in before.sheets}
        wait = self.inbox.max_wait
        self.until = None if wait is None else asyncio.get_running_loop().time() + wait

    @property
    def time_left(self) -> float | None:
        """Seconds that are left for the scan."""
        if self.until is None:
            return None
        return max(0.0, self.until - asyncio.get_running_loop().time())

    @property
    def is_trial(self) -> bool:
        """Whether the service is a sandbox, whose videos and credits are not real."""
        return self.sandbox or self.settings.sandbox

    def knows(self, sheets: Iterable[SweptSheet]) -> None:
        """Record which sheet of the inbox has which campaign."""
        # A sheet that was run takes precedence.
        for sheet in sorted(sheets, key=lambda one: (one.outcome == "not-approved", one.name)):
            if sheet.campaign is not None:
                self.campaigns.setdefault(sheet.campaign, sheet.name)

    def sheet_of(self, campaign: str | None) -> str | None:
        """Return the sheet of the inbox that has a campaign; None for none."""
        return None if campaign is None else self.campaigns.get(campaign)

    def lose(self, because: str) -> None:
        """Start nothing more in any run: another scan has the lease."""
        self.lost = because
        for run in self._open.values():
            run.lose(because)

    @asynccontextmanager
    async def shown(self, run: Run) -> AsyncIterator[None]:
        """Show a run, and stop it with the nightly run."""
        self._open[id(run)] = run
        if self.lost:
            run.lose(self.lost)
        try:
            async with self.watch(run):
                yield
        finally:
            self._open.pop(id(run), None)

    def tell(self, report: SheetReport) -> None:
        """Add the report of a sheet to the report of the night."""
        add_report(self._told, report)

    def night_report(self, *, ended_at: float) -> NightReport:
        """Return the report of the night so far, over all its scans."""
        return NightReport(
            inbox=self.inbox.name,
            night=self.night.date,
            zone=self.night.zone,
            begun_at=self.night.begun_at,
            ended_at=ended_at,
            sheets=tuple(self._told[name] for name in sorted(self._told)),
        )
