"""One owner per campaign: a schedule, a dashboard and a person do not work on it at once.

Double charges are excluded by keys and guarded moves in any case; the lease keeps two runs from
doing each other's work. It lapses by itself, and at once when its process is known to be dead.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import os
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from tasks.errors import LedgerError, Parked
from tasks.ledger import Campaign, Ledger, drop_owner, release_lease, take_lease
from tasks.production.connections import Clock

log = logging.getLogger("callsheet.production")

#: A lease lapses after this long without a word from its owner, in seconds.
LAPSE = 60.0

Lease = Callable[..., Campaign | None]

_count = itertools.count(1)
_held: ContextVar[frozenset[int]] = ContextVar("callsheet_leases", default=frozenset())


@asynccontextmanager
async def at_work(
    ledger: Ledger, campaign: Campaign, *, clock: Clock, lapse: float = LAPSE
) -> AsyncIterator[None]:
    """Hold the campaign for this process; raise Parked when another one does."""
    if campaign.id in _held.get():
        yield
        return
    # One process may do several runs (the board does): each is an owner of its own.
    owner = f"{_this_process()}:{next(_count)}"
    take = partial(take_lease, campaign=campaign, owner=owner, seconds=lapse)
    await _take(ledger, campaign, take, clock)
    _held.set(_held.get() | {campaign.id})
    beat = asyncio.create_task(_renew(ledger, take, clock, every=lapse / 4), name="lease")
    try:
        yield
    finally:
        beat.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await beat
        # Not by a token: the step that enters and the run that leaves differ in context.
        _held.set(_held.get() - {campaign.id})
        await ledger.write(partial(release_lease, campaign=campaign, owner=owner))


async def _take(ledger: Ledger, campaign: Campaign, take: Lease, clock: Clock) -> None:
    other = await ledger.write(partial(take, at=clock()))
    if other is not None and _is_dead(other.owner or ""):
        await ledger.write(partial(drop_owner, campaign=other))
        other = await ledger.write(partial(take, at=clock()))
    if other is None:
        return
    since = datetime.fromtimestamp(other.owner_since or clock(), UTC)
    until = datetime.fromtimestamp(other.owner_until or clock(), UTC)
    host, pid, _ = (other.owner or "?:?:").split(":", 2)
    raise Parked(
        f"campaign {campaign.name} is being run by process {pid} on {host} "
        f"since {since:%H:%M:%S} UTC; nothing was spent",
        until=until,
        remedy="wait for it, or stop it and run again",
    )


async def _renew(ledger: Ledger, take: Lease, clock: Clock, *, every: float) -> None:
    while True:
        await asyncio.sleep(every)
        try:
            other = await ledger.write(partial(take, at=clock()))
        except LedgerError as error:
            # A ledger that is busy now is asked again; the lease lasts for several beats.
            log.warning("the lease was not renewed: %s", error)
            continue
        if other is not None:
            log.warning("campaign %s was taken over by %s", other.name, other.owner)
            return


def _this_process() -> str:
    return f"{socket.gethostname()}:{os.getpid()}:{_started(os.getpid())}"


def _is_dead(owner: str) -> bool:
    """Whether the owner ran on this machine and its process is gone (or is another by now)."""
    host, _, rest = owner.partition(":")
    pid, _, rest = rest.partition(":")
    started, _, _ = rest.partition(":")
    if host != socket.gethostname() or not pid.isdecimal():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return _started(int(pid)) != started


def _started(pid: int) -> str:
    """Return when a process began, in the kernel's ticks; empty where the kernel does not say."""
    with contextlib.suppress(OSError, IndexError):
        # The name in field 2 may hold spaces and brackets: count from the last bracket.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    return ""
