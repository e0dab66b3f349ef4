"""Whose a night is: one sweep claims it, renews its claim while it lasts, and notes its end.

A sweep that dies in between is followed by one that claims the night when the claim has lapsed.
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

from flows.sweeping import Sweeping
from tasks.clock import UnixClock
from tasks.crash import crashpoint
from tasks.engine.owner import is_dead, is_near, name_of
from tasks.ledger import Ledger
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
from tasks.nights.values import NightReport
from tasks.renewing import renewing
from tasks.settings import Settings

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
        lapse=settings.lease,
        is_dead=lambda other: other is not None and is_dead(other),
    )
    found = await _settled(ledger, ask, place, clock=clock, lapse=settings.lease)
    if found.place == place:
        return found
    since = datetime.fromtimestamp(found.begun_at, UTC)
    words = f"{name_of(found.place)} sweeps {inbox} since {since:%H:%M:%S} UTC"
    return replace(night, skipped=words, is_swept_elsewhere=True)


def _until(moment: float | None) -> str:
    if moment is None:
        return "until further notice"
    return f"until {datetime.fromtimestamp(moment, UTC):%Y-%m-%d %H:%M} UTC"


async def _settled(
    ledger: Ledger,
    ask: Callable[..., KeptNight],
    place: str,
    *,
    clock: UnixClock,
    lapse: float,
) -> KeptNight:
    """Ask for the night until it is clear whose it is; return it with whoever has it."""
    found = await ledger.write(partial(ask, at=clock()))
    loop = asyncio.get_running_loop()
    first, until = found, loop.time() + lapse + PAUSE
    # Of a process on another machine only its next sign of life tells that it lives: a night whose
    # sweep was killed there is taken up, and not taken for one that is swept.
    while not (_is_settled(found, place) or found.renewed_at != first.renewed_at):
        if loop.time() >= until:
            break
        await asyncio.sleep(PAUSE)
        found = await ledger.write(partial(ask, at=clock()))
    return found


def _is_settled(found: KeptNight, place: str) -> bool:
    """Whether it is clear whose night it is: ours, or that of a process that is seen to live."""
    return found.place == place or is_near(found.place or "")


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
    renew = partial(renew_night, night_id=sweeping.night.id, place=sweeping.place)
    if not await sweeping.ledger.write(partial(renew, at=sweeping.clock())):
        sweeping.lose("another sweep has this night, since this one was silent for too long")


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
