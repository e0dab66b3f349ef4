"""Processes one sheet of an inbox in one night: reads, plans, approves and executes it.

Every outcome is written next to the sheet and then recorded in the ledger. If the process dies in
between, the next scan finds nothing to do and writes the same.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from callsheet.flows.executor import run_sheet
from callsheet.flows.perform import perform
from callsheet.flows.scan import Scan
from callsheet.tasks.aftercare.resume import RESUME, plan_under_way
from callsheet.tasks.campaign.approver import approve_nothing
from callsheet.tasks.campaign.match import name_campaign
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.report import exit_status
from callsheet.tasks.campaign.values import Plan, PlanLine, RunOutcome
from callsheet.tasks.campaign.waits import first_videos, waiting_lines
from callsheet.tasks.ledger.campaigns import Campaign, find_campaign
from callsheet.tasks.ledger.figures import endings_of
from callsheet.tasks.ledger.inbox_sheets import SweptSheet
from callsheet.tasks.ledger.values import NEEDS_PERSON
from callsheet.tasks.nights.approval import NightApproval, keep_plan
from callsheet.tasks.nights.locations import (
    InboxPlace,
    SheetFile,
    is_as_dealt,
    points_to,
    version_dealt,
)
from callsheet.tasks.nights.records import begin, close, resting, with_figures
from callsheet.tasks.nights.reports import (
    Outcome,
    SheetReport,
    answer_document,
    names_of,
    plan_report,
    problems_report,
    rows_report,
)
from callsheet.tasks.notices.action_items import campaign_page, plan_page
from callsheet.tasks.runtime.crash_points import crashpoint
from callsheet.tasks.runtime.errors import (
    BadInput,
    CallsheetError,
    ConfigurationError,
    LedgerError,
    LoginError,
    Parked,
    Problem,
    SheetError,
    SpendRefused,
    StoreError,
    StoreUnusable,
)
from callsheet.tasks.runtime.process import no_search
from callsheet.tasks.runtime.redact import redact
from callsheet.tasks.runtime.suggest import suggest_run
from callsheet.tasks.sheet import Sheet, SheetOptions, parse_sheet
from callsheet.tasks.values.amounts import count

T = TypeVar("T")
log = logging.getLogger("callsheet.night")

#: Seconds to wait for the campaign of a killed run after its lease, and between two checks.
_GRACE, _PAUSE = 5.0, 2.0
#: A sheet that has failed in this many nights is skipped until it changes.
NIGHTS = 3
#: Errors that are not the fault of a sheet and end the whole scan.
_NOT_OF_A_SHEET = (ConfigurationError, LedgerError, LoginError, StoreUnusable)
#: What a run that ended with an exit status came to; any other one made all of its videos.
_ENDED: Mapping[int, Outcome] = {5: "parked", 3: "needs-person"}
#: The exit status of an outcome without an error.
_STATUS: Mapping[Outcome, int] = {"parked": 5, "needs-person": 3, "not-approved": 4}


def _refused(error: CallsheetError) -> Outcome:
    """Return what a sheet came to whose run ended with an error."""
    if isinstance(error, SpendRefused):
        return "not-approved"
    return "invalid" if isinstance(error, BadInput) else "parked"


class NightSheet:
    """One sheet of an inbox, in one scan.

    `known` is what the ledger has of it. One without a place is gone, set aside, or had another
    campaign: its videos under way are downloaded, and the night reports what they cost.
    """

    def __init__(
        self,
        at: Scan,
        known: SweptSheet,
        entry: SheetFile | None = None,
        place: InboxPlace | None = None,
        *,
        moving: Collection[str] = (),
    ) -> None:
        self.name = known.name
        self._at = at
        self._known = known
        self._entry = entry or SheetFile(
            name=known.name, address=known.name, version=known.version, bytes=0
        )
        self._place = place
        self._moving = moving
        self._campaign = known.campaign
        self._digest = ""
        self._content = b""
        self._sheet: Sheet | None = None
        self._problems: tuple[Problem, ...] = ()
        #: Its plan, once that was refused, and the rows that wait for first videos.
        self._refused: Plan | None = None
        self._waiting: list[PlanLine] = []
        #: Whether the report files of its last run are next to it.
        self._was_answered = known.dealt_version is not None
        #: Whether an earlier scan died while it processed this sheet.
        self._taken_up = known.charged_before is not None

    async def quick_check(self) -> SheetReport | None:
        """Return the report of a sheet that needs no run; None if it needs one."""
        known = self._known
        # Links end, without any change of the sheet.
        if not is_as_dealt(self._entry, known) or self._taken_up or self._at.settings.links:
            return None
        if known.set_aside_at is not None:
            report = self._left_alone()
        elif known.outcome in ("delivered", "unchanged", "needs-person") and known.campaign:
            found = await self._at.ledger.read(resting, known=known, sandbox=self._at.is_trial)
            if found is None:
                return None
            report = replace(found, link=campaign_page(self._at.inbox.board, found.campaign))
        else:
            return None
        self._at.add(report)
        return report

    async def process(self, approved: Callable[[], None]) -> SheetReport | None:
        """Process the sheet; call `approved` once its approval is decided.

        Return None if the sheet changed while it was read, or a file that it may point to is still
        being written: the next scan processes it.
        """
        if self._place is None:
            approved()
            report = await self._told_of_fault(self._brought_home())
            self._digest = self._known.digest or ""
            return await self._close(report)
        try:
            content = await self._place.read(self._entry)
        except BadInput as error:
            approved()
            return await self._close(await self._judged(await self._report("invalid", error=error)))
        if content is None or any(points_to(content, name) for name in self._moving):
            return None
        self._content = content
        self._digest = await asyncio.to_thread(lambda: hashlib.sha256(content).hexdigest())
        if self._known.set_aside_at is not None and self._digest == self._known.digest:
            report = self._left_alone()
            if not self._was_answered:
                report = await self._answer(report)
        else:
            crashpoint("night: a sheet is begun")
            report = await self._judged(await self._told_of_fault(self._carried(approved)))
            told = (self._known.digest, self._known.outcome)
            report = replace(report, again=told == (self._digest, report.outcome))
            report = await self._answer(report)
            crashpoint("night: the answer lies beside the sheet")
        return await self._close(report)

    async def _brought_home(self) -> SheetReport:
        known = self._known
        outcome = await self._bring_home()
        if known.set_aside_at is not None:
            return await self._report("set-aside", words=self._left_alone().words)
        words = "the sheet is gone from the inbox, but its videos were in progress"
        if known.former:
            words = f"campaign {known.campaign}, which this sheet had before, was not finished"
        status = await self._status() if outcome is None else outcome.exit_status
        return await self._report(_ENDED.get(status, "delivered"), words=words)

    async def _carried(self, approved: Callable[[], None]) -> SheetReport:
        """Run the sheet and return its report."""
        try:
            self._sheet = await asyncio.to_thread(self._parse)
            running = partial(self._run, self._sheet, approved)
            return await self._report_of(await self._when_free(running))
        except _NOT_OF_A_SHEET:
            raise
        except CallsheetError as error:
            if isinstance(error, (SheetError, SpendRefused)):
                # No more approvals follow, so the next sheet does not wait for these videos.
                approved()
                # Of a sheet that is broken, what was approved is not begun.
                is_planned = self._refused is not None and not isinstance(error, SheetError)
                await self._bring_home(approved=is_planned)
            problems: tuple[str, ...] = ()
            if isinstance(error, SheetError):
                self._problems = error.problems
                problems = tuple(redact(str(one)) for one in error.problems)
            elif isinstance(error, BadInput):
                problems = (self._say(error),)
            return await self._report(_refused(error), error=error, problems=problems)

    async def _told_of_fault(self, processing: Coroutine[Any, Any, SheetReport]) -> SheetReport:
        """Return the report; an internal error is reported for this sheet only."""
        try:
            return await processing
        except _NOT_OF_A_SHEET:
            raise
        except Exception as error:
            log.debug("a fault in Callsheet at %s", self.name, exc_info=True)
            fault = CallsheetError(f"a fault in Callsheet: {error!r}")
            return await self._report("needs-person", error=fault)

    def _parse(self) -> Sheet:
        """Return the sheet from exactly the bytes that were complete."""
        settings = self._at.settings
        entry = self._entry
        options = SheetOptions(
            hidden_rows=settings.hidden_rows,
            names=settings.names,
            copies=settings.copies,
            cost_center_column=settings.cost_center_column,
            cost_centers=tuple(settings.cost_center_budgets),
            now=self._at.clock(),
        )
        with no_search():
            return parse_sheet(
                self._content,
                name=entry.name,
                options=options,
                folder=self._place.folder if self._place else None,
                address=entry.address,
            )

    def _say(self, error: CallsheetError) -> str:
        """Return the message of an error."""
        remedy = " ".join((error.remedy or "").split())
        if isinstance(error, SheetError):
            remedy = "fix what is listed; the next nightly run picks it up"
        elif self._campaign is not None:
            by_hand = f"run `{self._by_hand(self._campaign)}`"
            remedy = remedy.replace("run the same command again", by_hand)
        return redact(f"{error} ({remedy})" if remedy else str(error))

    async def _report_of(self, outcome: RunOutcome) -> SheetReport:
        """Return the report of a run."""
        waiting = self._waiting
        needing = sum(outcome.tally.rows.get(state, 0) for state in NEEDS_PERSON)
        if outcome.exit_status != 5 and waiting and needing == len(waiting):
            first = first_videos(line.why for line in waiting)
            words = f"keep {first}, and the next nightly run makes what waits for it "
            words += f"({count(len(waiting), 'row waits', 'rows wait')})"
            return await self._report("not-approved", words=words, outcome=outcome)
        if (word := _ENDED.get(outcome.exit_status)) is not None:
            return await self._report(word, words=outcome.words, outcome=outcome)
        report = await self._report("delivered", outcome=outcome)
        before = self._known
        same = before.digest == self._digest and before.outcome in ("delivered", "unchanged")
        # The report of the delivery has not been written yet.
        same = same and self._was_answered
        if same and not report.delivered and not report.charged:
            return replace(report, outcome="unchanged")
        return report

    async def _report(
        self,
        word: Outcome,
        *,
        error: CallsheetError | None = None,
        words: str | None = None,
        problems: tuple[str, ...] = (),
        outcome: RunOutcome | None = None,
    ) -> SheetReport:
        plan = self._refused if word == "not-approved" else None
        report = SheetReport(
            sheet=self.name,
            campaign=self._campaign,
            outcome=word,
            problems=problems,
            exit_status=_STATUS.get(word, 0) if error is None else error.exit_status,
            words=self._say(error) if error is not None else words,
            asked=None if plan is None else plan.total,
            former=self._known.former,
        )
        found = await self._find()
        if found is None:
            return report
        report = await self._at.ledger.read(
            with_figures, report=report, campaign=found, known=self._known
        )
        if outcome is not None and not self._taken_up:
            report = replace(report, charged=outcome.charged_this_run)
        link = await self._link(report.campaign, waits=word == "not-approved")
        return replace(report, link=link)

    async def _link(self, campaign: str | None, *, waits: bool) -> str | None:
        """Return its address on the board: the plan that waits, else the campaign."""
        at, plan = self._at, self._refused
        if at.inbox.board is None or not waits or plan is None or self._sheet is None:
            return campaign_page(at.inbox.board, campaign)
        kept = keep_plan(
            at.ledger,
            at.settings,
            self._sheet,
            plan,
            content=self._content,
            options=self._options(self._sheet),
            night=at.night.date,
            at=at.clock(),
        )
        return plan_page(at.inbox.board, await kept)

    async def _judged(self, report: SheetReport) -> SheetReport:
        """Set aside a sheet that has failed in too many nights, and report it once."""
        night, known = self._at.night.date, self._known
        failures, failed_on, aside = 0, None, None
        if report.exit_status in (1, 2) and report.outcome != "parked":
            before = known.failures if known.digest == self._digest else 0
            failures, failed_on = before + (before == 0 or known.failed_on != night), night
            aside = self._at.clock() if failures >= NIGHTS else None
        self._known = replace(known, failures=failures, failed_on=failed_on, set_aside_at=aside)
        if aside is None:
            return report
        words = f"it failed {failures} nights in a row; skipped until the file changes"
        words = f"{words}: {report.words}" if report.words else words
        return replace(report, outcome="set-aside", words=words)

    def _left_alone(self) -> SheetReport:
        return SheetReport(
            sheet=self.name,
            campaign=self._known.campaign,
            outcome="set-aside",
            words=f"it failed in {self._known.failures} nights and has not changed since",
        )

    async def _answer(self, report: SheetReport) -> SheetReport:
        """Write the report files next to the sheet; return the report, with any error of that.

        An inbox that cannot be written to does not fail its sheets: the next scan writes them.
        """
        at, place = self._at, self._place
        assert place is not None, "only a sheet that is there is answered"
        document = answer_document(
            report,
            inbox=at.inbox.name,
            night=at.night.date,
            digest=self._digest,
            problems=self._problems,
        )
        files = (document, await self._table(report))
        for name, content in zip(names_of(self.name), files, strict=True):
            try:
                await place.answer(name, content)
            except (BadInput, StoreError) as error:
                words = f"{name} could not be written: {error}; the next run writes it"
                log.warning("%s", words)
                return replace(report, unanswered=redact(words))
        return report

    async def _table(self, report: SheetReport) -> bytes:
        if report.outcome == "not-approved" and self._refused is not None:
            return plan_report(self._refused)
        campaign = await self._find()
        if report.exit_status in (1, 2) or campaign is None:
            return problems_report(self._problems, report.words or "")
        return await self._at.ledger.read(rows_report, campaign=campaign)

    async def _close(self, report: SheetReport) -> SheetReport:
        """Record the outcome of the sheet and the report of the night in one transaction."""
        at = self._at
        at.add(report)
        version: str | None = version_dealt(self._entry, self._content)
        if self._place is None:
            # A sheet that was not read keeps the values of its last reading.
            version = self._known.dealt_version
        elif report.unanswered is not None:
            version = None
        dealt = replace(
            self._known,
            dealt_version=version,
            digest=self._digest,
            campaign=report.campaign,
            outcome=report.outcome,
        )
        kept = at.night_report(ended_at=at.clock()).as_text()
        await at.ledger.write(close, sheet=dealt, night=at.night, place=at.place, report=kept)
        crashpoint("night: what became of the sheet is kept")
        return report

    # The run of the sheet, or of the rows in progress of its campaign.

    async def _run(self, sheet: Sheet, approved: Callable[[], None]) -> RunOutcome:
        """Run the sheet as it was read; call `approved` once its approval is decided."""
        at, options = self._at, self._options(sheet)
        sheet = await name_campaign(at.ledger, sheet, options.but(sandbox=at.settings.sandbox))
        self._check_own(sheet.campaign)
        await self._begin(sheet.campaign)
        approval = NightApproval(
            ledger=at.ledger,
            inbox=at.inbox,
            night=at.night,
            since=at.since,
            place=at.place,
            sheet=self.name,
            again=self._by_hand(sheet.campaign),
            tolerance=at.settings.quote_tolerance,
            retries=sheet.retry_failed or 0,
        )
        has_begun = False

        async def begins() -> None:
            nonlocal has_begun
            has_begun = True
            crashpoint("night: what was approved is in the rows")
            approved()

        running = partial(run_sheet, options, at.settings, approval)
        try:
            return await running(watch=at.shown, begins=begins, sheet=sheet)
        except SpendRefused:
            # Refused by a rule or a limit after the sheet was planned.
            self._refused = None if has_begun else approval.seen
            raise
        finally:
            self._waiting = [] if approval.seen is None else waiting_lines(approval.seen)

    def _check_own(self, campaign: str) -> None:
        """Raise SpendRefused if another sheet of the inbox has the same campaign.

        Otherwise they would undo each other's rows, and each would pay for its own.
        """
        other = self._at.campaigns.setdefault(campaign, self.name)
        if other != self.name:
            raise SpendRefused(
                f"campaign {campaign} belongs to {other}, which is in the same inbox; nothing "
                "was spent",
                remedy="remove one of the two, or give it its own campaign name",
            )

    async def _bring_home(self, *, approved: bool = False) -> RunOutcome | None:
        """Resume the rows in progress of the campaign, even if its sheet cannot be run.

        Rows that were `approved` before are processed as well, if the sheet still has them.
        """
        at, found = self._at, await self._find()
        if found is None:
            return None
        sandbox = at.settings.sandbox
        ask = RunOptions(campaign=found.name, max_wait=at.time_left, sandbox=sandbox)
        gone = () if self._refused is None else self._refused.retiring
        resuming = partial(plan_under_way, approved=approved, gone=gone)
        verb = RESUME._replace(plan=resuming)
        go_on = partial(perform, verb, ask, at.settings, approve_nothing, watch=at.shown)
        try:
            if not (await at.ledger.read(verb.plan, ask=ask, make=True)).lines:
                return None
            await self._begin(found.name)
            return (await self._when_free(go_on)).outcome
        except BadInput:
            raise
        except CallsheetError as error:
            log.warning("%s: rows in progress were not resumed: %s", self.name, error)
            return None

    async def _status(self) -> int:
        """Return the status of the campaign as an exit status; 5 with videos in progress."""
        found = await self._find()
        if found is None:
            return 0
        return exit_status(await self._at.ledger.read(endings_of, campaign_id=found.id))

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
                if not soon or loop.time() >= until or at.runs.lost:
                    raise
                await asyncio.sleep(_PAUSE)

    def _options(self, sheet: Sheet) -> RunOptions:
        at = self._at
        # The inbox sets the maximum: a sheet may set less.
        wanted = [b for b in (sheet.budget, at.inbox.budget) if b is not None]
        approves = at.inbox.approval != "plan-only"
        return RunOptions(
            sheet=self._entry.address,
            budget=min(wanted, default=None),
            max_wait=at.time_left,
            if_running="leave",
            canary="yes" if at.inbox.canary and approves else None,
            waves=at.inbox.waves if approves else None,
            sandbox=at.sandbox,
        )

    def _by_hand(self, campaign: str) -> str:
        """Return the command with which a person runs the sheet and approves it."""
        return suggest_run(self._entry.address, campaign)

    async def _find(self) -> Campaign | None:
        if self._campaign is None:
            return None
        return await self._at.ledger.read(find_campaign, name=self._campaign)

    async def _begin(self, campaign: str) -> None:
        """Record the campaign and its status before the run changes anything."""
        self._campaign = campaign
        known = replace(self._known, campaign=campaign)
        self._known = await self._at.ledger.write(begin, inbox=self._at.inbox.name, sheet=known)
