"""The order of a night: look at an inbox, carry each sheet that wants something, tell what came.

Whatever ends whoever sweeps, the next sweep goes on: the night is claimed in the ledger first, and
what each sheet has cost and what became of it is kept there. Knows neither what carries it nor who
hears of it.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from datetime import date
from functools import partial

from callsheet.flows.claimed_night import claim, kept
from callsheet.flows.night_sheet import NightSheet
from callsheet.flows.pipeline import PLAIN, Steps
from callsheet.flows.sweeping import Sweeping
from callsheet.tasks.campaign.run import Run
from callsheet.tasks.clock import Sleep, UnixClock
from callsheet.tasks.crash import crashpoint
from callsheet.tasks.engine.owner import this_process
from callsheet.tasks.home import make_home
from callsheet.tasks.ledger import open_ledger
from callsheet.tasks.ledger.inbox_sheets import SweptSheet, see_sheets, sheets_in, sheets_under_way
from callsheet.tasks.nights.calendar import begins, read_zone
from callsheet.tasks.nights.inboxes import Inbox
from callsheet.tasks.nights.places import InboxPlace, SheetFile, open_place
from callsheet.tasks.nights.stability import STILL, is_whole, moving
from callsheet.tasks.nights.values import NightReport, SheetReport
from callsheet.tasks.settings import Settings

log = logging.getLogger("callsheet.night")

#: Sheets that are in production at once. One after the other they are planned and approved.
AT_ONCE = 4
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
    since: float | None = None,
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
    limits. It began at `since`, else with that date. A file that was written to less than `still`
    seconds before is looked at twice. Once `stopped`, no further sheet is begun. Raises BadInput
    where inbox, settings, ledger or store cannot be used at all.
    """
    inbox = replace(inbox, board=inbox.board or settings.board_url).check()
    make_home(settings.home)
    place = f"{this_process()}:{next(_count)}"
    async with await open_ledger(settings.ledger) as ledger:
        at = clock()
        begun = NightReport(inbox=inbox.name, night=night, zone=zone, begun_at=at, ended_at=at)
        found = await claim(ledger, settings, begun, place=place, clock=clock)
        if isinstance(found, NightReport):
            return found
        crashpoint("night: it is claimed")
        sweeping = Sweeping(
            ledger=ledger,
            settings=settings,
            inbox=inbox,
            night=found,
            since=_begins(night, zone) if since is None else since,
            place=place,
            steps=steps,
            watch=watch,
            sandbox=sandbox,
            clock=clock,
            sleep=sleep,
        )
        async with kept(sweeping):
            sheets, waiting = await _Order(sweeping, tell, stopped, still).carry()
        return replace(begun, ended_at=clock(), sheets=sheets, waiting=waiting)


def _begins(night: str, zone: str) -> float:
    return begins(date.fromisoformat(night), read_zone(None if zone == "local" else zone))


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
        #: Files beside the sheets that may still be written to.
        self._moving: frozenset[str] = frozenset()
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
                    seen = known[entry.name]
                    sheet = NightSheet(self._sweeping, place, entry, seen, moving=self._moving)
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
        """Return what is under way of sheets that are gone or set aside, and of former campaigns.

        None of the sheets that this sweep has `begun`: their present campaigns are with them.
        """
        at = self._sweeping
        there = {*waiting, *(entry.name for entry in whole)}
        under_way = partial(sheets_under_way, inbox=at.inbox.name, sandbox=at.is_trial)
        found = await at.ledger.read(under_way)
        # A campaign is carried once: by the sheet that was run, or the one it goes on with.
        return [
            NightSheet.gone(at, one)
            for one in found
            if one.former or one.name not in there or one.set_aside_at is not None
            if one.former or one.name not in begun
            if at.sheet_of(one.campaign) in (None, one.name)
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
        self._reports[report.name] = report
        self._tell(report)

    async def _whole(self, place: InboxPlace) -> tuple[list[SheetFile], list[str]]:
        """Return the sheets that are no longer written to, and the names of the others."""
        entries, known = await self._list(place)
        now, before = self._sweeping.clock(), _beside(entries)
        self._moving = moving(before, None, now=now)
        if self._moving or any(
            not is_whole(e, known.get(e.name), now=now, still=self._still) for e in entries
        ):
            # Who sweeps once wants an answer at once: the second look follows the first.
            await self._sweeping.sleep(self._still + 0.1)
            entries, known = await self._list(place)
            now = self._sweeping.clock()
            self._moving = moving(_beside(entries), before, now=now)
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


def _beside(entries: Sequence[SheetFile]) -> Mapping[str, tuple[int, int]]:
    """Return the files that lie beside the sheets; none where there is no sheet."""
    return entries[0].files if entries else {}


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
