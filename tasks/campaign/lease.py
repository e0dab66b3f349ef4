"""One owner per campaign: a schedule, a dashboard and a person do not work on it at once.

A second run waits for the first, or leaves. A lease lapses by itself on the database's clock, and
at once when its process is known to be dead. A run that has lost its lease begins nothing that
costs: it asks `holds` before it sends, and the ledger refuses its intents (`ledger.accounts`).
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import partial

from callsheet.tasks.clock import UnixClock
from callsheet.tasks.engine.owner import is_dead, name_of, this_process
from callsheet.tasks.errors import Parked
from callsheet.tasks.ledger import Campaign, Ledger, leases
from callsheet.tasks.renewing import renewing

log = logging.getLogger("callsheet.campaign")

#: A lease lapses after this long without a word from its owner, in seconds.
LAPSE = 60.0
#: How often somebody who waits looks whether the campaign is free, in seconds.
PAUSE = 0.5

#: Hears a sentence for people.
Notify = Callable[[str], None]

_count = itertools.count(1)
_held: ContextVar[frozenset[int]] = ContextVar("callsheet_leases", default=frozenset())


class CampaignLease:
    """A campaign's lease as one run has it; `owner` names the run, `lost` says who took it over.

    `clock` tells this run how long it was silent, and no other run anything.
    """

    def __init__(
        self,
        ledger: Ledger,
        campaign: Campaign,
        clock: UnixClock,
        *,
        lapse: float,
        on_lost: Notify | None = None,
        owner: str | None = None,
    ) -> None:
        # One process may do several runs (the board does): each is an owner of its own.
        self.owner = owner or f"{this_process()}:{next(_count)}"
        self.lost: str | None = None
        self._ledger = ledger
        self._campaign = campaign.name
        self._name = leases.campaign_lease(campaign.id)
        self._clock = clock
        self._lapse = lapse
        self._on_lost = on_lost
        self._token = 0
        self._until = 0.0

    async def holds(self) -> bool:
        """Whether the run still has its campaign: asks the ledger only after a silence."""
        if self.lost is None and self._clock() >= self._until:
            # This process was stopped, or its ledger was out of reach, until the lease lapsed.
            await self.renew()
        return self.lost is None

    async def renew(self) -> None:
        """Renew the lease; it is lost for good once another run has had it."""
        now = self._clock()
        change = partial(leases.renew, name=self._name, owner=self.owner, token=self._token)
        if await self._ledger.write(partial(change, seconds=self._lapse)):
            self._until = now + self._lapse
            return
        other = await self._ledger.read(partial(leases.find, name=self._name))
        who = name_of(other.owner) if other is not None and other.owner else "another run"
        self._lose(f"campaign {self._campaign} was taken over by {who}")

    async def acquire_when_free(self, *, until: float | None, tell: Notify | None) -> None:
        """Acquire the lease as soon as no live run has it.

        Tells once who has it. Raises Parked at `until`, a moment of the loop's clock; None never
        gives up.
        """
        told = False
        while (other := await self._try_to_acquire()) is not None:
            words = f"campaign {self._campaign} is being run by {name_of(other.owner)} "
            words += f"since {datetime.fromtimestamp(other.since, UTC):%H:%M:%S} UTC"
            if until is not None and asyncio.get_running_loop().time() >= until:
                raise Parked(
                    f"{words}; nothing was spent",
                    until=datetime.fromtimestamp(other.until, UTC),
                    remedy="wait for it, or stop it and run again",
                )
            if tell is not None and not told:
                tell(words)
            told = True
            await asyncio.sleep(PAUSE)

    async def _try_to_acquire(self) -> leases.Lease | None:
        """Acquire the lease if that looks possible; return it as another run has it, or None."""
        # A look first: runs that wait are not to keep the owner from writing.
        found = await self._ledger.read(partial(leases.find, name=self._name))
        if found is not None and found.is_live and not is_dead(found.owner or ""):
            return found
        now = self._clock()
        change = partial(leases.acquire, name=self._name, owner=self.owner, is_dead=is_dead)
        found = await self._ledger.write(partial(change, seconds=self._lapse))
        if found.owner != self.owner:
            return found
        self._token, self._until = found.token, now + self._lapse
        return None

    def _lose(self, words: str) -> None:
        if self.lost is None:
            self.lost = words
            log.warning("%s, since this run did not renew its lease", words)
            if self._on_lost is not None:
                self._on_lost(words)


@asynccontextmanager
async def leased(
    ledger: Ledger,
    campaign: Campaign,
    *,
    clock: UnixClock,
    lapse: float = LAPSE,
    wait: float | None = 0.0,
    on_wait: Notify | None = None,
    on_lost: Notify | None = None,
    owner: str | None = None,
) -> AsyncIterator[CampaignLease | None]:
    """Hold the campaign for this run; None for a part of a run that holds it already.

    Its owner is this process, unless several renew the lease under one name. Waits up to `wait`
    seconds for another run to be over (None: as long as it takes), then raises Parked.
    """
    if campaign.id in _held.get():
        yield None
        return
    lease = CampaignLease(ledger, campaign, clock, lapse=lapse, on_lost=on_lost, owner=owner)
    until = None if wait is None else asyncio.get_running_loop().time() + wait
    await lease.acquire_when_free(until=until, tell=on_wait)
    _held.set(_held.get() | {campaign.id})
    beat = renewing(
        lease.renew,
        lapse=lapse,
        is_lost=lambda: lease.lost is not None,
        on_trouble=partial(log.warning, "the lease was not renewed: %s"),
    )
    try:
        async with beat:
            yield lease
    finally:
        # Not by a token: the step that enters and the run that leaves differ in context.
        _held.set(_held.get() - {campaign.id})
        name = leases.campaign_lease(campaign.id)
        await ledger.write(partial(leases.release, name=name, owner=lease.owner))
