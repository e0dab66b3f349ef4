"""The engine: moves rows along the pipeline, several at a time, until each is settled.

Owns the lanes, their bounds, and when a run stops. What to do is decided in `decide`, what is
durable is in the ledger: an engine that is killed loses nothing but time.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from types import TracebackType

from tasks.engine.cancellations import Cancellations, drop, leave
from tasks.engine.context import Context
from tasks.engine.lanes.cancel import cancel
from tasks.engine.lanes.deliver import deliver
from tasks.engine.lanes.poll import poll
from tasks.engine.lanes.price import fresh_price
from tasks.engine.lanes.submit import search, submit
from tasks.engine.lanes.submit_unkeyed import search_made, submit_unkeyed
from tasks.engine.policy.decide import decide
from tasks.engine.policy.decision import Decision, Lane, Memory, Rules, lane_of, unwanted
from tasks.engine.policy.observations import FilmReady, Observation, Resumed, Troubled, Unreached
from tasks.engine.policy.renders import wait_to_poll
from tasks.engine.poll_plan import PollPlan
from tasks.engine.progress import Progress, Snapshot
from tasks.engine.record import record
from tasks.engine.scheduler import Scheduler
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

log = logging.getLogger("callsheet.production")

#: A gate closed for longer than this parks the run instead of pausing it, in seconds.
PAUSE_LIMIT = 900.0
#: A service that nobody reached for this long parks the run, in seconds.
SILENCE = 120.0
#: How long calls under way may take to end when the run is stopped, in seconds.
GRACE = 5.0
#: How often the ledger is asked what is to be cancelled, in seconds.
CANCELLATIONS_EVERY = 1.0


@dataclass(eq=False, slots=True)
class Batch:
    """Rows that somebody waits for together."""

    left: int = 0
    over: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(eq=False, slots=True)
class Carried:
    """A row in this run: its value and what is remembered of it."""

    row: CampaignRow
    batch: Batch
    memory: Memory = field(default_factory=Memory)
    address: str | None = field(default=None, repr=False)

    @property
    def order(self) -> tuple[int, int]:
        """Higher priority first, then sheet order."""
        return (-self.row.priority, self.row.position)


class Engine:
    """Carries rows of one campaign: `async with`, then `carry(rows)` any number of times."""

    def __init__(
        self,
        campaign: Campaign,
        at: Context,
        *,
        max_wait: float | None = None,
        spread: Callable[[], float] = random.random,
    ) -> None:
        self.campaign = campaign
        self.at = at
        self.parked_until: datetime | None = None
        self.parked_because: str | None = None
        #: Whether it has let go of everything: another engine may carry its rows.
        self.at_rest = False
        self._max_wait = max_wait
        self._spread = spread
        settings = at.settings
        self._rules = Rules(
            horizon=settings.horizon,
            deadline=settings.deadline,
            captions_wait=settings.captions_wait,
            evidence_wait=settings.evidence_wait,
            failed=settings.failed_words,
            clip_keys=settings.clip_keys,
        )
        self._scheduler: Scheduler[Carried] = Scheduler()
        self._defers: str | None = None
        self._stopping = asyncio.Event()
        self._batches: list[Batch] = []
        self._idle = asyncio.Event()
        self._workers: list[asyncio.Task[None]] = []
        self._fault: BaseException | None = None
        self._silent_since: float | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._busy = 0
        self._cancellations = Cancellations(at.ledger, campaign.id)
        self._poll_plan = PollPlan()

    async def __aenter__(self) -> Engine:
        tally = await self.at.ledger.read(partial(tally_of, campaign=self.campaign))
        self._poll_plan.recall(
            await self.at.ledger.read(partial(lengths_of, campaign_id=self.campaign.id))
        )
        self._started = asyncio.get_running_loop().time()
        self.progress = Progress(self.campaign.name, tally, started=self._started)
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
        self._workers.append(asyncio.create_task(self._obey_cancellations(), name="heed"))
        if self._max_wait is not None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._max_wait, self._out_of_time)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stopping.set()
        if self._timer is not None:
            self._timer.cancel()
        # A call under way is let finish: cutting it off would only make its outcome unknown.
        if self._busy:
            self._idle.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._idle.wait(), GRACE)
        for worker in self._workers:
            worker.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)
        self.at_rest = True

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
            await self._next(carried, Resumed())
        if carried_rows and not self._stopping.is_set():
            await batch.over.wait()
        if self._fault is not None:
            raise self._broken_off(self._fault)
        return Counter(carried.row.state for carried in carried_rows)

    def snapshot(self) -> Snapshot:
        """Return how far the run is."""
        return self.progress.snapshot(asyncio.get_running_loop().time())

    def stop(self, because: str, *, until: datetime | None = None) -> None:
        """Begin nothing more; what is under way is let finish. The first reason stands."""
        if self._stopping.is_set():
            return
        self.parked_because = because
        self.parked_until = until or datetime.fromtimestamp(self.at.clock(), UTC)
        self._stopping.set()
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

    def _out_of_time(self) -> None:
        self.stop("the time given with --max-wait is up")

    async def _work(self, lane: Lane) -> None:
        while True:
            carried = await self._scheduler.next(lane)
            if self._stopping.is_set():
                continue
            self._busy += 1
            try:
                await self._visit(lane, carried)
            except Exception as error:
                self._break_off(error)
            finally:
                self._busy -= 1
                if not self._busy:
                    self._idle.set()

    def _break_off(self, error: Exception) -> None:
        """Stop for a fault of the ledger or of ours, rather than go on without a record."""
        self._fault = self._fault or error
        self.stop("the run broke off")

    async def _visit(self, lane: Lane, carried: Carried) -> None:
        if (
            lane in ("submit", "submit_unkeyed")
            and carried.row.state == "approved"
            and self._defers
        ):
            await self._defer(carried, self._defers)
            return
        if lane == "submit" and self._cancellations.is_given_up(carried.row):
            await self._leave(carried)
            return
        if lane == "submit":
            # It may have waited in the queue until its key is no longer known to be remembered.
            lane = lane_of(carried.row, self.at.clock(), self._rules) or lane
        outcome = await self._run_lane(lane, carried)
        if outcome is None:
            await self._reload(carried)
            return
        row, observation = outcome
        self._replace(carried, row)
        self._notice_silence(observation)
        await self._next(carried, observation)

    async def _run_lane(
        self, lane: Lane, carried: Carried
    ) -> tuple[CampaignRow, Observation] | None:
        if lane in ("submit", "submit_unkeyed") and carried.row.state == "approved":
            # It may have waited for so long that it is not sold at this price any more.
            priced = await fresh_price(carried.row, self.at)
            if not isinstance(priced, CampaignRow):
                return None if priced is None else (carried.row, priced)
            carried.row = priced
        match lane:
            case "submit":
                return await submit(carried.row, self.at)
            case "submit_unkeyed":
                return await submit_unkeyed(carried.row, self.at)
            case "search" if carried.row.take is not None and not carried.row.take.keyed:
                return await search_made(carried.row, self.at)
            case "search":
                return await search(carried.row, self.at)
            case "poll":
                return carried.row, await poll(carried.row, carried.memory, self.at)
            case "cancel":
                return carried.row, await cancel(carried.row, self.at)
            case "deliver":
                address, carried.address = carried.address, None
                return carried.row, await deliver(carried.row, carried.memory, address, self.at)

    async def _next(self, carried: Carried, observation: Observation) -> None:
        """Decide, record, and say where the row goes."""
        now = self.at.clock()
        carried.row = self._cancellations.marked(carried.row, now)
        if carried.row.state in ("submitting", "rendering"):
            carried.memory = self._poll_plan.expect(carried.row, carried.memory)
        decision = decide(carried.row, carried.memory, observation, now, self._rules)
        carried.memory = decision.memory
        if isinstance(observation, FilmReady):
            carried.address = observation.address
            sooner = carried.row.state == "rendering" and self._poll_plan.finish(
                carried.row, carried.memory, now
            )
            if sooner and not self._rules.hinted:
                self._replan()
        row = await record(self.at.ledger, carried.row, observation, decision, now=now)
        if row is None:
            await self._reload(carried)
            return
        self._replace(carried, row)
        self._obey(decision, now)
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

    def _obey(self, decision: Decision, now: float) -> None:
        """Do what a decision asks of the whole run."""
        if decision.defers and not self._defers:
            self._defers = decision.defers
        if decision.pauses is not None and decision.pauses - now > self._pause_limit():
            until = datetime.fromtimestamp(decision.pauses, UTC)
            self.stop("the service asks not to be called before then", until=until)

    def _pause_limit(self) -> float:
        if self._max_wait is None:
            return PAUSE_LIMIT
        spent = asyncio.get_running_loop().time() - self._started
        return min(PAUSE_LIMIT, max(0.0, self._max_wait - spent))

    def _spaced(self, after: float) -> float:
        """Add up to a tenth, never less than told, so that rows do not wake together."""
        return after * (1 + 0.1 * self._spread())

    def _notice_silence(self, observation: Observation) -> None:
        """Notice whether the service is there at all: count from the first call that failed."""
        now = asyncio.get_running_loop().time()
        if not isinstance(observation, Unreached | Troubled):
            self._silent_since = None
        elif self._silent_since is None:
            self._silent_since = now
        elif now - self._silent_since > SILENCE:
            later = datetime.fromtimestamp(self.at.clock() + 300, UTC)
            self.stop(
                f"the service has not answered for {SILENCE:.0f} s ({observation.words})",
                until=later,
            )

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
            await self._next(carried, Resumed())

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
