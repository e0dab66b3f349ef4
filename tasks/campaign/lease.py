"""The lock on a campaign: one run at a time; a settled campaign needs none.

What is set aside from then on is in the name of the run that holds it. Leases are
in `tasks.ledger.leases`.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from uuid import uuid4

from callsheet.tasks.campaign.match import Match, note_ledger
from callsheet.tasks.campaign.plan import plan_sheet
from callsheet.tasks.campaign.quotes import terms_in
from callsheet.tasks.campaign.recovery import recover, say_found, say_told, say_unknown
from callsheet.tasks.campaign.report_files import report_stands
from callsheet.tasks.campaign.run import Run
from callsheet.tasks.campaign.run_record import run_begins
from callsheet.tasks.engine.context import Context
from callsheet.tasks.engine.owner import is_dead, its_workers, name_of, this_process
from callsheet.tasks.ledger import leases
from callsheet.tasks.ledger.campaigns import (
    Campaign,
    find_campaign,
    has_paid,
    is_latest_from,
    tally_of,
)
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.runtime.errors import Parked
from callsheet.tasks.runtime.held import Held
from callsheet.tasks.runtime.process import UnixClock
from callsheet.tasks.sheet import Sheet


async def find_earlier(run: Run, campaign: Campaign) -> bool:
    """Restore what another ledger paid for, and say so; return whether rows or costs are new.

    Before this run pays: rows that may have been paid for are put on hold until a person says
    `--pay-again`.
    """
    before = await run.at.ledger.read(tally_of, campaign=campaign)
    options = run.options
    recovery = await recover(
        run.at,
        campaign,
        only=run.only,
        pay_again=options.pay_again,
        new=options.new_campaign,
    )
    if recovery.restored:
        now = await run.at.ledger.read(tally_of, campaign=campaign)
        run.say(say_found(recovery, now.charged - before.charged - recovery.told))
    if recovery.told:
        run.say(say_told(recovery.told))
    if recovery.unknown is not None:
        run.say(say_unknown(recovery))
    return bool(recovery.restored or recovery.refused or recovery.told)


async def lease_campaign(run: Run, campaign: Campaign, *, wait: float | None) -> None:
    """Have the campaign to this run alone from here to its end, and set credits aside in its name.

    Raises Parked when another run has it for longer than `wait` seconds (None: no matter how long).
    """
    at, options = run.at, run.options
    begins = partial(run_begins, at.ledger, at.settings, campaign.name)

    def waits(words: str) -> None:
        begins(waiting=True)
        run.say_wait(words)

    if run.find_starter is not None:
        run.production_id = uuid4().hex
    holding = leased(
        at.ledger,
        campaign,
        clock=at.clock,
        lapse=at.settings.lease,
        wait=wait,
        on_wait=waits,
        on_lost=run.lose,
        owner=its_workers(run.production_id) if run.production_id else None,
    )
    lease = await run.holding.enter_async_context(holding)
    begins()
    await count_from_here(run, campaign)
    terms = terms_in(
        at.settings,
        owner=lease.owner,
        run=None if options.run_budget is None else options.run_id or uuid4().hex,
        run_budget=options.run_budget,
        at_limit=options.at_limit or "stop",
    )
    run.at = replace(at, terms=terms, in_charge=lease.holds)


async def count_from_here(run: Run, campaign: Campaign) -> None:
    """Note what runs with this ledger were charged so far: everything beyond that is this run's."""
    tally = await run.at.ledger.read(tally_of, campaign=campaign)
    run.charged_before, run.reserved_before = tally.paid_here, tally.reserved


# One owner per campaign: a schedule, a dashboard and a person do not work on it at once.
#
# A second run waits for the first, or leaves. A lease lapses by itself on the database's clock, and
# at once when its process is known to be dead. A run that has lost its lease begins nothing that
# costs: it asks `holds` before it sends, and the ledger refuses its intents (`ledger.accounts`).


#: A lease lapses after this long without a word from its owner, in seconds.
LAPSE = 60.0
#: How often someone who waits looks whether the campaign is free, in seconds.
PAUSE = 0.5

#: Is called with a sentence for people.
Notify = Callable[[str], None]

_count = itertools.count(1)


