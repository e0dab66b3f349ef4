"""One owner per campaign: a schedule, a dashboard and a person do not work on it at once.

Double charges are excluded by keys and guarded moves in any case; the lease keeps two runs from
doing each other's work. It lapses by itself, and at once when its process is known to be dead.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from tasks.errors import Parked
from tasks.ledger import Campaign, Ledger, drop_owner, release_lease, take_lease
from tasks.production.connections import Clock

#: A lease lapses after this long without a word from its owner, in seconds.
LAPSE = 60.0

_held: ContextVar[frozenset[int]] = ContextVar("callsheet_leases", default=frozenset())


@asynccontextmanager
async def at_work(ledger: Ledger, campaign: Campaign, *, clock: Clock) -> AsyncIterator[None]:
    """Hold the campaign for this process; raise Parked when another one does."""
    if campaign.id in _held.get():
        yield
        return
    owner = _this_process()
    await _take(ledger, campaign, owner, clock)
    token = _held.set(_held.get() | {campaign.id})
    beat = asyncio.create_task(_renew(ledger, campaign, owner, clock), name="lease")
    try:
        yield
    finally:
        beat.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await beat
        _held.reset(token)
        await ledger.write(partial(release_lease, campaign=campaign, owner=owner))


async def _take(ledger: Ledger, campaign: Campaign, owner: str, clock: Clock) -> None:
    take = partial(take_lease, campaign=campaign, owner=owner, seconds=LAPSE)
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


async def _renew(ledger: Ledger, campaign: Campaign, owner: str, clock: Clock) -> None:
    while True:
        await asyncio.sleep(LAPSE / 4)
        renew = partial(take_lease, campaign=campaign, owner=owner, at=clock(), seconds=LAPSE)
        await ledger.write(renew)


def _this_process() -> str:
    return f"{socket.gethostname()}:{os.getpid()}:{_started(os.getpid())}"


def _is_dead(owner: str) -> bool:
    """Whether the owner ran on this machine and its process is gone (or is another by now)."""
    host, _, rest = owner.partition(":")
    pid, _, started = rest.partition(":")
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
