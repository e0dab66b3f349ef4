"""The engine: moves rows along the pipeline, several at a time, until each rests.

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

from tasks.engine.cancellations import Unwanted, drop, leave
from tasks.engine.context import Connections
from tasks.engine.lanes.cancel import cancel
from tasks.engine.lanes.deliver import deliver
from tasks.engine.lanes.poll import watch
from tasks.engine.lanes.price import fresh_price
from tasks.engine.lanes.submit import search, submit
from tasks.engine.lanes.submit_unkeyed import search_made, submit_once
from tasks.engine.policy.decide import decide
from tasks.engine.policy.decision import Decision, Lane, Memory, Rules, lane_of, unwanted
from tasks.engine.policy.observations import FilmReady, Resumed, Seen, Troubled, Unreached
from tasks.engine.policy.renders import wait_to_look
from tasks.engine.poll_plan import Looks
from tasks.engine.progress import Progress, Snapshot
from tasks.engine.record import record
from tasks.engine.scheduler import Schedule
from tasks.errors import CallsheetError, LedgerError, Parked
from tasks.ledger import (
    Campaign,
    CampaignRow,
    State,
    lengths_of,
    move_row,
    rows_of,
    tally_of,
)

log = logging.getLogger("callsheet.production")

#: A gate that stays closed for longer than this parks the run instead of holding it, in seconds.
PATIENCE = 900.0
#: A service that nobody reached for this long parks the run, in seconds.
SILENCE = 120.0
#: How long calls under way may take to end when the run is stopped, in seconds.
GRACE = 5.0
#: How often the ledger is asked what is to be cancelled, in seconds.
HEED = 1.0


@dataclass(eq=False, slots=True)
class Batch:
    """Rows that somebody waits for together."""

    left: int = 0
    over: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(eq=False, slots=True)
class Live:
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
        at: Connections,
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
        self._schedule: Schedule[Live] = Schedule()
        self._holds: str | None = None
        self._stopping = asyncio.Event()
        self._batches: list[Batch] = []
        self._idle = asyncio.Event()
        self._workers: list[asyncio.Task[None]] = []
        self._fault: BaseException | None = None
        self._silent_since: float | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._busy = 0
        self._unwanted = Unwanted(at.ledger, campaign.id)
        self._looks = Looks()

    async def __aenter__(self) -> Engine:
        tally = await self.at.ledger.read(partial(tally_of, campaign=self.campaign))
        self._looks.recall(
            await self.at.ledger.read(partial(lengths_of, campaign_id=self.campaign.id))
        )
        self._started = asyncio.get_running_loop().time()
        self.progress = Progress(self.campaign.name, tally, started=self._started)
        settings = self.at.settings
        counts: dict[Lane, int] = {
            "submit": settings.submits,
            # A call without a key goes alone, or nobody could tell what a lost answer left behind.
            "once": 1,
            "search": 1,
            "watch": settings.watches,
            "cancel": settings.submits,
            "deliver": settings.deliveries,
        }
        self._workers = [
            asyncio.create_task(self._work(lane), name=f"{lane}-{n}")
            for lane, count in counts.items()
            for n in range(count)
        ]
        self._workers.append(asyncio.create_task(self._schedule.run(), name="schedule"))
        self._workers.append(asyncio.create_task(self._heed(), name="heed"))
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
        """Carry rows until each rests, or the run is stopped; return how many are where.

        Raises what broke the engine itself: a ledger that cannot be written, for one.
        """
        batch = Batch()
        lives = [Live(row, batch) for row in rows]
        batch.left = len(lives)
        self._batches.append(batch)
        self.progress.begins(len(lives))
        for live in lives:
            self._unwanted.begins(live.row)
            await self._next(live, Resumed())
        if lives and not self._stopping.is_set():
            await batch.over.wait()
        if self._fault is not None:
            raise self._broken_off(self._fault)
        return Counter(live.row.state for live in lives)

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
        """Look now at the renders that a webhook named; nothing else of it is believed."""
        self._looks.name(videos)
        for live in self._schedule.pull(lambda live: self._looks.is_named(live.row)):
            self._look_now(live)

    def sweep(self) -> None:
        """Look now at every render under way: webhooks may have been missed."""
        for live in self._schedule.pull(lambda live: _is_watched(live.row)):
            self._schedule.put("watch", 0.0, live)

    def rely_on_hints(self, rely: bool) -> None:
        """Have looks be a safety net for webhooks, or the only way to find films.

        What was finished before there was a webhook, nobody will tell of: a last look shows it.
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
            live = await self._schedule.next(lane)
            if self._stopping.is_set():
                continue
            self._busy += 1
            try:
                await self._visit(lane, live)
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

    async def _visit(self, lane: Lane, live: Live) -> None:
        if lane in ("submit", "once") and live.row.state == "approved" and self._holds:
            await self._hold(live, self._holds)
            return
        if lane == "submit" and self._unwanted.is_given_up(live.row):
            await self._leave(live)
            return
        if lane == "submit":
            # It may have waited in the queue until its key is no longer known to be remembered.
            lane = lane_of(live.row, self.at.clock(), self._rules) or lane
        outcome = await self._look(lane, live)
        if outcome is None:
            await self._reload(live)
            return
        row, seen = outcome
        self._replace(live, row)
        self._hear(seen)
        await self._next(live, seen)

    async def _look(self, lane: Lane, live: Live) -> tuple[CampaignRow, Seen] | None:
        if lane in ("submit", "once") and live.row.state == "approved":
            # It may have waited for so long that it is not sold at this price any more.
            priced = await fresh_price(live.row, self.at)
            if not isinstance(priced, CampaignRow):
                return None if priced is None else (live.row, priced)
            live.row = priced
        match lane:
            case "submit":
                return await submit(live.row, self.at)
            case "once":
                return await submit_once(live.row, self.at)
            case "search" if live.row.take is not None and not live.row.take.keyed:
                return await search_made(live.row, self.at)
            case "search":
                return await search(live.row, self.at)
            case "watch":
                return live.row, await watch(live.row, live.memory, self.at)
            case "cancel":
                return live.row, await cancel(live.row, self.at)
            case "deliver":
                address, live.address = live.address, None
                return live.row, await deliver(live.row, live.memory, address, self.at)

    async def _next(self, live: Live, seen: Seen) -> None:
        """Decide, record, and say where the row goes."""
        now = self.at.clock()
        live.row = self._unwanted.marked(live.row, now)
        if live.row.state in ("submitting", "rendering"):
            live.memory = self._looks.foresee(live.row, live.memory)
        decision = decide(live.row, live.memory, seen, now, self._rules)
        live.memory = decision.memory
        if isinstance(seen, FilmReady):
            live.address = seen.address
            if live.row.state == "rendering" and self._looks.finish(live.row, live.memory, now):
                self._replan()
        row = await record(self.at.ledger, live.row, seen, decision, now=now)
        if row is None:
            await self._reload(live)
            return
        self._replace(live, row)
        self._obey(decision, now)
        if decision.lane is None:
            self._looks.leave(live.row)
            self._rest(live)
        elif decision.lane == "watch" and self._looks.is_named(live.row):
            self._look_now(live)
        else:
            self._schedule.put(decision.lane, self._spaced(decision.after), live)

    def _look_now(self, live: Live) -> None:
        live.memory = self._looks.before_look(live.row, live.memory)
        self._schedule.put("watch", 0.0, live)

    def _replan(self) -> None:
        """Plan the looks at renders under way anew: what is known of them has changed."""
        now = self.at.clock()
        for live in self._schedule.pull(
            lambda live: _is_watched(live.row) and not live.memory.hint
        ):
            live.memory = self._looks.foresee(live.row, live.memory)
            wait = wait_to_look(live.row, live.memory, now, self._rules)
            self._schedule.put("watch", self._spaced(wait), live)

    def _obey(self, decision: Decision, now: float) -> None:
        """Do what a decision asks of the whole run."""
        if decision.holds and not self._holds:
            self._holds = decision.holds
        if decision.parks is not None and decision.parks - now > self._patience():
            until = datetime.fromtimestamp(decision.parks, UTC)
            self.stop("the service asks not to be called before then", until=until)

    def _patience(self) -> float:
        if self._max_wait is None:
            return PATIENCE
        spent = asyncio.get_running_loop().time() - self._started
        return min(PATIENCE, max(0.0, self._max_wait - spent))

    def _spaced(self, after: float) -> float:
        """Add up to a tenth, never less than told, so that rows do not wake together."""
        return after * (1 + 0.1 * self._spread())

    def _hear(self, seen: Seen) -> None:
        """Notice whether the service is there at all: count from the first call that failed."""
        now = asyncio.get_running_loop().time()
        if not isinstance(seen, Unreached | Troubled):
            self._silent_since = None
        elif self._silent_since is None:
            self._silent_since = now
        elif now - self._silent_since > SILENCE:
            later = datetime.fromtimestamp(self.at.clock() + 300, UTC)
            self.stop(
                f"the service has not answered for {SILENCE:.0f} s ({seen.words})", until=later
            )

    async def _hold(self, live: Live, reason: str) -> None:
        row, now = live.row, self.at.clock()
        change = partial(move_row, row=row, new="held", at=now, reason=reason)
        if not await self.at.ledger.write(change):
            await self._reload(live)
            return
        self._replace(live, replace(row, state="held", since=now, reason=reason))
        self._rest(live)

    async def _heed(self) -> None:
        """Obey requests to cancel: they come from any process, by way of the ledger."""
        while True:
            await asyncio.sleep(HEED)
            try:
                await self._unwanted.refresh()
            except LedgerError as error:
                # A ledger that is busy now is asked again.
                log.warning("the ledger did not say what is to be cancelled: %s", error)
                continue
            try:
                for live in self._schedule.pull(lambda live: self._unwanted.is_touched(live.row)):
                    await self._touch(live)
            except Exception as error:
                self._break_off(error)

    async def _touch(self, live: Live) -> None:
        if self._unwanted.is_over(live.row):
            await self._reload(live)
        elif self._unwanted.is_given_up(live.row):
            await self._leave(live)
        else:
            await self._next(live, Resumed())

    async def _leave(self, live: Live) -> None:
        """Cancel a create that made nothing; rest one of which nobody knows: the next run asks."""
        change = leave if live.memory.doubt else drop
        await self.at.ledger.write(partial(change, row=live.row, at=self.at.clock()))
        await self._reload(live)

    async def _reload(self, live: Live) -> None:
        """Somebody else moved the row, or the budget held it: take the ledger's word."""
        query = partial(rows_of, campaign_id=live.row.campaign_id, row=live.row.row)
        for row in await self.at.ledger.read(query):
            self._replace(live, row)
        self._rest(live)

    def _replace(self, live: Live, row: CampaignRow) -> None:
        self.progress.moved(live.row, row)
        if live.row.state != row.state:
            log.debug("%s: %s -> %s", row.row, live.row.state, row.state)
        live.row = row

    def _rest(self, live: Live) -> None:
        self.progress.rests(asyncio.get_running_loop().time())
        live.batch.left -= 1
        if not live.batch.left:
            live.batch.over.set()


def _is_watched(row: CampaignRow) -> bool:
    """Whether a row that waits, waits for a look at its render."""
    return row.state == "rendering" and not unwanted(row)
