"""One life of the program: the engine itself, stepped a visit at a time on a virtual clock.

The ledger outlives it, and everything else here is lost when it dies. Which row is visited next,
and when, is for a test to choose.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Collection
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

from sqlalchemy import Connection

from callsheet.tasks.aftercare.retake import RETAKE
from callsheet.tasks.campaign.approve import approve as approve_plan
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.propose import propose
from callsheet.tasks.engine.active_rows import LANES, ActiveRow, Scheduler, compact
from callsheet.tasks.engine.context import Context
from callsheet.tasks.engine.engine import Engine
from callsheet.tasks.engine.evidence import Baseline
from callsheet.tasks.engine.free_calls import ask_price
from callsheet.tasks.engine.pages import Work
from callsheet.tasks.engine.policy.decision import (
    FilesStored,
    Lane,
    Memory,
    NotStored,
    Observation,
    Rules,
)
from callsheet.tasks.ledger.campaigns import Campaign, ensure_campaign
from callsheet.tasks.ledger.cancel_requests import end_cancel
from callsheet.tasks.ledger.deliveries import Delivered
from callsheet.tasks.ledger.quotes import Quoted, approve, record_quote
from callsheet.tasks.ledger.row_selection import rows_to_process
from callsheet.tasks.ledger.service_state import close_gate, gate_of
from callsheet.tasks.ledger.sync import sync_sheet
from callsheet.tasks.ledger.values import CampaignRow, rows_of
from callsheet.tasks.runtime.errors import CallsheetError
from callsheet.tasks.runtime.settings import load_settings
from callsheet.tasks.service import Gate, VideoService
from callsheet.tasks.values.briefs import Brief
from tests.lent import lent
from tests.model.plain_ledger import PlainLedger
from tests.model.service import SimulatedService
from tests.model.virtual_time import Died, Fuse, VirtualTime

ORGANISATION = "studio"
#: One worker a lane: visits go one after the other.
SETTINGS = load_settings(environ={}).model_copy(update={"at_once": 1})
#: One row is read at a time, and one at most waits to begin.
PAGE = 1
#: So many turns of the loop let whoever is due come by.
TURNS = 6


@dataclass
class Due:
    """A row that waits for its turn in a lane, from a moment on."""

    at: float
    lane: Lane
    active: ActiveRow


class SteppedScheduler(Scheduler):
    """Hands a row out when it is told to, whatever the hour."""

    def __init__(self, time: VirtualTime) -> None:
        super().__init__()
        self.due: list[Due] = []
        #: How many workers wait for a row.
        self.waiting = 0
        self._time = time

    def put(self, lane: Lane, after: float, what: ActiveRow) -> None:
        self.due.append(Due(self._time.now + max(0.0, after), lane, what))
        self.due.sort(key=lambda due: due.at)

    def take(self, what: ActiveRow) -> bool:
        there = [due for due in self.due if due.active is what]
        self.due = [due for due in self.due if due.active is not what]
        return bool(there)

    def hand_out(self, due: Due) -> None:
        """Give a row to its lane, if it is still there."""
        if due in self.due:
            self.due.remove(due)
            super().put(due.lane, 0.0, due.active)

    async def next(self, lane: Lane) -> ActiveRow:
        self.waiting += 1
        active = await super().next(lane)
        self.waiting -= 1
        return active


class HeardEngine(Engine):
    """The engine, which remembers what it observed."""

    heard: list[tuple[CampaignRow, Memory, Observation]]

    @property
    def reads(self) -> bool:
        """Whether it is about to read a page."""
        return self._intake._room.is_set()

    async def observe(self, active: ActiveRow, observation: Observation) -> None:
        self.heard.append((active.row, active.memory, observation))
        await super().observe(active, observation)


@dataclass
class Program:
    """A process at work on one campaign; `beside` another one it has the same gate."""

    ledger: PlainLedger
    service: SimulatedService
    time: VirtualTime
    rules: Rules
    fuse: Fuse
    beside: Program | None = None
    heard: list[tuple[CampaignRow, Memory, Observation]] = field(default_factory=list)
    #: How deliveries end, the next one first: "stored", "late", "trouble" or "never".
    deliveries: list[str] = field(default_factory=list)
    engine: HeardEngine | None = None

    def __post_init__(self) -> None:
        time = self.time
        self.scheduler = SteppedScheduler(time)
        self._tasks: set[asyncio.Task[Any]] = set()
        if self.beside is not None:
            self._gate, self.at = self.beside._gate, self.beside.at
            return
        known = self.ledger.look(partial(gate_of, organisation=ORGANISATION)) or 0.0
        gate = Gate(clock=time.moment, sleep=time.sleep, random=lambda: 0.0)
        client = VideoService(
            base_url="http://service.test/api/v1",
            api_key="mav_model0test",
            connections=lent(self.service),
            gate=gate,
            clock=time.moment,
            sleep=time.sleep,
            random=lambda: 0.0,
        )
        if known > time.now:
            gate.close(type(time)(known).moment())
        self._gate = gate
        ledger = cast(Any, self.ledger)
        rules = self.rules
        self.at = Context(
            settings=SETTINGS.model_copy(
                update={
                    "horizon": rules.horizon,
                    "deadline": rules.deadline,
                    "captions_wait": rules.captions_wait,
                    "evidence_wait": rules.evidence_wait,
                    "clip_keys": rules.clip_keys,
                }
            ),
            ledger=ledger,
            service=client,
            store=cast(Any, None),
            fetcher=cast(Any, None),
            baseline=Baseline(ledger, client, ORGANISATION),
            clock=time.seconds,
        )

    async def run(self, briefs: list[Brief]) -> Campaign:
        """Adopt a sheet, quote what is new, approve it, and take up all there is to carry."""
        now = self.time.now
        campaign = await self.ledger.write(
            ensure_campaign, name="spring", sheet="s.csv", sheet_digest="d", at=now
        )
        await self.ledger.write(sync_sheet, campaign_id=campaign.id, briefs=briefs, at=now)
        wanted = {brief.row for brief in briefs if brief.enabled}
        for row in await self._rows(campaign):
            if row.row in wanted and row.state in ("planned", "quoted", "held"):
                await self._quote(row)
        waiting = [row for row in await self._rows(campaign) if row.state == "quoted"]
        waiting = [row for row in waiting if row.enabled]
        await self.ledger.write(self._approve, campaign=campaign, waiting=waiting)
        work = await self.ledger.read(_work_of, campaign=campaign)
        engine = await self._begin(campaign)
        await self._have_carried(*map(engine.process_shard, work.shards()))
        return campaign

    async def process(self, campaign: Campaign, rows: list[CampaignRow]) -> None:
        """Start an engine and have it take rows up as they are, whatever the ledger has by now."""
        engine = await self._begin(campaign)
        await self._have_carried(engine.process(rows))

    async def _begin(self, campaign: Campaign) -> Engine:
        self.engine = HeardEngine(
            campaign,
            self.at,
            spread=lambda: 0.0,
            scheduler=self.scheduler,
            deliver=self._deliver,
            page=PAGE,
        )
        self.engine.heard = self.heard
        self._before = asyncio.all_tasks()
        await self.engine.__aenter__()
        self.engine.rely_on_hints(self.rules.hinted)
        return self.engine

    async def _have_carried(self, *shards: Awaitable[object]) -> None:
        async def process() -> None:
            await asyncio.gather(*shards)

        self._carrying = asyncio.create_task(process())
        # Every shard is a task of its own by then.
        await asyncio.sleep(0)
        self._tasks = asyncio.all_tasks() - self._before
        await self._turn()

    async def visit(self, pick: int) -> None:
        """Let time pass until one of the rows is due, and have its lane visited."""
        due = self.scheduler.due[pick % len(self.scheduler.due)]
        self.time.now = max(self.time.now, due.at)
        # Whoever else has waited for this moment goes first.
        await self._turn()
        self.scheduler.hand_out(due)
        await self._turn()

    async def kill(self) -> None:
        """End it as SIGKILL does: nothing is written any more."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks, self.scheduler.due = set(), []

    async def retake(self, campaign: Campaign, row: CampaignRow) -> None:
        """Have a person want another take of a row, at the price it has now."""
        ask = RunOptions(campaign=campaign.name, rows=(row.row,), even_kept=True)
        service = partial(nullcontext, self.at.service)
        proposing = partial(propose, RETAKE, ask, self.ledger, service, clock=self.at.clock)
        plan = await proposing(settings=self.at.settings)
        if plan.spending:
            change = partial(approve_plan, plan=plan, verb=RETAKE, by="approved by Alice")
            await self.ledger.write(change, at=self.at.clock())

    async def hear_again(self, row: CampaignRow, memory: Memory, observation: Observation) -> None:
        """Hear once more of a take, as it was at some time."""
        assert self.engine is not None
        waiting = [due.active for due in self.scheduler.due if _same_take(due.active.row, row)]
        if waiting:
            self.scheduler.take(waiting[0])
            if waiting[0].row == compact(row):
                # News of a create comes to a row that is whole, as it was sent.
                waiting[0].row = row
            await self.engine.observe(waiting[0], observation)
        else:
            # Whoever heard of it then is not there any more.
            late = ActiveRow(row, memory=memory)
            await self.engine.observe(late, observation)
            self.scheduler.take(late)
        await self._turn()

    def hint(self, videos: Collection[str]) -> None:
        """Hear of videos that webhooks named, whosever they are."""
        if self.engine is not None:
            self.engine.notify(videos)

    def rely_on_hints(self, rely: bool) -> None:
        """Hear that webhooks come, or come no more."""
        if self.engine is not None:
            self.engine.rely_on_hints(rely)

    async def _turn(self) -> None:
        """Let the loop turn until all workers wait again; raise what broke the engine."""
        assert self.engine is not None
        turns = 0
        while turns < TURNS or self.scheduler.waiting < len(LANES) or self.engine.reads:
            await asyncio.sleep(0)
            turns += 1
            if self.fuse.blown:
                raise Died
            assert turns < 10_000, "a visit does not end"
        await self._remember_gate()
        if self._carrying.done():
            self.scheduler.due = []
            error = self._carrying.exception()
            if error is not None and not isinstance(error, CallsheetError):
                raise error

    def _approve(
        self, connection: Connection, campaign: Campaign, waiting: list[CampaignRow]
    ) -> None:
        if waiting and end_cancel(connection, campaign):
            approve(connection, waiting, by="Alice", at=self.time.now)

    async def _quote(self, row: CampaignRow) -> None:
        quoted = Quoted(row, *(await ask_price(self.at.service, row))[:2])
        await self.ledger.write(record_quote, quoted=quoted, at=self.time.now)

    async def _rows(self, campaign: Campaign) -> list[CampaignRow]:
        return await self.ledger.read(rows_of, campaign_id=campaign.id)

    async def _deliver(
        self, row: CampaignRow, memory: Memory, address: str | None, at: Context
    ) -> Observation:
        """Bring a video home, or not: stores and downloads have tests of their own."""
        ends = self.deliveries.pop(0) if self.deliveries else "stored"
        if ends in ("trouble", "never"):
            return NotStored("the store is away", permanent=ends == "never")
        have = {file.kind for file in memory.files}
        late = row.captions if ends == "late" else ()
        kinds = [k for k in ("mp4", *row.captions) if k not in have and k not in late]
        take = row.take
        assert take is not None
        files = [
            Delivered(kind=k, uri=f"file:///{take.id}.{k}", sha256="a" * 64, bytes=9) for k in kinds
        ]
        missing = tuple(k for k in late if k not in have)
        return FilesStored((*memory.files, *files), missing)

    async def _remember_gate(self) -> None:
        until = self._gate.closed_until
        if until is not None and until.timestamp() > self.time.now:
            await self.ledger.write(close_gate, organisation=ORGANISATION, until=until.timestamp())


def _work_of(connection: Connection, campaign: Campaign) -> Work:
    return Work(rows_to_process(connection, campaign.id))


def _same_take(one: CampaignRow, other: CampaignRow) -> bool:
    """Whether two rows have the same take, whether or not its body is in memory."""
    takes = [r.take and replace(r.take, body=b"", key_in_body=None) for r in (one, other)]
    return takes[0] == takes[1]
