"""Processes one sheet of an inbox in one night: reads, plans, approves and executes it.

Every outcome is written next to the sheet and then recorded in the ledger. If the process dies in
between, the next scan finds nothing to do and writes the same.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Callable, Collection, Coroutine, Mapping
from dataclasses import replace
from typing import Any

from callsheet.flows.sheet_run import SheetRun, Sweeping
from callsheet.tasks.campaign.values import RunOutcome
from callsheet.tasks.campaign.waits import first_videos
from callsheet.tasks.ledger.inbox_sheets import SweptSheet
from callsheet.tasks.ledger.values import NEEDS_PERSON, State
from callsheet.tasks.nights.approval import keep_plan
from callsheet.tasks.nights.locations import (
    InboxPlace,
    SheetFile,
    is_as_dealt,
    points_to,
    version_dealt,
)
from callsheet.tasks.nights.records import close, resting, with_figures
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
    Problem,
    SheetError,
    SpendRefused,
    StoreError,
    StoreUnusable,
)
from callsheet.tasks.runtime.process import no_search
from callsheet.tasks.runtime.redact import redact
from callsheet.tasks.sheet import Sheet, SheetOptions, parse_sheet
from callsheet.tasks.values.amounts import count

log = logging.getLogger("callsheet.night")

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
    """One sheet of an inbox, in one scan."""

    def __init__(
        self,
        at: Sweeping,
        place: InboxPlace | None,
        entry: SheetFile,
        known: SweptSheet,
        *,
        moving: Collection[str] = (),
    ) -> None:
        self.name = entry.name
        self._at = at
        self._place = place
        self._entry = entry
        self._moving = moving
        self._run = SheetRun(at, entry, known)
        self._digest = ""
        self._content = b""
        self._sheet: Sheet | None = None
        self._problems: tuple[Problem, ...] = ()
        #: Whether the report files of its last run are next to it.
        self._was_answered = known.dealt_version is not None
        #: Whether an earlier scan died while it processed this sheet.
        self._taken_up = known.charged_before is not None

    @classmethod
    def gone(cls, at: Sweeping, known: SweptSheet) -> NightSheet:
        """Return a sheet that is gone, set aside, or had another campaign. Plan nothing.

        The videos under way are downloaded, and the night reports what they cost.
        """
        file = SheetFile(name=known.name, address=known.name, version=known.version, bytes=0)
        return cls(at, None, file, known)

    async def quick_check(self) -> SheetReport | None:
        """Return the report of a sheet that needs no run; None if it needs one."""
        known = self._run.known
        if not is_as_dealt(self._entry, known) or self._taken_up:
            return None
        if self._at.settings.links:
            # Links end, without any change of the sheet.
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
        self._at.tell(report)
        return report

    async def process(self, approved: Callable[[], None]) -> SheetReport | None:
        """Process the sheet; call `approved` once its approval is decided.

        Return None if the sheet changed while it was read, or a file that it may point to is still
        being written: the next scan processes it.
        """
        if self._place is None:
            approved()
            return await self._process_removed()
        try:
            content = await self._place.read(self._entry)
        except BadInput as error:
            approved()
            report = await self._judged(await self._report("invalid", error=error))
            await self._close(report)
            return report
        if content is None or any(points_to(content, name) for name in self._moving):
            return None
        self._content = content
        self._digest = await asyncio.to_thread(lambda: hashlib.sha256(content).hexdigest())
        if self._run.known.set_aside_at is not None and self._digest == self._run.known.digest:
            report = self._left_alone()
            if not self._was_answered:
                report = await self._answer(report)
        else:
            crashpoint("night: a sheet is begun")
            report = await self._judged(await self._told_of_fault(self._carried(approved)))
            told = (self._run.known.digest, self._run.known.outcome)
            report = replace(report, again=told == (self._digest, report.outcome))
            report = await self._answer(report)
            crashpoint("night: the answer lies beside the sheet")
        await self._close(report)
        return report

    async def _process_removed(self) -> SheetReport:
        """Download videos in progress; write no report and do nothing else."""
        report = await self._told_of_fault(self._brought_home())
        self._digest = self._run.known.digest or ""
        await self._close(report)
        return report

    async def _brought_home(self) -> SheetReport:
        known = self._run.known
        outcome = await self._run.bring_home(frozenset())
        if known.set_aside_at is not None:
            return await self._report("set-aside", words=self._left_alone().words)
        words = "the sheet is gone from the inbox, but its videos were in progress"
        if known.former:
            words = f"campaign {known.campaign}, which this sheet had before, was not finished"
        status = await self._run.status() if outcome is None else outcome.exit_status
        return await self._report(_ENDED.get(status, "delivered"), words=words)

    async def _carried(self, approved: Callable[[], None]) -> SheetReport:
        """Run the sheet and return its report."""
        try:
            self._sheet = await asyncio.to_thread(self._parse)
            return await self._report_of(await self._run.process(self._sheet, approved))
        except _NOT_OF_A_SHEET:
            raise
        except CallsheetError as error:
            if isinstance(error, (SheetError, SpendRefused)):
                # No more approvals follow, so the next sheet does not wait for these videos.
                approved()
                # Of a sheet that is broken, what was approved is not begun.
                is_planned = self._run.plan is not None and not isinstance(error, SheetError)
                more: frozenset[State] = frozenset({"approved"} if is_planned else ())
                await self._run.bring_home(more)
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
        elif self._run.campaign is not None:
            by_hand = f"run `{self._run.by_hand(self._run.campaign)}`"
            remedy = remedy.replace("run the same command again", by_hand)
        return redact(f"{error} ({remedy})" if remedy else str(error))

    async def _report_of(self, outcome: RunOutcome) -> SheetReport:
        """Return the report of a run."""
        waiting = self._run.waiting
        needing = sum(outcome.tally.rows.get(state, 0) for state in NEEDS_PERSON)
        if outcome.exit_status != 5 and waiting and needing == len(waiting):
            first = first_videos(line.why for line in waiting)
            words = f"keep {first}, and the next nightly run makes what waits for it "
            words += f"({count(len(waiting), 'row waits', 'rows wait')})"
            return await self._report("not-approved", words=words, outcome=outcome)
        if (word := _ENDED.get(outcome.exit_status)) is not None:
            return await self._report(word, words=outcome.words, outcome=outcome)
        report = await self._report("delivered", outcome=outcome)
        before = self._run.known
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
        plan = self._run.plan if word == "not-approved" else None
        report = SheetReport(
            sheet=self.name,
            campaign=self._run.campaign,
            outcome=word,
            problems=problems,
            exit_status=_STATUS.get(word, 0) if error is None else error.exit_status,
            words=self._say(error) if error is not None else words,
            asked=None if plan is None else plan.total,
            former=self._run.known.former,
        )
        found = await self._run.find()
        if found is None:
            return report
        report = await self._at.ledger.read(
            with_figures, report=report, campaign=found, known=self._run.known
        )
        if outcome is not None and not self._taken_up:
            report = replace(report, charged=outcome.charged_this_run)
        link = await self._link(report.campaign, waits=word == "not-approved")
        return replace(report, link=link)

    async def _link(self, campaign: str | None, *, waits: bool) -> str | None:
        """Return its address on the board: the plan that waits, else the campaign."""
        at, plan = self._at, self._run.plan
        if at.inbox.board is None or not waits or plan is None or self._sheet is None:
            return campaign_page(at.inbox.board, campaign)
        kept = keep_plan(
            at.ledger,
            at.settings,
            self._sheet,
            plan,
            content=self._content,
            options=self._run.options(self._sheet),
            night=at.night.date,
            at=at.clock(),
        )
        return plan_page(at.inbox.board, await kept)

    async def _judged(self, report: SheetReport) -> SheetReport:
        """Set aside a sheet that has failed in too many nights, and report it once."""
        night, known = self._at.night.date, self._run.known
        failures, failed_on, aside = 0, None, None
        if report.exit_status in (1, 2) and report.outcome != "parked":
            before = known.failures if known.digest == self._digest else 0
            failures, failed_on = before + (before == 0 or known.failed_on != night), night
            aside = self._at.clock() if failures >= NIGHTS else None
        self._run.known = replace(known, failures=failures, failed_on=failed_on, set_aside_at=aside)
        if aside is None:
            return report
        words = f"it failed {failures} nights in a row; skipped until the file changes"
        words = f"{words}: {report.words}" if report.words else words
        return replace(report, outcome="set-aside", words=words)

    def _left_alone(self) -> SheetReport:
        return SheetReport(
            sheet=self.name,
            campaign=self._run.known.campaign,
            outcome="set-aside",
            words=f"it failed in {self._run.known.failures} nights and has not changed since",
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
        if report.outcome == "not-approved" and self._run.plan is not None:
            return plan_report(self._run.plan)
        campaign = await self._run.find()
        if report.exit_status in (1, 2) or campaign is None:
            return problems_report(self._problems, report.words or "")
        return await self._at.ledger.read(rows_report, campaign=campaign)

    async def _close(self, report: SheetReport) -> None:
        """Record the outcome of the sheet and the report of the night in one transaction."""
        at = self._at
        at.tell(report)
        version: str | None = version_dealt(self._entry, self._content)
        if self._place is None:
            # A sheet that was not read keeps the values of its last reading.
            version = self._run.known.dealt_version
        elif report.unanswered is not None:
            version = None
        dealt = replace(
            self._run.known,
            dealt_version=version,
            digest=self._digest,
            campaign=report.campaign,
            outcome=report.outcome,
        )
        kept = at.night_report(ended_at=at.clock()).as_text()
        await at.ledger.write(close, sheet=dealt, night=at.night, place=at.place, report=kept)
        crashpoint("night: what became of the sheet is kept")
