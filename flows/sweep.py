"""The order of a night: look at an inbox, carry each sheet that wants something, tell what came.

Whatever ends whoever sweeps, the next sweep goes on: the night is claimed in the ledger first, and
what each sheet has cost and what became of it is kept there. Knows neither what carries it nor who
hears of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from flows.night_sheet import NightSheet
from flows.pipeline import PLAIN, Steps
from flows.sweeping import Sweeping
from tasks.campaign.run import Run
from tasks.clock import Sleep, UnixClock
from tasks.crash import crashpoint
from tasks.engine.owner import is_dead, is_near, name_of, this_process
from tasks.errors import LedgerError
from tasks.home import make_home
from tasks.ledger import Ledger, open_ledger
from tasks.ledger.inbox_sheets import SweptSheet, see_sheets, sheets_in, sheets_under_way
from tasks.ledger.nights import (
    KeptNight,
    claim_night,
    end_night,
    keep_report,
    pause_of,
    renew_night,
    skip_night,
)
from tasks.metrics import publish
from tasks.nights.inboxes import Inbox
from tasks.nights.places import InboxPlace, SheetFile, open_place
from tasks.nights.stability import STILL, is_whole
from tasks.nights.values import NightReport, SheetReport
from tasks.settings import Settings

log = logging.getLogger("callsheet.night")

#: Sheets that are in production at once. One after the other they are planned and approved.
AT_ONCE = 4
#: How often somebody who waits looks whether a night is free, in seconds.
PAUSE = 1.0
_count = itertools.count(1)

#: What goes along with the run of a sheet while it lasts: signals, progress.
Watch = Callable[[Run], AbstractAsyncContextManager[object]]
#: Hears what became of a sheet.
Tell = Callable[[SheetReport], None]


async def sweep(
    inbox: Inbox,
    settings: Settings,
    *,
    night: str,
    zone: str,
    steps: Steps = PLAIN,
    watch: Watch = lambda _: nullcontext(),
    tell: Tell = lambda _: None,
    stopped: Callable[[], bool] = lambda: False,
    sandbox: bool = False,
    still: float = STILL,
    clock: UnixClock = time.time,
    sleep: Sleep = asyncio.sleep,
) -> NightReport:
    """Sweep an inbox once; return what this sweep found, made and was charged.

    `night` is the night's date in `zone`, as 2026-11-22: every sweep of it counts against the same
    limits. A file that was written to less than `still` seconds before is looked at twice. Once
    `stopped`, no further sheet is begun. Raises BadInput where inbox, settings, ledger or store
    cannot be used at all.
    """
    inbox = replace(inbox, board=inbox.board or settings.board_url).check()
    make_home(settings.home)
    place = f"{this_process()}:{next(_count)}"
    async with await open_ledger(settings.ledger) as ledger:
        begun_at = clock()
        found = await _claim(ledger, settings, inbox, night, zone, place, clock)
        report = NightReport(
            inbox=inbox.name, night=night, zone=zone, begun_at=begun_at, ended_at=begun_at
        )
        if isinstance(found, str):
            return replace(report, skipped=found)
        if found.place != place:
            since = datetime.fromtimestamp(found.begun_at, UTC)
            words = f"{name_of(found.place)} sweeps {inbox.name} since {since:%H:%M:%S} UTC"
            return replace(report, skipped=words, is_swept_elsewhere=True)
        crashpoint("night: it is claimed")
        sweeping = Sweeping(
            ledger=ledger,
            settings=settings,
            inbox=inbox,
            night=found,
            place=place,
            steps=steps,
            watch=watch,
            sandbox=sandbox,
            clock=clock,
            sleep=sleep,
        )
        hold = asyncio.create_task(_renew(sweeping), name="night")
        try:
            order = _Order(sweeping, tell, stopped, still)
            sheets, waiting = await order.carry()
        finally:
            hold.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await hold
            await _end(sweeping)
            await publish(ledger, file=settings.metrics_file, push=settings.metrics_push)
        return replace(report, ended_at=clock(), sheets=sheets, waiting=waiting)


class _Order:
    """Takes the sheets of an inbox in the order of their names."""

    def __init__(
        self, sweeping: Sweeping, tell: Tell, stopped: Callable[[], bool], still: float
    ) -> None:
        self._sweeping = sweeping
        self._tell = tell
        self._stopped = stopped
        self._still = still
        self._reports: dict[str, SheetReport] = {}
        self._slots = asyncio.Semaphore(AT_ONCE)

    async def carry(self) -> tuple[tuple[SheetReport, ...], tuple[str, ...]]:
        """Carry every sheet; return what became of each, and which were not whole yet."""
        async with open_place(self._sweeping.inbox) as place:
            whole, waiting = await self._whole(place)
            known = await self._known()
            # One that is still written to has its campaign all the same.
            self._sweeping.knows(known[name] for name in (*waiting, *(e.name for e in whole)))
            under_way: list[asyncio.Task[None]] = []
            try:
                for number, entry in enumerate(whole):
                    if self._is_over(under_way):
                        waiting += [left.name for left in whole[number:]]
                        break
                    sheet = NightSheet(self._sweeping, place, entry, known[entry.name])
                    if (report := await sheet.glance()) is not None:
                        self._take(report)
                    else:
                        under_way.append(await self._begin(sheet))
                begun = {task.get_name() for task in under_way}
                for left in await self._left(whole, waiting, begun):
                    if not self._is_over(under_way):
                        under_way.append(await self._begin(left))
                await asyncio.gather(*under_way)
            finally:
                await _settle(under_way, self._sweeping)
        names = [entry.name for entry in whole]
        found = [self._reports[name] for name in sorted(self._reports)]
        gone = [name for name in names if name not in self._reports and name not in waiting]
        return tuple(found), (*waiting, *gone)

    async def _left(
        self, whole: Sequence[SheetFile], waiting: Sequence[str], begun: Collection[str]
    ) -> Sequence[NightSheet]:
        """Return the sheets that are gone, or left alone, while films of theirs are under way.

        None of those that this sweep has `begun`.
        """
        at = self._sweeping
        there = {*waiting, *(entry.name for entry in whole)}
        under_way = partial(sheets_under_way, inbox=at.inbox.name, sandbox=at.is_trial)
        found = await at.ledger.read(under_way)
        left = [one for one in found if one.name not in there or one.set_aside_at is not None]
        # A campaign is carried once: by the sheet that was run, or the one it goes on with.
        return [
            NightSheet.gone(at, one)
            for one in left
            if one.name not in begun and at.sheet_of(one.campaign) in (None, one.name)
        ]

    async def _begin(self, sheet: NightSheet) -> asyncio.Task[None]:
        """Have a sheet carried; return once it is approved, so that the next one comes after it."""
        await self._slots.acquire()
        approved = asyncio.Event()

        async def carry() -> None:
            try:
                if (report := await sheet.carry(approved.set)) is not None:
                    self._take(report)
            finally:
                approved.set()
                self._slots.release()

        task = asyncio.create_task(carry(), name=sheet.name)
        await approved.wait()
        return task

    def _is_over(self, under_way: Sequence[asyncio.Task[None]]) -> bool:
        """Whether no further sheet is begun: a signal, a night lost, a fault that is no sheet's."""
        failed = any(task.done() and task.exception() is not None for task in under_way)
        return failed or self._stopped() or self._sweeping.lost is not None

    def _take(self, report: SheetReport) -> None:
        self._reports[report.sheet] = report
        self._tell(report)

    async def _whole(self, place: InboxPlace) -> tuple[list[SheetFile], list[str]]:
        """Return the sheets that are no longer written to, and the names of the others."""
        entries, known = await self._list(place)
        now = self._sweeping.clock()
        if any(not is_whole(e, known.get(e.name), now=now, still=self._still) for e in entries):
            # Who sweeps once wants an answer at once: the second look follows the first.
            await self._sweeping.sleep(self._still + 0.1)
            entries, known = await self._list(place)
            now = self._sweeping.clock()
        whole, waiting = [], []
        for entry in entries:
            if is_whole(entry, known.get(entry.name), now=now, still=self._still):
                whole.append(entry)
            else:
                waiting.append(entry.name)
        return whole, waiting

    async def _list(
        self, place: InboxPlace
    ) -> tuple[Sequence[SheetFile], Mapping[str, SweptSheet]]:
        """Return what lies there, and what the ledger knows of it; a change is noted there."""
        at = self._sweeping
        entries, known = await place.entries(), await self._known()
        seen = {entry.name: entry.version for entry in entries}
        if any(name not in known or known[name].version != seen[name] for name in seen):
            await at.ledger.write(
                partial(see_sheets, inbox=at.inbox.name, seen=seen, at=at.clock())
            )
            known = await self._known()
        return entries, known

    async def _known(self) -> Mapping[str, SweptSheet]:
        at = self._sweeping
        return await at.ledger.read(partial(sheets_in, inbox=at.inbox.name))