class CampaignLease(Held):
    """A campaign's lease as one run has it; `owner` names the run.

    `clock` tells this run how long it was silent, and no other run anything.
    """

    def __init__(
        self,
        ledger: Ledger,
        campaign: Campaign,
        clock: UnixClock,
        *,
        lapse: float,
        on_lost: Notify = lambda _: None,
        owner: str | None = None,
    ) -> None:
        what = f"the lease of campaign {campaign.name}"
        super().__init__(self._renew, what=what, lapse=lapse, on_lost=on_lost, clock=clock)
        # One process may do several runs (the board does): each is an owner of its own.
        self.owner = owner or f"{this_process()}:{next(_count)}"
        self._ledger = ledger
        self._campaign = campaign.name
        self._name = leases.campaign_lease(campaign.id)
        self._token = 0

    async def _renew(self) -> str | None:
        change = partial(leases.renew, name=self._name, owner=self.owner, token=self._token)
        if await self._ledger.write(change, seconds=self._lapse):
            return None
        other = await self._ledger.read(leases.find, name=self._name)
        who = name_of(other.owner) if other is not None and other.owner else "another run"
        return f"campaign {self._campaign} was taken over by {who}"

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
                    remedy="wait for it, or stop it, then run the same command again",
                )
            if tell is not None and not told:
                tell(words)
            told = True
            await asyncio.sleep(PAUSE)

    async def _try_to_acquire(self) -> leases.Lease | None:
        """Acquire the lease if that looks possible; return it as another run has it, or None."""
        # A look first: runs that wait are not to keep the owner from writing.
        found = await self._ledger.read(leases.find, name=self._name)
        if found is not None and found.is_live and not is_dead(found.owner or ""):
            return found
        now = self._clock()
        change = partial(leases.acquire, name=self._name, owner=self.owner, is_dead=is_dead)
        found = await self._ledger.write(change, seconds=self._lapse)
        if found.owner != self.owner:
            return found
        self._token = found.token
        self.is_ours(now)
        return None


@asynccontextmanager
async def leased(
    ledger: Ledger,
    campaign: Campaign,
    *,
    clock: UnixClock,
    lapse: float = LAPSE,
    wait: float | None = 0.0,
    on_wait: Notify | None = None,
    on_lost: Notify = lambda _: None,
    owner: str | None = None,
) -> AsyncIterator[CampaignLease]:
    """Hold the campaign for this run.

    Its owner is this process, unless several renew the lease under one name. Waits up to `wait`
    seconds for another run to be over (None: as long as it takes), then raises Parked.
    """
    lease = CampaignLease(ledger, campaign, clock, lapse=lapse, on_lost=on_lost, owner=owner)
    until = None if wait is None else asyncio.get_running_loop().time() + wait
    await lease.acquire_when_free(until=until, tell=on_wait)
    try:
        async with lease.kept():
            yield lease
    finally:
        name = leases.campaign_lease(campaign.id)
        await ledger.write(leases.release, name=name, owner=lease.owner)


# Whether a campaign is as its last run left and reported it: then a run writes nothing at all.


async def is_settled(run: Run, match: Match) -> bool:
    """Whether all is as the last run left and reported it; if so, the run goes by that plan.

    The campaign is left to anyone who has it: a run that is at work on it is waited for as ever.
    """
    at, options, sheet = run.at, run.options, run.sheet
    assert sheet is not None, "the sheet is read first"
    if options.new_campaign or options.same_campaign or match.moved:
        return False
    campaign = await at.ledger.read(find_campaign, name=sheet.campaign)
    if campaign is None or not await _is_known(at, campaign, sheet):
        return False
    plan = await plan_sheet(at.ledger, sheet, options)
    if plan.moves_anything or not plan.synced or plan.changes:
        return False
    if not await report_stands(at, campaign):
        return False
    run.campaign, run.settled = campaign, True
    run.go_by(plan)
    if campaign.charged:
        note_ledger(at.settings, sheet)
    return True


async def _is_known(at: Context, campaign: Campaign, sheet: Sheet) -> bool:
    """Whether the campaign was last run and reported from this very sheet, and is no one's now."""
    same = (campaign.sheet, campaign.sheet_digest) == (sheet.address, sheet.digest)
    if campaign.lease is not None or not same or campaign.reported is None:
        return False
    if not await at.ledger.read(has_paid, campaign_id=campaign.id):
        return False
    latest = partial(is_latest_from, campaign_id=campaign.id)
    return sheet.origin is None or await at.ledger.read(latest, origin=sheet.origin)
