"""One worker of a distributed run: claims batches of rows, renews its lease, processes them.

Several of them process one campaign, each on a machine of its own, and know of each other by the
ledger alone. Whatever ends one, its batches lapse or are let go of, and another takes them up. It
pays for nothing that it has not claimed (`tasks.ledger.distributed_runs`).
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from typing import Any
from uuid import uuid4

from callsheet.tasks.campaign.run_record import recorded
from callsheet.tasks.engine.context import Context, organisation_of
from callsheet.tasks.engine.engine import Engine
from callsheet.tasks.ledger.accounts import Terms
from callsheet.tasks.ledger.campaigns import Campaign, find_campaign
from callsheet.tasks.ledger.distributed_runs import (
    ClaimedBatch,
    Production,
    claim_batch,
    end_batch,
    find_production,
    free_batches,
    headway_of,
    renew_batches,
    stop_production,
)
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.values import State, rows_by_number
from callsheet.tasks.runtime.crash_points import crashpoint
from callsheet.tasks.runtime.errors import (
    BadInput,
    ConfigurationError,
    LedgerError,
    Parked,
    RunStopped,
)
from callsheet.tasks.runtime.process import Sleep
from callsheet.tasks.runtime.retry import RetryPolicy, renewing
from callsheet.tasks.webhooks import Subscriber
from callsheet.tasks.webhooks.listener import hearing_hints

log = logging.getLogger("callsheet.campaign")

#: How often a worker looks whether there is more to claim, or nothing left, in seconds.
LOOK = 1.0
#: How often one that has room asks for more, in seconds.
ROOM = 0.1
#: Why a worker leaves whose run has ended.
OVER = "this distributed run has ended"
#: A ledger that is away is tried again for so long, in seconds.
AWAY = RetryPolicy(first=1.0, longest=15.0, seconds=900.0)


@dataclass(kw_only=True)
class WorkerReport:
    """What one worker did: batches it has ended, and where their rows rest; why it left early."""

    batches: int = 0
    rows: Counter[State] = field(default_factory=Counter)
    left_because: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {"batches": self.batches, "rows": dict(self.rows), "left": self.left_because}


class Worker:
    """Worker `number` (from 1) of a production; `process` it once."""

    def __init__(
        self, at: Context, production_id: str, number: int, *, sleep: Sleep = asyncio.sleep
    ) -> None:
        self.report = WorkerReport()
        self._at = at
        self._id = production_id
        self._number = number
        self._sleep = sleep
        self._engine: Engine | None = None

    def leave(self, because: str) -> None:
        """Begin nothing more and let go of what is claimed: others process it."""
        if self.report.left_because is None:
            self.report.left_because = because
            if self._engine is not None:
                self._engine.stop(because)

    async def process(self) -> WorkerReport:
        """Process batches until none is left, or the production or this worker is stopped.

        A ledger that is away for a while is waited for. Raises BadInput for a production that the
        ledger does not know, ConfigurationError where it is for another service or store than
        this worker's, and LedgerError where the ledger stays away.
        """
        failures, waited = 0, 0.0
        while True:
            began = self.report.batches
            try:
                if await self._process():
                    return self.report
                # It was silent for too long: what it claims now is another matter.
                continue
            except (LedgerError, Parked, RunStopped) as error:
                # An engine stops for a fault of the ledger.
                failures = failures + 1 if self.report.batches == began else 1
                waited = waited if failures > 1 else 0.0
                if waited >= AWAY.seconds or self.report.left_because:
                    raise
                log.warning("worker %d begins anew: %s", self._number, error)
                pause = AWAY.pause(failures, lambda: 1.0)
                waited += pause
                await self._sleep(pause)

    async def _process(self) -> bool:
        """Process what can be claimed; return False where what was claimed was lost on the way."""
        production = await self._production()
        if production.ended_at is not None or production.stopped or self.report.left_because:
            return True
        campaign = await self._at.ledger.read(find_campaign, name=production.campaign)
        assert campaign is not None, "a production has a campaign"
        claims = Claims(
            self._at.ledger,
            production,
            worker=self._number,
            holder=uuid4().hex,
            lapse=self._at.settings.lease,
            on_lost=self._lose,
        )
        at = limited(self._at, production, claims)
        async with AsyncExitStack() as stack:
            recording = recorded("worker", self._at.settings, parent=production.run_id)
            record = await stack.enter_async_context(recording)
            record.begin(self._at.ledger, self._at.settings, campaign.name)
            await stack.enter_async_context(claims.kept())
            await self._at_work(stack, at, campaign, production, claims)
            record.ends(0, self.report.left_because)
        return claims.lost is None or claims.is_taken_over

    async def _at_work(
        self,
        stack: AsyncExitStack,
        at: Context,
        campaign: Campaign,
        production: Production,
        claims: Claims,
    ) -> None:
        engine = self._engine = await stack.enter_async_context(Engine(campaign, at))
        if self.report.left_because:
            return
        who = Subscriber(settings=at.settings, ledger=at.ledger, service=at.service, clock=at.clock)
        await stack.enter_async_context(hearing_hints(who, engine))
        watching = asyncio.create_task(self._obey(engine, production), name="production")
        try:
            await self._process_all(engine, production, claims)
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
        if engine.parked_because and claims.lost is None and not self.report.left_because:
            # What keeps this one from going on, keeps all of them.
            until = engine.parked_until.timestamp() if engine.parked_until else None
            stop = partial(stop_production, because=engine.parked_because, until=until)
            await at.ledger.write(stop, production_id=production.id)
        if self.report.left_because == OVER and not claims.batches:
            # It had nothing left, and has not left anything.
            self.report.left_because = None

    async def _process_all(self, engine: Engine, production: Production, claims: Claims) -> None:
        """Claim batches whenever there is room, until there is nothing left for anybody."""
        active: set[asyncio.Task[None]] = set()
        # As many as the last batch had: near the end no one keeps more than others have left.
        size = production.batch_size
        try:
            while engine.parked_because is None:
                batch = None
                if engine.has_room(size):
                    batch = await claims.claim()
                if batch is not None:
                    crashpoint("worker: a batch is claimed")
                    size = len(batch.numbers)
                    processing = self._process_batch(engine, claims, batch)
                    active.add(asyncio.create_task(processing, name=f"batch {batch.id}"))
                    await self._sleep(0)
                    continue
                if not active and await self._is_over(production):
                    return
                full = not engine.has_room(size)
                pause = ROOM if full else LOOK
                if active:
                    done, active = await asyncio.wait(
                        active, timeout=pause, return_when=asyncio.FIRST_COMPLETED
                    )
                    for one in done:
                        one.result()
                else:
                    await self._sleep(pause)
        except BaseException:
            engine.stop("the worker stopped")
            raise
        finally:
            if active:
                await asyncio.wait(active)
        for one in active:
            one.result()

    async def _is_over(self, production: Production) -> bool:
        headway = await self._at.ledger.read(headway_of, production=production)
        return not headway.held and not headway.claimable

    async def _process_batch(self, engine: Engine, claims: Claims, batch: ClaimedBatch) -> None:
        states = await engine.process(
            await self._at.ledger.read(rows_by_number, numbers=batch.numbers)
        )
        if engine.parked_because is None:
            await claims.end(batch)
            self.report.batches += 1
            self.report.rows += states

    async def _obey(self, engine: Engine, production: Production) -> None:
        """Stop when the production is stopped; a ledger that is away is asked again."""
        while True:
            try:
                now = await self._production()
                if now.stopped or now.ended_at is not None:
                    self.leave(now.stopped or OVER)
                engine.rely_on_hints(now.hinted)
            except LedgerError as error:
                log.debug("the ledger did not say how the production is: %s", error)
            await self._sleep(LOOK)

    def _lose(self, words: str) -> None:
        if self._engine is not None:
            self._engine.stop(words)

    async def _production(self) -> Production:
        """Return the production as it is now."""
        at = self._at
        found = await at.ledger.read(find_production, production_id=self._id)
        if found is None:
            raise BadInput(f"the ledger has no production {self._id}; nothing was spent")
        if found.organisation != organisation_of(at.settings):
            raise ConfigurationError(
                "this worker has another key or service than the run it is for; nothing was spent",
                remedy="give its worker the same CALLSHEET_API_KEY and CALLSHEET_BASE_URL",
            )
        if found.store != at.store.address:
            raise ConfigurationError(
                f"this worker would deliver to {at.store.address}, and the run it is for to "
                f"{found.store}; nothing was spent",
                remedy="give its worker the same CALLSHEET_STORE",
            )
        return found


def limited(at: Context, production: Production, claims: Claims) -> Context:
    """Return what a worker works with: the terms of its run, for the rows that it has claimed."""
    terms = Terms(**_terms(production), owner=production.owner, batches=claims.batches)
    return replace(at, terms=terms, in_charge=claims.holds)


def terms_of(terms: Terms) -> dict[str, Any]:
    """Return terms as they are kept for workers: amounts as text."""
    return {
        "day_budget": _text(terms.day_budget),
        "cost_center_budgets": {k: str(v) for k, v in terms.cost_center_budgets.items()},
        "run": terms.run,
        "run_budget": _text(terms.run_budget),
        "at_limit": terms.at_limit,
    }


def _terms(production: Production) -> dict[str, Any]:
    kept = dict(production.terms)
    for name in ("day_budget", "run_budget"):
        kept[name] = None if kept[name] is None else Decimal(kept[name])
    budgets = kept["cost_center_budgets"]
    kept["cost_center_budgets"] = {name: Decimal(text) for name, text in budgets.items()}
    return kept


def _text(amount: Decimal | None) -> str | None:
    return None if amount is None else str(amount)


# What one worker has claimed of a production: its batches, their lease, and whether it still has
# it.
#
# The lease is renewed in a task of its own, however busy the worker is. A worker that has lost a
# batch begins nothing more of any: its rows are someone else's, and so may be its campaign.


class Claims:
    """The batches of one worker; `on_lost` is told once why it has lost some of them.

    `holder` is an id of this start of the worker: one that is started again has claimed nothing.
    """

    def __init__(
        self,
        ledger: Ledger,
        production: Production,
        *,
        worker: int,
        holder: str,
        lapse: float,
        on_lost: Callable[[str], None],
    ) -> None:
        #: What an intent has to name one of (`Terms.batches`).
        self.batches: set[int] = set()
        self.lost: str | None = None
        #: Whether it is the campaign that someone else has: there is nothing left to claim.
        self.is_taken_over = False
        self._ledger = ledger
        self._production = production
        self._worker = worker
        self._holder = holder
        self._lapse = lapse
        self._on_lost = on_lost
        self._until = 0.0

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """Renew the lease while this lasts, then let go of what is not done."""
        beat = renewing(
            self._renew,
            lapse=self._lapse,
            is_lost=lambda: self.lost is not None,
            on_trouble=partial(log.warning, "the lease of batches was not renewed: %s"),
        )
        try:
            async with beat:
                yield
        finally:
            self.batches.clear()
            free = partial(free_batches, production_id=self._production.id, holder=self._holder)
            try:
                await self._ledger.write(free)
            except LedgerError as error:
                log.warning("batches are not let go of, and lapse by themselves: %s", error)

    async def claim(self) -> ClaimedBatch | None:
        """Claim a batch; None where there is none to claim."""
        asked = asyncio.get_running_loop().time()
        batch = await self._ledger.write(
            claim_batch,
            production=self._production,
            worker=self._worker,
            holder=self._holder,
            seconds=self._lapse,
        )
        if batch is not None:
            if not self.batches:
                self._until = asked + self._lapse
            self.batches.add(batch.id)
        return batch

    async def end(self, batch: ClaimedBatch) -> None:
        """Note that every row of a batch is done for this production."""
        await self._ledger.write(end_batch, batch_id=batch.id)
        self.batches.discard(batch.id)

    async def holds(self) -> bool:
        """Whether the worker still has what it claimed: asks the ledger only after a silence."""
        if self.lost is None and asyncio.get_running_loop().time() >= self._until:
            # This process was stopped, or its ledger was out of reach, until the lease lapsed.
            await self._renew()
        return self.lost is None

    async def _renew(self) -> None:
        before, asked = frozenset(self.batches), asyncio.get_running_loop().time()
        renewed = await self._ledger.write(
            renew_batches, production=self._production, holder=self._holder, seconds=self._lapse
        )
        if renewed is None:
            self.is_taken_over = True
            self._lose(f"campaign {self._production.campaign} was taken over by another run")
        elif lost := before & self.batches - renewed:
            words = f"worker {self._worker} was silent for too long, and others have {len(lost)} of"
            self._lose(f"{words} its batches")
        else:
            self._until = asked + self._lapse

    def _lose(self, words: str) -> None:
        if self.lost is None:
            self.lost = words
            log.warning("%s", words)
            self._on_lost(words)