async def _settle(under_way: Sequence[asyncio.Task[None]], at: Sweeping) -> None:
    """Have every sheet end: in order after a fault elsewhere, at once where all is cancelled."""
    left = [task for task in under_way if not task.done()]
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        for one in left:
            one.cancel()
    elif left:
        at.lose("another sheet met a fault that concerns all of them")
    await asyncio.gather(*left, return_exceptions=True)


async def _claim(
    ledger: Ledger,
    settings: Settings,
    inbox: Inbox,
    night: str,
    zone: str,
    place: str,
    clock: UnixClock,
) -> KeptNight | str:
    """Claim the night; return it, with whoever has it, or why nothing is to be swept."""
    at = clock()
    paused = await ledger.read(partial(pause_of, inbox=inbox.name, at=at))
    if paused is not None:
        why = f"{inbox.name} is paused {_until(paused.until)} by {paused.by}"
        skip = partial(skip_night, inbox=inbox.name, date=night, zone=zone, why=why, at=at)
        await ledger.write(skip)
        return why
    claim = partial(
        claim_night,
        inbox=inbox.name,
        date=night,
        zone=zone,
        place=place,
        lapse=settings.lease,
        is_dead=lambda other: other is not None and is_dead(other),
    )
    found = await ledger.write(partial(claim, at=at))
    loop = asyncio.get_running_loop()
    first, until = found, loop.time() + settings.lease + PAUSE
    # Of a process on another machine only its next sign of life tells that it lives: a night whose
    # sweep was killed there is taken up, and not taken for one that is swept.
    while not (_is_settled(found, place) or found.renewed_at != first.renewed_at):
        if loop.time() >= until:
            break
        await asyncio.sleep(PAUSE)
        found = await ledger.write(partial(claim, at=clock()))
    return found


