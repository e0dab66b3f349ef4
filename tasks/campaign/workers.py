"""The workers of one run: it has them started, watches over them in the ledger, and sends nothing.

Stands where the engine stands in a run that processes its rows itself. How workers are started is
for anyone who has machines: here they are numbers, and what has become of them is asked for.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Collection, Coroutine
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple, Protocol

from sqlalchemy import Connection

from callsheet.tasks.campaign.run_record import this_run
from callsheet.tasks.campaign.worker import terms_of
from callsheet.tasks.engine.context import Context, organisation_of
from callsheet.tasks.engine.pages import Shard, Work
from callsheet.tasks.engine.progress import Progress, Snapshot
from callsheet.tasks.ledger.campaigns import Campaign, Tally, tally_of
from callsheet.tasks.ledger.distributed_runs import (
    Headway,
    Production,
    begin_production,
    end_production,
    find_production,
    headway_of,
    rely_on_hints,
    states_of_production,
    stop_production,
)
from callsheet.tasks.ledger.values import State
from callsheet.tasks.runtime.crash_points import crashpoint
from callsheet.tasks.runtime.errors import CallsheetError, ConfigurationError, LedgerError
from callsheet.tasks.runtime.known_settings import Settings

log = logging.getLogger("callsheet.run")

#: Workers of one campaign at most.
MOST = 100
#: Rows in a batch at most, and batches that a worker gets at least where there are enough rows.
BATCH, BATCHES = 200, 4
#: How often the ledger is asked how far the workers are, in seconds.
LOOK = 1.0
#: To count rows takes the longer, the more there are: it has so much of the time at most.
COUNTING = 1 / 20
#: How often the starter of workers is asked what has become of them, in seconds.
ASK = 10.0
#: How long workers may take to let go once they are told to, in seconds.
LET_GO = 30.0
#: Workers that are said to run and claim nothing for so long are gone, in seconds.
GONE = 60.0
#: How often in a row workers are started again that did nothing.
RESTARTS = 3
NO_WORKERS = "the workers stopped with unfinished rows: see their flow runs"


def check_workers(count: int, settings: Settings) -> None:
    """Raise ConfigurationError where a campaign cannot be processed by so many workers."""
    if not 1 <= count <= MOST:
        raise ConfigurationError(
            f"--workers takes a number from 1 to {MOST}, not {count}; nothing was spent"
        )
    if not settings.ledger.startswith("postgres"):
        raise ConfigurationError(
            "--workers needs a ledger that several machines can reach, and SQLite is a file on "
            "one; nothing was spent",
            remedy="set CALLSHEET_LEDGER to a PostgreSQL database "
            "(postgresql://user:password@host/database), or leave out --workers N",
        )


#: How far the workers are, and the campaign's figures.
_Counted = tuple[Headway, Tally]


class WorkersAtWork(NamedTuple):
    """How many workers wait for a machine, and how many are said to run."""

    waiting: int
    running: int


class WorkerStarter(Protocol):
    """Starts workers somewhere, and knows what has become of them."""

    async def start(self, production: str, number: int, turn: int) -> None:
        """Start a worker; asked again for the same one, it is not started twice."""

    async def at_work(self) -> WorkersAtWork | None:
        """Return how many workers there are; None where no one can tell now."""

    async def end(self) -> None:
        """End what has not begun; what runs ends by itself."""


class Workers:
    """The workers that process one campaign: `async with`, `start`, then wait for each by its
    shard.

    Between the two nothing is paid: whatever may keep a run from beginning is found out there.
    """

    def __init__(
        self,
        campaign: Campaign,
        at: Context,
        *,
        production_id: str,
        count: int,
        starter: WorkerStarter,
        work: Work,
        whole: bool,
        max_wait: float | None = None,
    ) -> None:
        #: Nothing of this process pays.
        self.paying: list[str] = []
        self.parked_because: str | None = None
        self.parked_until: datetime | None = None
        self.shards = [Shard(Work(), (), label=f"{count} workers")]
        self._campaign = campaign
        self._at = at
        self._id = production_id
        self._count = count
        self._starter = starter
        self._work = work
        #: Whether it is about all rows of the campaign that can be processed.
        self._whole = whole
        self._max_wait = max_wait
        self._production: Production | None = None
        self._headway = Headway(0, held=False, claimable=True)
        #: When rows are counted next, in seconds of the loop.
        self._count_at = 0.0
        self._over = asyncio.Event()
        self._is_started = self._stopped = self._ledger_away = False
        self._turn = self._restarts = self._done_by_then = 0
        self._idle_since = self._asked = asyncio.get_running_loop().time()
        self._fault: BaseException | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Workers:
        assert self._at.terms.owner is not None, "whoever has workers has the campaign"
        tally = await self._at.ledger.read(tally_of, campaign=self._campaign)
        started = asyncio.get_running_loop().time()
        price = self._at.settings.credit_price
        self.progress = Progress(self._campaign.name, tally, started=started, credit_price=price)
        if not self._work:
            self._over.set()
            return self
        numbers = None if self._whole else list(self._work.numbers)
        begin = partial(begin_production, production=self._planned(), numbers=numbers)
        self._production = await self._at.ledger.write(begin)
        crashpoint("workers: the production is begun")
        if self._max_wait is not None:
            words = "the time given with --max-wait is up"
            asyncio.get_running_loop().call_later(self._max_wait, self.stop, words)
        return self

    async def start(self) -> None:
        """Start the workers: from here on they pay. None is started where it is stopped already."""
        if self._production is None:
            return
        if self.parked_because is not None:
            self._over.set()
            return
        self._idle_since = self._asked = asyncio.get_running_loop().time()
        self._is_started = True
        try:
            await self._start()
        except BaseException:
            await self._write(partial(stop_production, production_id=self._id, because=NO_WORKERS))
            self._over.set()
            raise
        self._spawn(self._watch(), name="workers")

    async def __aexit__(self, *_: object) -> None:
        if self._production is None:
            return
        if self._is_started and not self._over.is_set():
            # Anyone who leaves in the middle takes the workers along.
            self.stop("their run has ended")
            try:
                async with asyncio.timeout(LET_GO):
                    await self._over.wait()
            except TimeoutError:
                log.warning("some workers have not released their rows: their leases will expire")
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._write(partial(end_production, production_id=self._id))
        await self._starter.end()

    async def process_shard(self, shard: Shard) -> Counter[State]:
        """Wait until nothing is left for any worker; return where the rows rest."""
        await self._over.wait()
        if self._fault is not None:
            raise self._fault
        if self._production is None:
            return Counter()
        return await self._at.ledger.read(states_of_production, production=self._production)

    def snapshot(self) -> Snapshot:
        """Return how far the run is."""
        now = asyncio.get_running_loop().time()
        return self.progress.snapshot(now, waits_for=self._waits_for())

    def stop(self, because: str) -> None:
        """Have the workers begin nothing more; what is under way is let finish."""
        self._stop(because, self._at.clock())

    def notify(self, videos: Collection[str]) -> None:
        """Workers are told of videos by themselves: what comes in is in the ledger."""

    def sweep(self) -> None:
        """Workers poll what webhooks have missed by themselves."""

    def rely_on_hints(self, rely: bool) -> None:
        """Tell the workers whether webhooks tell of videos."""
        if self._production is not None:
            change = partial(rely_on_hints, production_id=self._id, rely=rely)
            self._spawn(self._write(change), name="hints")

    def _stop(self, because: str, until: float | None) -> None:
        if self.parked_because is not None or self._production is None:
            return
        self.parked_because = because
        self.parked_until = None if until is None else datetime.fromtimestamp(until, UTC)
        stop = partial(stop_production, production_id=self._id, because=because, until=until)
        self._spawn(self._write(stop), name="stop")

    @property
    def _begun(self) -> Production:
        assert self._production is not None, "without one there is nothing to look after"
        return self._production

    def _planned(self) -> Production:
        assert self._at.terms.owner is not None, "whoever has workers has the campaign"
        return Production(
            id=self._id,
            campaign_id=self._campaign.id,
            campaign=self._campaign.name,
            owner=self._at.terms.owner,
            workers=self._count,
            batch_size=max(1, min(BATCH, len(self._work) // (self._count * BATCHES))),
            organisation=organisation_of(self._at.settings),
            store=self._at.store.address,
            terms=terms_of(self._at.terms, self._at.settings),
            run_id=this_run(),
        )

    async def _start(self) -> None:
        for number in range(1, self._count + 1):
            await self._starter.start(self._id, number, self._turn)

    async def _watch(self) -> None:
        """Follow the workers until nothing is left for them, or they have let go."""
        try:
            while not (await self._observe() and self._is_over()):
                await self._restart()
                await asyncio.sleep(LOOK)
        except Exception as error:
            self._fault = error
        finally:
            self._over.set()

    def _is_over(self) -> bool:
        if self._headway.held:
            return False
        return self._stopped or not self._headway.claimable

    async def _observe(self) -> bool:
        """Take the ledger's word on how far the workers are; one that is away is asked again."""
        production, campaign = self._begun, self._campaign
        asked = asyncio.get_running_loop().time()
        is_due = asked >= self._count_at

        def read(connection: Connection) -> tuple[Production | None, _Counted | None]:
            now = find_production(connection, production.id)
            if not is_due:
                return now, None
            return now, (headway_of(connection, production), tally_of(connection, campaign))

        try:
            now, counted = await self._at.ledger.read(read)
        except LedgerError as error:
            # Once is enough for anyone who reads it: it is asked again every second.
            level = logging.DEBUG if self._ledger_away else logging.WARNING
            log.log(level, "the ledger does not say how far the workers are: %s", error)
            self._ledger_away = True
            return False
        self._ledger_away = False
        if now is not None and now.stopped:
            self._stopped = True
            self._stop(now.stopped, now.stopped_until)
        if counted is not None:
            moment = asyncio.get_running_loop().time()
            self._count_at = asked + (moment - asked) / COUNTING
            self._headway, tally = counted
            self.progress.recount(tally, open=self._headway.open, now=moment)
        return is_due

    async def _restart(self) -> None:
        """Start workers again where rows are left and no one has any: all of them have ended."""
        now, done = asyncio.get_running_loop().time(), self.progress.done
        if self._headway.held or self.parked_because is not None:
            self._idle_since, self._asked = now, now
            return
        if now - self._asked < ASK:
            return
        self._asked = now
        found = await self._starter.at_work()
        if found is None or found.waiting or (found.running and now - self._idle_since < GONE):
            return
        self._restarts = 1 if done > self._done_by_then else self._restarts + 1
        self._done_by_then = done
        if self._restarts > RESTARTS:
            self._stop(NO_WORKERS, self._at.clock())
            return
        self._turn += 1
        self._idle_since = now
        try:
            await self._start()
        except CallsheetError as error:
            log.warning("workers could not be started anew: %s", error)

    def _waits_for(self) -> str | None:
        if self._production is None or self._over.is_set() or self._headway.held:
            return None
        return "no worker has claimed rows yet: is a Prefect worker of the work pool running?"

    async def _write(self, change: partial[None]) -> None:
        try:
            await self._at.ledger.write(change)
        except LedgerError as error:
            log.warning("workers could not be told: %s", error)

    def _spawn(self, what: Coroutine[Any, Any, None], *, name: str) -> None:
        task = asyncio.create_task(what, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
