"""What all sheets of a scan share: ledger, limits, the lease of the night, the report so far."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from functools import partial

from callsheet.tasks.campaign.run import OpenRuns, Watch, unwatched
from callsheet.tasks.ledger.inbox_sheets import SweptSheet
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.nightly_runs import KeptNight
from callsheet.tasks.nights.inboxes import Inbox
from callsheet.tasks.nights.locations import STILL
from callsheet.tasks.nights.reports import NightReport, SheetReport, add_report
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.process import Sleep, UnixClock


@dataclass(kw_only=True)
class Scan:
    """One scan of an inbox; `tell` receives the report of each of its sheets.

    A file written to less than `still` seconds ago is checked twice. `runs` are the runs of its
    sheets: once they are told to begin nothing more, no further sheet is started.
    """

    ledger: Ledger
    settings: Settings
    inbox: Inbox
    night: KeptNight
    #: Start of the night.
    since: float
    place: str
    watch: Watch = unwatched
    tell: Callable[[SheetReport], None] = lambda _: None
    sandbox: bool = False
    still: float = STILL
    clock: UnixClock = time.time
    sleep: Sleep = asyncio.sleep
    runs: OpenRuns = field(default_factory=OpenRuns)
    #: The sheet of each campaign.
    campaigns: dict[str, str] = field(default_factory=dict)
    #: The reports of this scan, and of the whole night.
    reports: dict[str, SheetReport] = field(default_factory=dict)
    _of_night: dict[str, SheetReport] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.night.report is not None:
            before = NightReport.read(self.night.report)
            self._of_night = {sheet.name: sheet for sheet in before.sheets}
        wait = self.inbox.max_wait
        self.until = None if wait is None else asyncio.get_running_loop().time() + wait
        #: Shows a run, and stops it with the nightly run.
        self.shown: Watch = partial(self.runs.shown, watch=self.watch)

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

    def drop_gone(self, there: Collection[str]) -> None:
        """Drop what the night asked of sheets that are no longer in the inbox."""
        for name, report in list(self._of_night.items()):
            if report.sheet not in there:
                self._of_night.pop(name)
                if (rest := report.without_sheet()) is not None:
                    self._of_night[name] = rest

    def add(self, report: SheetReport) -> None:
        """Add the report of a sheet to the report of the night."""
        add_report(self._of_night, report)

    def take(self, report: SheetReport) -> None:
        """Tell the report of a sheet that this scan is done with."""
        self.reports[report.name] = report
        self.tell(report)

    def night_report(self, *, ended_at: float) -> NightReport:
        """Return the report of the night so far, over all its scans."""
        return NightReport(
            inbox=self.inbox.name,
            night=self.night.date,
            zone=self.night.zone,
            begun_at=self.night.begun_at,
            ended_at=ended_at,
            sheets=tuple(self._of_night[name] for name in sorted(self._of_night)),
        )