def _is_settled(found: KeptNight, place: str) -> bool:
    """Whether it is clear whose night it is: ours, or that of a process that is seen to live."""
    return found.place == place or is_near(found.place or "")


def _until(moment: float | None) -> str:
    if moment is None:
        return "until further notice"
    return f"until {datetime.fromtimestamp(moment, UTC):%Y-%m-%d %H:%M} UTC"


async def _renew(sweeping: Sweeping) -> None:
    """Say that the night is swept for as long as this runs, or until another one has it."""
    renew = partial(renew_night, night_id=sweeping.night.id, place=sweeping.place)
    while sweeping.lost is None:
        await asyncio.sleep(sweeping.settings.lease / 4)
        try:
            if not await sweeping.ledger.write(partial(renew, at=sweeping.clock())):
                sweeping.lose(
                    "another sweep has this night, since this one was silent for too long"
                )
        except LedgerError as error:
            # A ledger that is busy now is asked again; the night is ours for several beats.
            log.warning("the night was not renewed: %s", error)


async def _end(sweeping: Sweeping) -> None:
    """Note that the sweep is over, and what came of its night, over all its sweeps."""
    at, night = sweeping.clock(), sweeping.night
    report = sweeping.night_report(ended_at=at)
    kept = report.as_text()
    keep = partial(keep_report, night_id=night.id, place=sweeping.place, report=kept)
    await sweeping.ledger.write(keep)
    crashpoint("night: before its end is noted")
    end = partial(end_night, night_id=night.id, place=sweeping.place)
    await sweeping.ledger.write(partial(end, exit_status=report.exit_status, at=at))
