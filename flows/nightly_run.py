"""A nightly run from start to end.

Claims the night, scans the inbox, runs each sheet, sends the digest.

Used by the command line and the flow; knows neither. A failed notice does not fail the run.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import partial
from typing import Any

from callsheet.flows.night_sheet import NightSheet
from callsheet.flows.scan import Scan
from callsheet.tasks.aftercare.prune import prune_delivered
from callsheet.tasks.campaign.run_record import recorded
from callsheet.tasks.engine.owner import is_dead, is_near, name_of, this_process
from callsheet.tasks.ledger.board_settings import in_force
from callsheet.tasks.ledger.inbox_sheets import SweptSheet, see_sheets, sheets_in, sheets_under_way
from callsheet.tasks.ledger.leases import Lease
from callsheet.tasks.ledger.ledger import Ledger, open_ledger
from callsheet.tasks.ledger.nightly_runs import (
    KeptNight,
    claim_night,
    end_night,
    keep_report,
    pause_of,
    renew_night,
    skip_night,
)
from callsheet.tasks.metrics import publish
from callsheet.tasks.nights.calendar import begins, night_of, read_zone
from callsheet.tasks.nights.inboxes import Inbox
from callsheet.tasks.nights.locations import (
    InboxPlace,
    SheetFile,
    is_whole,
    moving,
    open_place,
)
from callsheet.tasks.nights.reports import NightReport
from callsheet.tasks.notices import alarm, digest, ping, with_stored
from callsheet.tasks.runtime.crash_points import crashpoint
from callsheet.tasks.runtime.errors import CallsheetError
from callsheet.tasks.runtime.held import Held
from callsheet.tasks.runtime.home import make_home
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.logs import about, log_as
from callsheet.tasks.runtime.process import UnixClock


async def hold_night(
    inbox: Inbox,
    settings: Settings,
    *,
    due: float | None = None,
    clock: UnixClock = time.time,
    **how: Any,
) -> NightReport:
    """Scan an inbox once, in the current night, and send the notices.

    `due` is the time that a scheduler intended, `how` has the other arguments of the scan.
    Raise the error of the scan after its alarm was sent.
    """
    log_as(settings.log, settings.log_level)
    at = night_of(clock(), cron=inbox.cron, timezone=inbox.timezone, due=due)
    inbox = with_stored(inbox, settings.home)
    named: dict[str, Any] = {"night": at.date, "zone": at.zone, "since": at.since}
    with about(lambda: {"night": at.date, "inbox": inbox.name}):
        await ping(inbox, "start")
        try:
            report = await sweep(inbox, settings, clock=clock, **named, **how)
        except Exception as error:
            words = str(error) or type(error).__name__
            await ping(inbox, "failure", words)
            failed = partial(alarm, inbox=inbox, night=at.date, words=words, clock=clock)
            await _tell(inbox, settings, failed)
            raise
        if report.skipped is None:
            told = partial(digest, settings=settings, inboxes=[inbox], report=report, clock=clock)
            await _tell(inbox, settings, told)
        # A scan that leaves the night to another one is not a success: the other one may hang.
        if not report.is_swept_elsewhere:
            await ping(inbox, "failure" if report.exit_status in (1, 2) else "success")
        return report


async def _tell(
    inbox: Inbox, settings: Settings, send: Callable[[Ledger], Awaitable[object]]
) -> None:
    """Send notices; a ledger that is unavailable by now fails no run."""
    if not (inbox.notify or inbox.notify_of):
        return
    with contextlib.suppress(CallsheetError):
        async with await open_ledger(settings.ledger) as ledger:
            await send(ledger)


# One scan: lists the inbox, processes each sheet that needs it, and reports the outcomes.
#
# If the process dies, the next scan continues: the ledger has the lease of the night, and the cost
# and outcome of each sheet. Knows neither what starts the scan nor who gets notices.


log = logging.getLogger("callsheet.night")

#: Sheets processed at the same time. Planning and approval are one after the other.
AT_ONCE = 4
_count = itertools.count(1)


async def sweep(
    inbox: Inbox,
    settings: Settings,
    *,
    night: str,
    zone: str,
    since: float | None = None,
    clock: UnixClock = time.time,
    **how: Any,
) -> NightReport:
    """Scan an inbox once; return what this scan found, made and was charged.

    `night` is the date in `zone`, as 2026-11-22: all its scans count against the same limits. It
    starts at `since`, by default with that date. `how` has other members of the `Scan`. Raise
    BadInput if inbox, settings, ledger or store cannot be used at all.
    """
    inbox = replace(inbox, board=inbox.board or settings.board_url).check()
    make_home(settings.home)
    place = f"{this_process()}:{next(_count)}"
    async with await open_ledger(settings.ledger) as ledger:
        settings = await ledger.read(in_force, settings=settings)
        at = clock()
        begun = NightReport(inbox=inbox.name, night=night, zone=zone, begun_at=at, ended_at=at)
        found = await claim(ledger, settings, begun, place=place, clock=clock)
        if isinstance(found, NightReport):
            return found
        crashpoint("night: it is claimed")
        since = _start_of(night, zone) if since is None else since
        known: dict[str, Any] = {"ledger": ledger, "settings": settings, "inbox": inbox}
        scan = Scan(night=found, since=since, place=place, clock=clock, **known, **how)
        # All scans of a night are one run.
        recording = recorded("night", settings, run_id=f"night {found.id}", by=inbox.name)
        async with recording as record, kept(scan):
            record.begin(ledger, settings)
            waiting = await _Order(scan).process()
            sheets = tuple(scan.reports[name] for name in sorted(scan.reports))
            if scan.runs.lost is None:
                named = [report.campaign for report in sheets if report.campaign]
                await prune_delivered(settings, ledger, named, clock=clock)
            record.ends(scan.night_report(ended_at=clock()).exit_status, scan.runs.lost)
        return replace(begun, ended_at=clock(), sheets=sheets, waiting=waiting)


def _start_of(night: str, zone: str) -> float:
    return begins(date.fromisoformat(night), read_zone(None if zone == "local" else zone))


class _Order:
    """Processes the sheets of an inbox in the order of their names."""

    def __init__(self, scan: Scan) -> None:
        self._scan = scan
        #: Other files of the inbox that may still be written to.
        self._moving: frozenset[str] = frozenset()
        self._slots = asyncio.Semaphore(AT_ONCE)

    async def process(self) -> tuple[str, ...]:
        """Process every sheet; return those that are not complete yet or were not reached."""
        scan = self._scan
        async with open_place(scan.inbox) as place:
            whole, waiting, known = await self._whole(place)
            names = [entry.name for entry in whole]
            # A sheet that is still being written keeps its campaign.
            scan.knows(known[name] for name in (*waiting, *names))
            scan.drop_gone({*waiting, *names})
            under_way: list[asyncio.Task[None]] = []
            try:
                for entry in whole:
                    if self._is_over(under_way):
                        break
                    seen = known[entry.name]
                    sheet = NightSheet(scan, seen, entry, place, moving=self._moving)
                    if (report := await sheet.quick_check()) is not None:
                        scan.take(report)
                    else:
                        under_way.append(await self._begin(sheet))
                begun = {task.get_name() for task in under_way}
                for left in await self._left({*waiting, *names}, begun):
                    if not self._is_over(under_way):
                        under_way.append(await self._begin(left))
                await asyncio.gather(*under_way)
            finally:
                await _settle(under_way, scan)
        return (*waiting, *(name for name in names if name not in scan.reports))

    async def _left(self, there: Collection[str], begun: Collection[str]) -> Sequence[NightSheet]:
        """Return campaigns in progress whose sheets are gone, set aside, or have another campaign.

        `there` are the sheets of the inbox. Leave out the current campaigns of those that this scan
        has `begun`.
        """
        at = self._scan
        found = await at.ledger.read(sheets_under_way, inbox=at.inbox.name, sandbox=at.is_trial)
        # Each campaign is processed once: by the sheet that was run, or its replacement.
        return [
            NightSheet(at, one)
            for one in found
            if one.former or one.name not in there or one.set_aside_at is not None
            if one.former or one.name not in begun
            if at.campaigns.get(one.campaign or "") in (None, one.name)
        ]

    async def _begin(self, sheet: NightSheet) -> asyncio.Task[None]:
        """Start a sheet; return once its approval is decided, so that the next one can follow."""
        await self._slots.acquire()
        approved = asyncio.Event()

        async def process() -> None:
            try:
                if (report := await sheet.process(approved.set)) is not None:
                    self._scan.take(report)
            finally:
                approved.set()
                self._slots.release()

        task = asyncio.create_task(process(), name=sheet.name)
        await approved.wait()
        return task

    def _is_over(self, under_way: Sequence[asyncio.Task[None]]) -> bool:
        """Return whether to start no further sheet: a signal, a lost lease, a general error."""
        failed = any(task.done() and task.exception() is not None for task in under_way)
        return failed or self._scan.runs.lost is not None

    async def _whole(
        self, place: InboxPlace
    ) -> tuple[list[SheetFile], list[str], Mapping[str, SweptSheet]]:
        """Return the complete sheets, the names of the others, and what is known of them all."""
        at, before = self._scan, None
        while True:
            entries, known = await self._list(place)
            now, files = at.clock(), entries[0].files if entries else {}
            self._moving = moving(files, before, now=now)
            look = partial(is_whole, now=now, still=at.still)
            waiting = [one.name for one in entries if not look(one, known.get(one.name))]
            if before is not None or not (waiting or self._moving):
                return [one for one in entries if one.name not in waiting], waiting, known
            # A single scan should answer soon: the second check follows the first.
            await at.sleep(at.still + 0.1)
            before = files

    async def _list(
        self, place: InboxPlace
    ) -> tuple[Sequence[SheetFile], Mapping[str, SweptSheet]]:
        """Return the sheets and their ledger records; record changes."""
        at, inbox = self._scan, self._scan.inbox.name
        entries, known = await place.entries(), await at.ledger.read(sheets_in, inbox=inbox)
        seen = {entry.name: entry.version for entry in entries}
        if any(name not in known or known[name].version != seen[name] for name in seen):
            await at.ledger.write(see_sheets, inbox=inbox, seen=seen, at=at.clock())
            known = await at.ledger.read(sheets_in, inbox=inbox)
        return entries, known


async def _settle(under_way: Sequence[asyncio.Task[None]], scan: Scan) -> None:
    """Wait for every sheet to end: cleanly after an error, immediately if cancelled."""
    left = [task for task in under_way if not task.done()]
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        for one in left:
            one.cancel()
    elif left:
        scan.runs.lose("another sheet met a fault that concerns all of them")
    await asyncio.gather(*left, return_exceptions=True)


# The lease of a night: one scan acquires it, renews it, and records the end.
#
# If a scan dies, the next one acquires the lease after it expires. Knows nothing of sheets.


#: How often a waiting scan checks the lease, in seconds.
PAUSE = 1.0


async def claim(
    ledger: Ledger, settings: Settings, night: NightReport, *, place: str, clock: UnixClock
) -> KeptNight | NightReport:
    """Acquire the lease of a night; return it, or why this scan does not run."""
    at, inbox, date, zone = clock(), night.inbox, night.night, night.zone
    paused = await ledger.read(pause_of, inbox=inbox, at=at)
    if paused is not None:
        why = f"{inbox} is paused {_until(paused.until)} by {paused.by}"
        await ledger.write(skip_night, inbox=inbox, date=date, zone=zone, why=why, at=at)
        return replace(night, skipped=why)
    ask = partial(
        claim_night,
        inbox=inbox,
        date=date,
        zone=zone,
        place=place,
        seconds=settings.lease,
        is_dead=is_dead,
    )
    first = found = await ledger.write(ask, at=clock())
    loop = asyncio.get_running_loop()
    until = loop.time() + settings.lease + PAUSE
    # A process on another machine is alive only if it renews its lease: if its scan was killed,
    # this scan takes over.
    while found == first and isinstance(found, Lease) and not is_near(found.owner or ""):
        if loop.time() >= until:
            break
        await asyncio.sleep(PAUSE)
        found = await ledger.write(ask, at=clock())
    if isinstance(found, KeptNight):
        return found
    since = datetime.fromtimestamp(found.since, UTC)
    words = f"{name_of(found.owner)} is scanning {inbox} since {since:%H:%M:%S} UTC"
    return replace(night, skipped=words, is_swept_elsewhere=True)


def _until(moment: float | None) -> str:
    if moment is None:
        return "until further notice"
    return f"until {datetime.fromtimestamp(moment, UTC):%Y-%m-%d %H:%M} UTC"


@asynccontextmanager
async def kept(scan: Scan) -> AsyncIterator[None]:
    """Renew the lease while this context lasts, then record the end and the metrics."""
    renew = partial(renew_night, inbox=scan.night.inbox, place=scan.place)
    lapse = scan.settings.lease

    async def renewed() -> str | None:
        if await scan.ledger.write(renew, seconds=lapse):
            return None
        return "another nightly run has this night, because this one did not renew its lease"

    held = Held(renewed, what="the lease of the night", lapse=lapse, on_lost=scan.runs.lose)
    try:
        async with held.kept():
            yield
    finally:
        await _end(scan)
        if file := scan.settings.metrics_file:
            await publish(scan.ledger, file)


async def _end(scan: Scan) -> None:
    """Record the end of the scan and the report of the night over all its scans."""
    at = scan.clock()
    mine: dict[str, Any] = {"night_id": scan.night.id, "place": scan.place}
    report = scan.night_report(ended_at=at)
    await scan.ledger.write(keep_report, **mine, report=report.as_text())
    crashpoint("night: before its end is noted")
    await scan.ledger.write(end_night, **mine, exit_status=report.exit_status, at=at)
