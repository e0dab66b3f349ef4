"""The engine: moves rows along the pipeline, several at a time, until each is settled.

Owns the lanes and their bounds. What to do is decided in `decide`, when to stop in `stop`, what is
durable is in the ledger: an engine that is killed loses nothing but time.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from tasks.engine.cancellations import Cancellations, drop, leave
from tasks.engine.carried import Batch, Carried, Deliver, Visits
from tasks.engine.context import Context
from tasks.engine.lanes.deliver import deliver
from tasks.engine.policy.decide import decide
from tasks.engine.policy.decision import Lane, Rules, lane_of, unwanted
from tasks.engine.policy.observations import FilmReady, Observation, Resumed
from tasks.engine.policy.renders import wait_to_poll
from tasks.engine.poll_plan import PollPlan
from tasks.engine.progress import Progress, Snapshot
from tasks.engine.record import record
from tasks.engine.scheduler import Scheduler
from tasks.engine.stop import Stop
from tasks.errors import CallsheetError, LedgerError, Parked
from tasks.ledger import (
    Campaign,
    CampaignRow,
    State,
    lengths_of,
    move,
    rows_of,
    tally_of,
)
from tasks.service.sending import LONGEST

log = logging.getLogger("callsheet.engine")

#: How long calls under way may take to end when the run is stopped, in seconds.
GRACE = 5.0
#: The lanes whose rows take turns at the pace of creates.
PAID: frozenset[Lane] = frozenset({"submit", "submit_unkeyed"})
#: A service that has not answered for so long is worth a word, in seconds.
SILENT = 5.0
#: How often the ledger is asked what is to be cancelled, in seconds.
CANCELLATIONS_EVERY = 1.0


class Engine:
    """Carries rows of one campaign: `async with`, then `carry(rows)` any number of times."""

    def __init__(
        self,
        campaign: Campaign,
        at: Context,
        *,
        max_wait: float | None = None,
        spread: Callable[[], float] = random.random,
        scheduler: Scheduler[Carried] | None = None,
        deliver: Deliver = deliver,
    ) -> None:
        self.campaign = campaign
        self.at = at
        #: Whether it has let go of everything: another engine may carry its rows.
        self.at_rest = False
        self._spread = spread
        self._rules = Rules.of(at.settings)
        self._scheduler = scheduler or Scheduler()
        self._visits = Visits(at, deliver)
        self._stop = Stop(at, max_wait=max_wait, then=self._begin_nothing_more)
        self._stopping = False
        self._defers: str | None = None
        self._batches: list[Batch] = []
        self._workers: list[asyncio.Task[None]] = []
        self._fault: BaseException | None = None
        self._busy: set[Carried] = set()
        #: Of those, the rows whose paid call takes no key: cut off, nobody knows what became of it.
        self._paying: set[Carried] = set()
        self._ended = asyncio.Event()
        self._cancellations = Cancellations(at.ledger, campaign.id)
        self._poll_plan = PollPlan()

    @property
    def parked_because(self) -> str | None:
        """Why nothing more is begun; None while it is."""
        return self._stop.because

    @property
    def parked_until(self) -> datetime | None:
        """When to come back."""
        return self._stop.until

    @property
    def paying(self) -> list[str]:
        """The rows whose paid call without a key is under way."""
        return sorted(carried.row.row for carried in self._paying)

    async def __aenter__(self) -> Engine:
        tally = await self.at.ledger.read(partial(tally_of, campaign=self.campaign))
        self._poll_plan.recall(
            await self.at.ledger.read(partial(lengths_of, campaign_id=self.campaign.id))
        )
        started = asyncio.get_running_loop().time()
        self.progress = Progress(self.campaign.name, tally, started=started)
        settings = self.at.settings
        counts: dict[Lane, int] = {
            "submit": settings.submits,
            # A call without a key goes alone, or nobody could tell what a lost answer left behind.
            "submit_unkeyed": 1,
            "search": 1,
            "poll": settings.watches,
            "cancel": settings.submits,
            "deliver": settings.deliveries,
        }
        self._workers = [
            asyncio.create_task(self._work(lane), name=f"{lane}-{n}")
            for lane, count in counts.items()
            for n in range(count)
        ]
        self._workers.append(asyncio.create_task(self._scheduler.run(), name="scheduler"))
        self._workers.append(asyncio.create_task(self._obey_cancellations(), name="cancellations"))
        self._stop.watch()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stopping = True
        self._stop.close()
        try:
            await self._let_finish()
        finally:
            for worker in self._workers:
                worker.cancel()
            await asyncio.gather(*self._workers, return_exceptions=True)
            self.at_rest = True

    async def _let_finish(self) -> None:
        """Wait for calls under way: to cut one off would only make its outcome unknown.

        The same bytes may be sent again under their key. A paid call without one may not: it is
        waited for as long as it may take.
        """
        await self._ends(self._busy, GRACE)
        if self._paying:
            words = "a paid call without a key is under way, and its answer is waited for: %s"
            log.warning(words, ", ".join(self.paying))
            await self._ends(self._paying, LONGEST)

    async def _ends(self, calls: set[Carried], longest: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(longest):
                while calls:
                    self._ended.clear()
                    await self._ended.wait()

    async def carry(self, rows: Iterable[CampaignRow]) -> Counter[State]:
        """Carry rows until each is settled, or the run is stopped; return how many are where.

        Raises what broke the engine itself: a ledger that cannot be written, for one.
        """
        batch = Batch()
        carried_rows = [Carried(row, batch) for row in rows]
        batch.left = len(carried_rows)
        self._batches.append(batch)
        self.progress.begins(len(carried_rows))
        for carried in carried_rows:
            self._cancellations.begins(carried.row)
            await self.observe(carried, Resumed())
        if carried_rows and not self._stopping:
            await batch.over.wait()
        if self._fault is not None:
            raise self._broken_off(self._fault)
        return Counter(carried.row.state for carried in carried_rows)

    def snapshot(self) -> Snapshot:
        """Return how far the run is."""
        now = asyncio.get_running_loop().time()
        return self.progress.snapshot(now, waits_for=self._waits_for())

    def _waits_for(self) -> str | None:
        """Say what no row can go on without, and since or until when."""
        gate, silent = self.at.service.gate, self._stop.silent_since
        if not gate.is_open and gate.closed_until is not None:
            return f"the service asks for no requests before {gate.closed_until:%H:%M:%S} UTC"
        if silent is not None and self.at.clock() - silent > SILENT:
            since = datetime.fromtimestamp(silent, UTC)
            return f"the service has not answered since {since:%H:%M:%S} UTC"
        return self.at.service.pace.limits()

    def stop(self, because: str) -> None:
        """Begin nothing more; what is under way is let finish. The first reason stands."""
        self._stop.ask(because)

    def _begin_nothing_more(self) -> None:
        self._stopping = True
        for batch in self._batches:
            batch.over.set()

    def hear(self, videos: Collection[str]) -> None:
        """Poll now the renders that a webhook named; nothing else of it is believed."""
        self._poll_plan.name(videos)
        for carried in self._scheduler.pull(lambda carried: self._poll_plan.is_named(carried.row)):
            self._poll_now(carried)

    def sweep(self) -> None:
        """Poll now every render under way: webhooks may have been missed."""
        for carried in self._scheduler.pull(lambda carried: _is_polled(carried.row)):
            self._scheduler.put("poll", 0.0, carried)

    def rely_on_hints(self, rely: bool) -> None:
        """Have polls be a safety net for webhooks, or the only way to find films.

        What was finished before there was a webhook, nobody will tell of: a last poll shows it.
        """
        if rely == self._rules.hinted:
            return
        self._rules = replace(self._rules, hinted=rely)
        if rely:
            self.sweep()
        else:
            self._replan()

    def _broken_off(self, fault: BaseException) -> BaseException:
        """Return a fault as what it means in the middle of a run, where something may be paid."""
        if not isinstance(fault, CallsheetError):
            return fault
        return Parked(
            f"the run broke off: {fault}; everything paid for is in the ledger",
            until=datetime.fromtimestamp(self.at.clock(), UTC),
            remedy=fault.remedy or "run the same command again",
        )

    async def _work(self, lane: Lane) -> None:
        while True:
            carried = await self._scheduler.next(lane)
            # Whoever waits for a turn is not under way, and nothing of it has to be let finish.
            async with self.at.service.pace if lane in PAID else nullcontext():
                if self._stopping:
                    continue
                self._busy.add(carried)
                try:
                    await self._visit(lane, carried)
                except Exception as error:
                    self._break_off(error)
                finally:
                    self._busy.discard(carried)
                    self._paying.discard(carried)
                    self._ended.set()

    def _break_off(self, error: Exception) -> None:
        """Stop for a fault of the ledger or of ours, rather than go on without a record."""
        self._fault = self._fault or error
        self.stop("the run broke off")

    async def _visit(self, lane: Lane, carried: Carried) -> None:
        if self._defers and carried.row.state == "approved":
            await self._defer(carried, self._defers)
            return
        if lane == "submit" and self._cancellations.is_given_up(carried.row):
            await self._leave(carried)
            return
        if lane == "submit":
            # It may have waited in the queue until its key is no longer known to be remembered.
            lane = lane_of(carried.row, self.at.clock(), self._rules) or lane
        outcome = await self._visits.visit(lane, carried, partial(self._may_pay, carried))
        if outcome is None:
            await self._reload(carried)
            return
        row, observation = outcome
        self._replace(carried, row)
        await self._stop.notice(observation)
        await self.observe(carried, observation)

    def _may_pay(self, carried: Carried) -> bool:
        """Note a paid call without a key as under way; none is begun once the run is stopped."""
        if not self._stopping:
            self._paying.add(carried)
        return not self._stopping

    async def observe(self, carried: Carried, observation: Observation) -> None:
        """Decide what an observation leads to, record it, and say where the row goes."""
        now = self.at.clock()
        carried.row = self._cancellations.marked(carried.row, now)
        if carried.row.state in ("submitting", "rendering"):
            carried.memory = self._poll_plan.expect(carried.row, carried.memory)
        decision = decide(carried.row, carried.memory, observation, now, self._rules)
        carried.memory = decision.memory
        if isinstance(observation, FilmReady):
            carried.address = observation.address
            finished = carried.row.state == "rendering"
            hinted = self._rules.hinted
            if finished and self._poll_plan.finish(carried.row, carried.memory, now, hinted=hinted):
                self._replan()
        row = await record(self.at.ledger, carried.row, observation, decision, now=now)
        if row is None:
            await self._reload(carried)
            return
        self._replace(carried, row)
        if row.state == "delivered":
            self.progress.delivered(decision.memory.files)
        self._defers = self._defers or decision.defers
        if decision.pauses is not None:
            self._stop.pause(decision.pauses)
        if decision.lane is None:
            self._poll_plan.leave(carried.row)
            self._settle(carried)
        elif decision.lane == "poll" and self._poll_plan.is_named(carried.row):
            self._poll_now(carried)
        else:
            self._scheduler.put(decision.lane, self._spaced(decision.after), carried)

    def _poll_now(self, carried: Carried) -> None:
        carried.memory = self._poll_plan.before_poll(carried.row, carried.memory)
        self._scheduler.put("poll", 0.0, carried)

    def _replan(self) -> None:
        """Plan the polls of renders under way anew: what is known of them has changed."""
        now = self.at.clock()
        for carried in self._scheduler.pull(
            lambda carried: _is_polled(carried.row) and not carried.memory.hint
        ):
            carried.memory = self._poll_plan.expect(carried.row, carried.memory)
            wait = wait_to_poll(carried.row, carried.memory, now, self._rules)
            self._scheduler.put("poll", self._spaced(wait), carried)

    def _spaced(self, after: float) -> float:
        """Add up to a tenth, never less than told, so that rows do not wake together."""
        return after * (1 + 0.1 * self._spread())

    async def _defer(self, carried: Carried, reason: str) -> None:
        row, now = carried.row, self.at.clock()
        change = partial(move, row=row, new="held", at=now, reason=reason)
        if not await self.at.ledger.write(change):
            await self._reload(carried)
            return
        self._replace(carried, replace(row, state="held", since=now, reason=reason))
        self._settle(carried)

    async def _obey_cancellations(self) -> None:
        """Obey requests to cancel: they come from any process, by way of the ledger."""
        while True:
            await asyncio.sleep(CANCELLATIONS_EVERY)
            try:
                await self._cancellations.refresh()
            except LedgerError as error:
                # A ledger that is busy now is asked again.
                log.warning("the ledger did not say what is to be cancelled: %s", error)
                continue
            try:
                for carried in self._scheduler.pull(
                    lambda carried: self._cancellations.is_touched(carried.row)
                ):
                    await self._touch(carried)
            except Exception as error:
                self._break_off(error)

    async def _touch(self, carried: Carried) -> None:
        if self._cancellations.is_over(carried.row):
            await self._reload(carried)
        elif self._cancellations.is_given_up(carried.row):
            await self._leave(carried)
        else:
            await self.observe(carried, Resumed())

    async def _leave(self, carried: Carried) -> None:
        """Cancel a create that made nothing; rest one of which nobody knows: the next run asks."""
        change = leave if carried.memory.doubt else drop
        await self.at.ledger.write(partial(change, row=carried.row, at=self.at.clock()))
        await self._reload(carried)

    async def _reload(self, carried: Carried) -> None:
        """Somebody else moved the row, or the budget held it: take the ledger's word."""
        query = partial(rows_of, campaign_id=carried.row.campaign_id, row=carried.row.row)
        for row in await self.at.ledger.read(query):
            self._replace(carried, row)
        self._settle(carried)

    def _replace(self, carried: Carried, row: CampaignRow) -> None:
        self.progress.moved(carried.row, row)
        if carried.row.state != row.state:
            log.debug("%s: %s -> %s", row.row, carried.row.state, row.state)
        carried.row = row

    def _settle(self, carried: Carried) -> None:
        self.progress.settles(asyncio.get_running_loop().time())
        carried.batch.left -= 1
        if not carried.batch.left:
            carried.batch.over.set()


def _is_polled(row: CampaignRow) -> bool:
    """Whether a row that waits, waits for a poll of its render."""
    return row.state == "rendering" and not unwanted(row)
