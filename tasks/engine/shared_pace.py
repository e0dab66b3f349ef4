"""The pace of creates as all processes of one ledger share it: told through the ledger.

It is written when the service refuses a create, and while there is a limit as turns are taken; it
is read a few times a second, and with the intent of every create. What follows from what is in
`tasks.service.pacing`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from sqlalchemy import Connection

from callsheet.tasks.clock import Sleep
from callsheet.tasks.errors import LedgerError
from callsheet.tasks.ledger import KeptPace, Ledger, accepted_of_late, keep_pace, pace_of
from callsheet.tasks.service import VideoService
from callsheet.tasks.service.pace import Turns
from callsheet.tasks.service.pacing import Rate, after_refusal, turns

log = logging.getLogger("callsheet.engine")

#: How often the ledger is asked what other processes were told by the service, in seconds.
EVERY = 0.25
#: So much later after a fault of ours, which is told each time.
AFTER_FAULT = 5.0


class LedgerPace:
    """One key's pace in a ledger; `clock` returns Unix seconds."""

    def __init__(self, ledger: Ledger, organisation: str, clock: Callable[[], float]) -> None:
        self._ledger = ledger
        self._organisation = organisation
        self._clock = clock

    async def take_turns(self, count: int) -> Turns:
        """Take turns for so many creates, after those of everybody else."""
        change = partial(take_turns, organisation=self._organisation, count=count, at=self._clock())
        return await self._ledger.write(change)

    async def slow_down(self, sent: float, until: float) -> Rate | None:
        """Keep a refusal; return None where the ledger could not: the gate is closed anyway."""
        organisation, now = self._organisation, self._clock()
        change = partial(slow_down, organisation=organisation, sent=sent, until=until, at=now)
        try:
            return await self._ledger.write(change)
        except LedgerError as error:
            log.warning("the pace of creates could not be kept: %s", error)
            return None


def take_turns(connection: Connection, organisation: str, *, count: int, at: float) -> Turns:
    """Take turns from the ledger, none while the gate is closed."""
    kept = pace_of(connection, organisation, to_change=True)
    rate = rate_of(kept)
    if kept.closed_until > at:
        return Turns(rate, [], kept.closed_until)
    per_second = None if rate is None else rate.at(at)
    if per_second is None:
        return Turns(rate, [])
    begin = max(at, kept.next_at or 0.0)
    moments, following = turns(count, per_second, begin=begin)
    keep_pace(connection, organisation, replace(kept, next_at=following))
    return Turns(rate, moments)


def slow_down(
    connection: Connection, organisation: str, *, sent: float, until: float, at: float
) -> Rate:
    """Keep that a create was refused until a moment; return the rate from then on."""
    kept = pace_of(connection, organisation, to_change=True)
    accepted = accepted_of_late(connection)
    rate = after_refusal(rate_of(kept), accepted, sent=sent, now=at, until=until)
    if rate != rate_of(kept):
        # Turns that were taken before the refusal are void.
        changed = KeptPace(until, rate.refused, rate.since, next_at=rate.since)
        keep_pace(connection, organisation, changed)
    return rate


def rate_of(kept: KeptPace) -> Rate | None:
    """Return a rate as it is kept, if there is one."""
    if kept.rate is None or kept.rate_since is None:
        return None
    return Rate(kept.rate, kept.rate_since)


@asynccontextmanager
async def following_pace(
    ledger: Ledger, service: VideoService, organisation: str, *, sleep: Sleep = asyncio.sleep
) -> AsyncIterator[None]:
    """Keep to what other processes are told by the service, while this one is at work."""
    task = asyncio.create_task(_follow(ledger, service, organisation, sleep), name="pace")
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def heed(service: VideoService, closed_until: float) -> None:
    """Close the gate here, too, until a moment (Unix seconds) that another process was told."""
    if closed_until:
        service.gate.close(datetime.fromtimestamp(closed_until, UTC))


async def _follow(ledger: Ledger, service: VideoService, organisation: str, sleep: Sleep) -> None:
    while True:
        try:
            kept = await ledger.read(partial(pace_of, organisation=organisation))
            heed(service, kept.closed_until)
            service.pace.follow(rate_of(kept))
        except LedgerError as error:
            # A ledger that is busy now is asked again.
            log.debug("the pace of creates could not be read: %s", error)
        except Exception as error:
            # Whatever it is: to follow no more would be to break limits of the service.
            log.warning("the pace of creates could not be read: %r", error)
            await sleep(AFTER_FAULT)
        await sleep(EVERY)
