"""The engine: moves rows along the pipeline, several at a time, until each is settled.

Owns the lanes and their bounds. What to do is decided in `decide`, when to stop in `stop`, what is
durable is in the ledger: an engine that is killed loses nothing but time.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from datetime import datetime
from functools import partial

from callsheet.tasks.engine.active_rows import (
    ActiveRow,
    ActiveRows,
    Deliver,
    Intake,
    Scheduler,
    Visits,
    compact,
)
from callsheet.tasks.engine.context import Context, lanes_of
from callsheet.tasks.engine.deliver import deliver
from callsheet.tasks.engine.pages import PAGE, Batch, Shard
from callsheet.tasks.engine.policy.decide import decide
from callsheet.tasks.engine.policy.decision import (
    Lane,
    Memory,
    Observation,
    Resumed,
    Rules,
    VideoReady,
    lane_of,
)
from callsheet.tasks.engine.polls import PollPlan, Polls
from callsheet.tasks.engine.progress import Progress, Snapshot, record
from callsheet.tasks.engine.stop import CallsUnderWay, Cancellations, Stop, broken_off, drop, leave
from callsheet.tasks.ledger.campaigns import Campaign, tally_of
from callsheet.tasks.ledger.moves import move
from callsheet.tasks.ledger.values import (
    NEEDS_PERSON,
    CampaignRow,
    State,
    lengths_of,
    rows_by_number,
)
from callsheet.tasks.runtime.logs import about
from callsheet.tasks.runtime.telemetry import RowSpans

log = logging.getLogger("callsheet.engine")

#: So many rows are taken up before others get their turn.
TAKEN_UP = 50


class Engine:
    """Processes rows of one campaign: `async with`, then `process` any number of times.

    Of a shard, `page` rows are read at once and at most twice as many wait in memory to begin.
    """

    def __init__(
        self,
        campaign: Campaign,
        at: Context,
        *,
        max_wait: float | None = None,
        spread: Callable[[], float] = random.random,
        scheduler: Scheduler | None = None,
        deliver: Deliver = deliver,
        page: int = PAGE,
    ) -> None:
        self.campaign = campaign
        self.at = at
        #: Whether it has let go of everything: another engine may process its rows.
        self.at_rest = False
        self._spread = spread
        self._rules = Rules.of(at.settings)
        self._scheduler = scheduler or Scheduler()
        self._visits = Visits(at, deliver)
        self._stop = Stop(at, max_wait=max_wait, then=self._begin_nothing_more)
        self._stopping = False
        self._defers: str | None = None
        clip_keys = self._rules.clip_keys
        self._active = ActiveRows(clip_keys=clip_keys)
        self._intake = Intake(
            at.ledger, self._active, self._scheduler, page=page, clip_keys=clip_keys
        )
        self._batches: list[Batch] = []
        self._workers: list[asyncio.Task[None]] = []
        self._fault: BaseException | None = None
        self._calls = CallsUnderWay()
        self._spans = RowSpans()
        self._cancellations = Cancellations(at.ledger, campaign.id)
        self._poll_plan = PollPlan()
        self._polls = Polls(
            self._scheduler, self._active, self._poll_plan, clock=at.clock, spaced=self._spaced
        )

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
        return self._calls.paying

    async def __aenter__(self) -> Engine:
        tally = await self.at.ledger.read(tally_of, campaign=self.campaign)
        lengths = await self.at.ledger.read(lengths_of, campaign_id=self.campaign.id)
        self._poll_plan.recall(lengths)
        started = asyncio.get_running_loop().time()
        price = self.at.settings.credit_price
        self.progress = Progress(
            self.campaign.name, tally, started=started, credit_price=price, lengths=lengths
        )
        self._workers = [
            asyncio.create_task(self._work(lane), name=f"{lane}-{n}")
            for lane, count in lanes_of(self.at.settings).items()
            for n in range(count)
        ]
        self._workers.append(asyncio.create_task(self._scheduler.run(), name="scheduler"))
        self._workers.append(asyncio.create_task(self._obey_cancellations(), name="cancellations"))
        self._workers.append(asyncio.create_task(self._take_in(), name="pages"))
        self._stop.watch()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stopping = True
        self._stop.close()
        try:
            await self._calls.let_finish()
        finally:
            for worker in self._workers:
                worker.cancel()
            await asyncio.gather(*self._workers, return_exceptions=True)
            self._spans.close()
            self.at_rest = True

    async def process(self, rows: Iterable[CampaignRow]) -> Counter[State]:
        """Process rows until each is settled, or the run is stopped; return how many are where.

        Raises what broke the engine itself: a ledger that cannot be written, for one.
        """
        found = list(rows)
        batch = self._begin(Batch(len(found), Counter(row.state for row in found)))
        await self._take_up([(row, batch) for row in found])
        return await self._end(batch)

    async def process_shard(self, shard: Shard) -> Counter[State]:
        """Process rows as `process` does, read from the ledger as their turn comes."""
        states = Counter(map(shard.work.state, shard.places))
        batch = self._begin(Batch(len(shard), states))
        self._intake.add(shard, batch)
        return await self._end(batch)

    def _begin(self, batch: Batch) -> Batch:
        self._batches.append(batch)
        self.progress.begins(batch.left)
        return batch

    async def _end(self, batch: Batch) -> Counter[State]:
        if batch.left and not self._stopping:
            await batch.over.wait()
        self._batches.remove(batch)
        if self._fault is not None:
            raise broken_off(self._fault)
        return +batch.states

    async def _take_in(self) -> None:
        """Take up rows whose turn comes, whenever there is room for them."""
        while True:
            await self._intake.wait_for_room()
            try:
                while not self._stopping and await self._take_page():
                    pass
            except Exception as error:
                self._break_off(error)

    async def _take_page(self) -> bool:
        """Take up the rows of the next page; return whether there was one."""
        rows = list[tuple[CampaignRow, Batch]]()
        for row, wanted in await self._intake.read_page():
            if row.state != wanted.state:
                # It was moved by someone else since the order was made.
                now = asyncio.get_running_loop().time()
                self.progress.moved(replace(row, state=wanted.state), row, now)
                wanted.batch.moved(wanted.state, row.state)
            rows.append((row, wanted.batch))
        await self._take_up(rows)
        return bool(rows)

    async def _take_up(self, rows: list[tuple[CampaignRow, Batch]]) -> None:
        for number, (row, batch) in enumerate(rows, start=1):
            active = ActiveRow(row, batch)
            self._active.enter(active)
            self._spans.begins(row.id)
            self._cancellations.begins(row)
            await self.observe(active, Resumed())
            if not number % TAKEN_UP:
                await asyncio.sleep(0)

    def has_room(self, rows: int) -> bool:
        """Whether so many more may be taken up: few have yet to begin, or to be delivered."""
        return self._intake.has_room(rows)

    def snapshot(self) -> Snapshot:
        """Return how far the run is."""
        now = asyncio.get_running_loop().time()
        return self.progress.snapshot(now, waits_for=self._stop.waits_for())

    def stop(self, because: str) -> None:
        """Begin nothing more; what is under way is let finish. The first reason stands."""
        self._stop.ask(because)

    def _begin_nothing_more(self) -> None:
        self._stopping = True
        for batch in self._batches:
            batch.over.set()

    def notify(self, videos: Collection[str]) -> None:
        """Poll now the renders that a webhook named; nothing else of it is believed."""
        self._polls.notify(videos)

    def sweep(self) -> None:
        """Poll now every render under way: webhooks may have been missed."""
        self._polls.sweep()

    def rely_on_hints(self, rely: bool) -> None:
        """Have polls be a safety net for webhooks, or the only way to find videos.

        What was finished before there was a webhook, no one will tell of: a last poll shows it.
        """
        if rely == self._rules.hinted:
            return
        self._rules = replace(self._rules, hinted=rely)
        if rely:
            self._polls.sweep()
        else:
            self._polls.all_again(self._rules)

    async def _work(self, lane: Lane) -> None:
        while True:
            active = await self._scheduler.next(lane)
            try:
                if not self._stopping:
                    with (
                        self._calls.noted(active),
                        about(active.facts),
                        self._spans.visited(active.row.id),
                    ):
                        await self._visit(lane, active)
            except Exception as error:
                # A worker that ended would leave its row waited for and never processed.
                self._break_off(error)

    def _break_off(self, error: Exception) -> None:
        """Stop for a fault of the ledger or of ours, rather than go on without a record."""
        self._fault = self._fault or error
        self.stop("the run stopped")

    async def _visit(self, lane: Lane, active: ActiveRow) -> None:
        if self._defers and active.row.state == "approved":
            await self._defer(active, self._defers)
            return
        if lane == "submit" and self._cancellations.is_given_up(active.row):
            await self._leave(active)
            return
        if lane == "submit":
            # It may have waited in the queue until its key is no longer known to be remembered.
            lane = lane_of(active.row, self.at.clock(), self._rules) or lane
        outcome = await self._visits.visit(lane, active, partial(self._may_pay, active))
        if outcome is None:
            await self._reload(active)
            return
        row, observation = outcome
        self._replace(active, row)
        await self._stop.notice(observation)
        await self.observe(active, observation)

    def _may_pay(self, active: ActiveRow) -> bool:
        """Note a paid call without a key as under way; none is begun once the run is stopped."""
        if not self._stopping:
            self._calls.pays(active)
        return not self._stopping

    async def observe(self, active: ActiveRow, observation: Observation) -> None:
        """Decide what an observation leads to, record it, and say where the row goes."""
        now = self.at.clock()
        active.row = self._cancellations.marked(active.row, now)
        if active.row.state in ("submitting", "rendering"):
            active.memory = self._poll_plan.expect(active.row, active.memory)
        decision = decide(active.row, active.memory, observation, now, self._rules)
        active.memory = decision.memory
        if isinstance(observation, VideoReady):
            active.address = observation.address
            finished = active.row.state == "rendering"
            hinted = self._rules.hinted
            if finished and self._poll_plan.finish(active.row, active.memory, now, hinted=hinted):
                self._polls.again(self._polls.like(active.row), self._rules)
        row = await record(self.at.ledger, active.row, observation, decision, now=now)
        if row is None:
            await self._reload(active)
            return
        self._replace(active, row)
        if row.state == "delivered":
            self.progress.delivered(decision.memory.files)
            if row.take is not None:
                self.at.ledger.measures.delivered(now - row.take.intended_at)
        self._defers = self._defers or decision.defers
        if decision.pauses is not None:
            self._stop.pause(decision.pauses)
        lane = lane_of(row, now, self._rules) if decision.retakes else decision.lane
        if lane is None:
            self._settle(active)
            return
        if decision.retakes:
            # Another take of a failed row: nothing is known of it yet.
            self._poll_plan.leave(row)
            active.memory = Memory()
        active.row = compact(active.row)
        if self._cancellations.is_touched(active.row):
            await self._touch(active)
        elif lane == "poll" and self._poll_plan.is_named(active.row):
            self._polls.now(active)
        else:
            self._scheduler.put(lane, self._spaced(decision.after), active)

    def _spaced(self, after: float) -> float:
        """Add up to a tenth, never less than told, so that rows do not wake together."""
        return after * (1 + 0.1 * self._spread())

    async def _defer(self, active: ActiveRow, reason: str) -> None:
        row, now = active.row, self.at.clock()
        if not await self.at.ledger.write(move, row=row, new="held", at=now, reason=reason):
            await self._reload(active)
            return
        self._replace(active, replace(row, state="held", since=now, reason=reason))
        self._settle(active)

    async def _obey_cancellations(self) -> None:
        """Obey requests to cancel: they come from any process, by way of the ledger."""
        async for named in self._cancellations.named():
            try:
                for active in filter(None, map(self._active.find, named)):
                    touched = self._cancellations.is_touched(active.row)
                    # One that is being visited is asked about when it waits again.
                    if touched and self._scheduler.take(active):
                        await self._touch(active)
            except Exception as error:
                self._break_off(error)

    async def _touch(self, active: ActiveRow) -> None:
        if self._cancellations.is_over(active.row):
            await self._reload(active)
        elif self._cancellations.is_given_up(active.row):
            await self._leave(active)
        else:
            await self.observe(active, Resumed())

    async def _leave(self, active: ActiveRow) -> None:
        """Cancel a create that made nothing; rest one of which no one knows: the next run asks."""
        change = leave if active.memory.doubt else drop
        await self.at.ledger.write(change, row=active.row, at=self.at.clock())
        await self._reload(active)

    async def _reload(self, active: ActiveRow) -> None:
        """Someone else moved the row, or the budget held it: take the ledger's word."""
        query = partial(rows_by_number, numbers=[active.row.id])
        for row in await self.at.ledger.read(query):
            self._replace(active, row)
        self._settle(active)

    def _replace(self, active: ActiveRow, row: CampaignRow) -> None:
        old, active.row = active.row, row
        self.progress.moved(old, row, asyncio.get_running_loop().time())
        self._active.moved(active, old)
        active.batch.moved(old.state, row.state)
        if old.state != row.state:
            if log.isEnabledFor(logging.DEBUG):
                words = f"{row.row}: {old.state} -> {row.state}"
                log.debug("%s", words, extra=active.facts())
            self._intake.note_room()

    def _settle(self, active: ActiveRow) -> None:
        """Let go of a row: it is done for this run, and what has yet to begin may be read."""
        row = active.row
        self.progress.settles(asyncio.get_running_loop().time(), row)
        if row.state in NEEDS_PERSON:
            # Thousands may be on hold for one budget; a bad row is for the person who wrote it.
            level = logging.WARNING if row.state in ("rejected", "failed") else logging.INFO
            words = "row %s is %s: %s"
            log.log(level, words, row.row, row.state, row.reason, extra=active.facts())
        self._spans.ends(row.id, active.facts)
        self._poll_plan.leave(row)
        if self._active.leave(active):
            self._cancellations.ends(row)
        active.batch.settled()
        self._intake.note_room()
