"""What all sheets of a sweep share: ledger and terms, whose night it is, what came of it so far."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field

from callsheet.flows.pipeline import Steps
from callsheet.tasks.campaign.run import Run
from callsheet.tasks.clock import Sleep, UnixClock
from callsheet.tasks.ledger import Ledger
from callsheet.tasks.ledger.inbox_sheets import SweptSheet
from callsheet.tasks.ledger.nights import KeptNight
from callsheet.tasks.nights.inboxes import Inbox
from callsheet.tasks.nights.values import NightReport, SheetReport, earlier_report
from callsheet.tasks.settings import Settings

log = logging.getLogger("callsheet.night")


@dataclass(kw_only=True)
class Sweeping:
    """What all sheets of a sweep share."""

    ledger: Ledger
    settings: Settings
    inbox: Inbox
    night: KeptNight
    #: When the night of that date began.
    since: float
    place: str
    steps: Steps
    watch: Callable[[Run], AbstractAsyncContextManager[object]]
    sandbox: bool
    clock: UnixClock
    sleep: Sleep
    #: Of which sheet of the inbox each campaign is.
    campaigns: dict[str, str] = field(default_factory=dict)
    #: Why nothing more may be begun: the night is another's.
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
        """Seconds that are left of the sweep."""
        if self.until is None:
            return None
        return max(0.0, self.until - asyncio.get_running_loop().time())

    @property
    def is_trial(self) -> bool:
        """Whether the service is a sandbox, whose videos and credits are not real."""
        return self.sandbox or self.settings.sandbox

    def knows(self, sheets: Iterable[SweptSheet]) -> None:
        """Take in whose campaigns are those of the sheets that lie there."""
        # A sheet that was run goes before one that was not.
        for sheet in sorted(sheets, key=lambda one: (one.outcome == "not-approved", one.name)):
            if sheet.campaign is not None:
                self.campaigns.setdefault(sheet.campaign, sheet.name)

    def sheet_of(self, campaign: str | None) -> str | None:
        """Return which of the sheets that lie there has a campaign; None for none of them."""
        return None if campaign is None else self.campaigns.get(campaign)

    def lose(self, because: str) -> None:
        """Begin nothing more, in any run: another sweep has the night."""
        self.lost = because
        log.warning("%s", because)
        for run in self._open.values():
            run.lose(because)

    def opened(self, run: Run) -> None:
        """Know of a run that is open."""
        self._open[id(run)] = run
        if self.lost:
            run.lose(self.lost)

    def closed(self, run: Run) -> None:
        """Know that a run is over."""
        self._open.pop(id(run), None)

    def tell(self, report: SheetReport) -> None:
        """Take what became of a sheet into what is told of the night."""
        before = earlier_report(self._told, report)
        self._told[report.name] = report.after(before)

    def night_report(self, *, ended_at: float) -> NightReport:
        """Return what came of the night so far, over all its sweeps."""
        return NightReport(
            inbox=self.inbox.name,
            night=self.night.date,
            zone=self.night.zone,
            begun_at=self.night.begun_at,
            ended_at=ended_at,
            sheets=tuple(self._told[name] for name in sorted(self._told)),
        )
