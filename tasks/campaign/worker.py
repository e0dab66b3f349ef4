"""One worker of a distributed run: claims batches of rows, renews its lease, processes them.

Several of them process one campaign, each on a machine of its own, and know of each other by the
ledger alone. Whatever ends one, its rows are let go of when its lease lapses at the latest, and
another takes them up. It pays for nothing that it has not claimed
(`tasks.ledger.distributed_runs`).
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from typing import Any

from callsheet.tasks.campaign.run_record import recorded
from callsheet.tasks.engine.context import Context, organisation_of
from callsheet.tasks.engine.engine import Engine
from callsheet.tasks.ledger.accounts import Terms
from callsheet.tasks.ledger.campaigns import Campaign, find_campaign
from callsheet.tasks.ledger.distributed_runs import (
    OPEN,
    Production,
    begin_worker,
    claim_rows,
    find_production,
    free_worker,
    is_left,
    leave_rows,
    renew_worker,
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
from callsheet.tasks.runtime.held import Held
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.process import Sleep
from callsheet.tasks.runtime.retry import RetryPolicy
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
        async with AsyncExitStack() as stack:
            recording = recorded("worker", self._at.settings, parent=production.run_id)
            record = await stack.enter_async_context(recording)
            record.begin(self._at.ledger, self._at.settings, campaign.name)
            claiming = claiming_rows(
                self._at.ledger, production, lapse=self._at.settings.lease, on_lost=self._lose
            )
            claims = await stack.enter_async_context(claiming)
            await self._at_work(stack, limited(self._at, claims), campaign, claims)
            record.ends(0, self.report.left_because)
        return claims.lost is None or claims.is_taken_over

    async def _at_work(
        self, stack: AsyncExitStack, at: Context, campaign: Campaign, claims: Claims
    ) -> None:
        engine = self._engine = await stack.enter_async_context(Engine(campaign, at))
        if self.report.left_because:
            return
        who = Subscriber(settings=at.settings, ledger=at.ledger, service=at.service, clock=at.clock)
        await stack.enter_async_context(hearing_hints(who, engine))
        watching = asyncio.create_task(self._obey(engine), name="production")
        try:
            await self._process_all(engine, claims)
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
        if engine.parked_because and claims.lost is None and not self.report.left_because:
            # What keeps this one from going on, keeps all of them.
            until = engine.parked_until.timestamp() if engine.parked_until else None
            stop = partial(stop_production, because=engine.parked_because, until=until)
            await at.ledger.write(stop, production_id=self._id)
        if self.report.left_because == OVER and not claims.batches:
            # It had nothing left, and has not left anything.
            self.report.left_because = None

    async def _process_all(self, engine: Engine, claims: Claims) -> None:
        """Claim batches whenever there is room, until there is nothing left for anybody."""
        active: set[asyncio.Task[None]] = set()
        # As many as the last batch had: near the end no one keeps more than others have left.
        size = claims.production.batch_size
        try:
            while engine.parked_because is None:
                numbers = await claims.claim() if engine.has_room(size) else ()
                if numbers:
                    crashpoint("worker: a batch is claimed")
                    size = len(numbers)
                    processing = self._process_batch(engine, claims, numbers)
                    active.add(asyncio.create_task(processing, name="batch"))
                    await self._sleep(0)
                    continue
                left = partial(is_left, production=claims.production)
                if not active and not await self._at.ledger.read(left):
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

    async def _process_batch(
        self, engine: Engine, claims: Claims, numbers: tuple[int, ...]
    ) -> None:
        states = await engine.process(await self._at.ledger.read(rows_by_number, numbers=numbers))
        if engine.parked_because is None:
            await claims.end(numbers, states)
            self.report.batches += 1
            self.report.rows += states

    async def _obey(self, engine: Engine) -> None:
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


def limited(at: Context, claims: Claims) -> Context:
    """Return what a worker works with: the terms of its run, for the rows that it has claimed."""
    production = claims.production
    price, number = at.settings.credit_price, claims.number
    known = _terms(production)
    # What may happen to a price without another approval is the run's to say, not this machine's.
    prices = {name: known.pop(name) for name in _OF_PRICES}
    terms = Terms(**known, owner=production.owner, claim=number, credit_price=price)
    settings = at.settings.model_copy(update=prices)
    return replace(at, terms=terms, settings=settings, in_charge=claims.holds)


#: Settings that a worker has from its run.
_OF_PRICES = ("quote_age", "quote_tolerance")


def terms_of(terms: Terms, settings: Settings) -> dict[str, Any]:
    """Return the terms of a run as they are kept for workers: amounts as text."""
    return {
        "quote_age": settings.quote_age,
        "quote_tolerance": str(settings.quote_tolerance),
        "month_budget": _text(terms.month_budget),
        "day_budget": _text(terms.day_budget),
        "cost_center_budgets": {k: str(v) for k, v in terms.cost_center_budgets.items()},
        "run": terms.run,
        "run_budget": _text(terms.run_budget),
        "at_limit": terms.at_limit,
    }


def _terms(production: Production) -> dict[str, Any]:
    kept = dict(production.terms)
    for name in ("month_budget", "day_budget", "run_budget"):
        kept[name] = None if kept[name] is None else Decimal(kept[name])
    budgets = kept["cost_center_budgets"]
    kept["cost_center_budgets"] = {name: Decimal(text) for name, text in budgets.items()}
    kept["quote_tolerance"] = Decimal(kept["quote_tolerance"])
    return kept


def _text(amount: Decimal | None) -> str | None:
    return None if amount is None else str(amount)


# What one worker has claimed of a production, and whether it still has it.
#
# A worker that has lost its lease begins nothing more: its rows are someone else's, and so may be
# its campaign.


class Claims(Held):
    """The rows of one worker, by its `number`; `on_lost` is told once why it has lost them."""

    def __init__(
        self,
        ledger: Ledger,
        production: Production,
        number: int,
        *,
        lapse: float,
        on_lost: Callable[[str], None],
    ) -> None:
        super().__init__(self._renew, what="the lease of a worker", lapse=lapse, on_lost=on_lost)
        self.production = production
        self.number = number
        #: Batches that are claimed and not done.
        self.batches = 0
        #: Whether it is the campaign that someone else has: there is nothing left to claim.
        self.is_taken_over = False
        self._ledger = ledger
        self._mine: dict[str, Any] = {"production": production, "worker": number}

    async def claim(self) -> tuple[int, ...]:
        """Claim a batch of rows; return their numbers, none where there is none to claim."""
        claiming = partial(claim_rows, **self._mine, seconds=self._lapse)
        numbers = await self._ledger.write(claiming)
        self.batches += bool(numbers)
        return numbers

    async def end(self, numbers: Collection[int], states: Mapping[State, int]) -> None:
        """Have no one claim the rows of a batch again, now that each of them rests."""
        if any(states.get(state) for state in OPEN):
            await self._ledger.write(partial(leave_rows, **self._mine), numbers=numbers)
        self.batches -= 1

    async def let_go(self) -> None:
        """Let others claim what is not done."""
        try:
            await self._ledger.write(partial(free_worker, **self._mine))
        except LedgerError as error:
            log.warning("rows are not let go of, and lapse by themselves: %s", error)

    async def _renew(self) -> str | None:
        renewing = partial(renew_worker, **self._mine, seconds=self._lapse)
        renewed = await self._ledger.write(renewing)
        if renewed is None:
            self.is_taken_over = True
            return f"campaign {self.production.campaign} was taken over by another run"
        words = "a worker was silent for too long, and others may have its rows"
        return None if renewed else words


@asynccontextmanager
async def claiming_rows(
    ledger: Ledger, production: Production, *, lapse: float, on_lost: Callable[[str], None]
) -> AsyncIterator[Claims]:
    """Begin to claim rows of a production: the lease is renewed, then let go of with all rows."""
    number = await ledger.write(partial(begin_worker, production=production, seconds=lapse))
    claims = Claims(ledger, production, number, lapse=lapse, on_lost=on_lost)
    try:
        async with claims.kept():
            yield claims
    finally:
        await claims.let_go()
