"""Whose a night is: one sweep claims it, renews its claim while it lasts, and notes its end.

A sweep that dies in between is followed by one that claims the night when its lease has lapsed.
Knows nothing of sheets.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from callsheet.flows.sweeping import Sweeping
from callsheet.tasks.clock import UnixClock
from callsheet.tasks.crash import crashpoint
from callsheet.tasks.engine.owner import is_dead, is_near, name_of
from callsheet.tasks.ledger import Lease, Ledger
from callsheet.tasks.ledger.nights import (
    KeptNight,
    claim_night,
    end_night,
    keep_report,
    pause_of,
    renew_night,
    skip_night,
)
from callsheet.tasks.metrics import publish
from callsheet.tasks.nights.values import NightReport
from callsheet.tasks.renewing import renewing
from callsheet.tasks.settings import Settings

log = logging.getLogger("callsheet.night")

#: How often somebody who waits looks whether a night is free, in seconds.
PAUSE = 1.0


async def claim(
    ledger: Ledger, settings: Settings, night: NightReport, *, place: str, clock: UnixClock
) -> KeptNight | NightReport:
    """Claim the `night` of a report that is begun; return it, or why it is not swept here."""
    at, inbox, date, zone = clock(), night.inbox, night.night, night.zone
    paused = await ledger.read(partial(pause_of, inbox=inbox, at=at))
    if paused is not None:
        why = f"{inbox} is paused {_until(paused.until)} by {paused.by}"
        skip = partial(skip_night, inbox=inbox, date=date, zone=zone, why=why, at=at)
        await ledger.write(skip)
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
    found = await _settled(ledger, ask, clock=clock, lapse=settings.lease)
    if isinstance(found, KeptNight):
        return found
    since = datetime.fromtimestamp(found.since, UTC)
    words = f"{name_of(found.owner)} sweeps {inbox} since {since:%H:%M:%S} UTC"
    return replace(night, skipped=words, is_swept_elsewhere=True)


def _until(moment: float | None) -> str:
    if moment is None:
        return "until further notice"
    return f"until {datetime.fromtimestamp(moment, UTC):%Y-%m-%d %H:%M} UTC"


async def _settled(
    ledger: Ledger,
    ask: Callable[..., KeptNight | Lease],
    *,
    clock: UnixClock,
    lapse: float,
) -> KeptNight | Lease:
    """Ask for the night until it is clear whose it is; return it, or the lease of another sweep."""
    found = await ledger.write(partial(ask, at=clock()))
    loop = asyncio.get_running_loop()
    first, until = found, loop.time() + lapse + PAUSE
    # Of a process on another machine only its next sign of life tells that it lives: a night whose
    # sweep was killed there is taken up, and not taken for one that is swept.
    while isinstance(found, Lease) and not is_near(found.owner or "") and found == first:
        if loop.time() >= until:
            break
        await asyncio.sleep(PAUSE)
        found = await ledger.write(partial(ask, at=clock()))
    return found


@asynccontextmanager
async def kept(sweeping: Sweeping) -> AsyncIterator[None]:
    """Keep the night for as long as this lasts, then note its end and tell its measures."""
    beat = renewing(
        partial(_renew, sweeping),
        lapse=sweeping.settings.lease,
        is_lost=lambda: sweeping.lost is not None,
        on_trouble=partial(log.warning, "the night was not renewed: %s"),
    )
    try:
        async with beat:
            yield
    finally:
        await _end(sweeping)
        settings = sweeping.settings
        await publish(sweeping.ledger, file=settings.metrics_file, push=settings.metrics_push)


async def _renew(sweeping: Sweeping) -> None:
    """Say that the night is swept still; it is lost where another sweep has it."""
    renew = partial(renew_night, inbox=sweeping.night.inbox, place=sweeping.place)
    if not await sweeping.ledger.write(partial(renew, seconds=sweeping.settings.lease)):
        sweeping.lose("another nightly run has this night, since this one was silent for too long")


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
