"""One life of the program: lanes, `decide` and `record` on a ledger that outlives it.

Drives what `tasks.engine.engine` drives, a visit at a time and without tasks of its own, so
that a test chooses what happens when. Everything here is lost when the program dies.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

from sqlalchemy import Connection

from tasks.aftercare.retake import approve_offers, offers
from tasks.brief import Brief
from tasks.engine.cancellations import Cancellations
from tasks.engine.context import Context
from tasks.engine.lanes.baseline import Baseline
from tasks.engine.lanes.cancel import cancel
from tasks.engine.lanes.poll import poll
from tasks.engine.lanes.price import ask_price
from tasks.engine.lanes.submit import search, submit
from tasks.engine.lanes.submit_unkeyed import search_made, submit_unkeyed
from tasks.engine.policy.decide import decide
from tasks.engine.policy.decision import Lane, Memory, Rules, lane_of
from tasks.engine.policy.observations import FilesStored, FilmReady, NotStored, Observation, Resumed
from tasks.engine.poll_plan import PollPlan
from tasks.engine.record import record
from tasks.engine.stop import PAUSE_LIMIT
from tasks.ledger import (
    UNDER_WAY,
    Campaign,
    CampaignRow,
    Delivered,
    Quoted,
    approve,
    close_gate,
    end_cancel,
    ensure_campaign,
    gate_of,
    move,
    record_quote,
    refuse,
    remark,
    rows_of,
    sync_sheet,
)
from tasks.service import Gate, VideoService
from tests.model.plain_ledger import PlainLedger
from tests.model.service import SimulatedService
from tests.model.virtual_time import VirtualTime

ORGANISATION = "studio"


@dataclass(eq=False)
class Carried:
    """A row in this life of the program, and where it is due."""

    row: CampaignRow
    memory: Memory = field(default_factory=Memory)
    lane: Lane | None = None
    due: float = 0.0


@dataclass
class Program:
    """A process at work on one campaign."""

    ledger: PlainLedger
    service: SimulatedService
    time: VirtualTime
    rules: Rules
    lives: dict[str, Carried] = field(default_factory=dict)
    heard: list[tuple[CampaignRow, Memory, Observation]] = field(default_factory=list)
    #: How deliveries end, the next one first: "stored", "late", "trouble" or "never".
    deliveries: list[str] = field(default_factory=list)
    defers: str | None = None

    def __post_init__(self) -> None:
        time = self.time
        known = self.ledger.look(partial(gate_of, organisation=ORGANISATION)) or 0.0
        gate = Gate(clock=time.moment, sleep=time.sleep, random=lambda: 0.0)
        client = VideoService(
            base_url="http://service.test/api/v1",
            api_key="mav_model0test",
            transport=self.service,
            gate=gate,
            clock=time.moment,
            sleep=time.sleep,
            random=lambda: 0.0,
        )
        if known > time.now:
            gate.close(type(time)(known).moment())
        self._gate = gate
        self._cancellations: Cancellations | None = None
        self._poll_plan = PollPlan()
        settings = SimpleNamespace(deadline=self.rules.deadline, quotes=4)
        ledger = cast(Any, self.ledger)
        self.at = Context(
            settings=cast(Any, settings),
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
        change = partial(ensure_campaign, name="spring", sheet="s.csv", sheet_digest="d", at=now)
        campaign = await self.ledger.write(change)
        await self.ledger.write(partial(sync_sheet, campaign_id=campaign.id, briefs=briefs, at=now))
        wanted = {brief.row for brief in briefs if brief.enabled}
        for row in await self._rows(campaign):
            if row.row in wanted and row.state in ("planned", "quoted"):
                await self._quote(row)
        waiting = [row for row in await self._rows(campaign) if row.state == "quoted"]
        waiting = [row for row in waiting if row.enabled]
        await self.ledger.write(partial(self._approve, campaign=campaign, waiting=waiting))
        for row in await self._rows(campaign):
            if row.state == "approved" or row.state in UNDER_WAY:
                self.lives[row.row] = live = Carried(row)
                self._unwanted_in(campaign.id).begins(row)
                await self.hear(live, Resumed())
        return campaign

    async def visit(self, live: Carried) -> None:
        """Visit the lane a row is due in, when it is due, and carry out what is decided."""
        assert live.lane is not None
        self.time.now = max(self.time.now, live.due)
        lane, unwanted = live.lane, self._unwanted_in(live.row.campaign_id)
        await unwanted.refresh()
        if unwanted.is_over(live.row):
            self.lives.pop(live.row.row, None)
            return
        if lane == "submit" and unwanted.is_given_up(live.row):
            await self._leave(live)
            return
        if lane in ("submit", "submit_unkeyed") and live.row.state == "approved" and self.defers:
            change = partial(move, row=live.row, new="held", at=self.time.now, reason=self.defers)
            await self.ledger.write(change)
            self.lives.pop(live.row.row, None)
            return
        if lane == "submit":
            lane = lane_of(live.row, self.time.now, self.rules) or lane
        outcome = await self._run_lane(lane, live)
        await self._remember_gate()
        if outcome is None:
            self.lives.pop(live.row.row, None)
            return
        live.row, observation = outcome
        await self.hear(live, observation)

    async def retake(self, campaign: Campaign, row: CampaignRow) -> None:
        """Have a person want another take of a row, at the price it has now."""
        found = await offers(self.at, campaign, [row])
        words = {"by": "Alice", "because": None, "budget": None}
        await approve_offers(self.at, campaign, found, **words)

    async def take_up(self, row: CampaignRow) -> None:
        """Take a row up as it was read at some time, and visit the lane it seems to be due in."""
        live = Carried(row)
        self._unwanted_in(row.campaign_id).begins(row)
        await self.hear(live, Resumed())
        if live.lane is not None:
            await self.visit(live)

    async def hear(self, live: Carried, observation: Observation) -> None:
        """Decide on news of a row, record it, and say where the row is due next."""
        now = self.time.now
        live.row = self._unwanted_in(live.row.campaign_id).marked(live.row, now)
        self.heard.append((live.row, live.memory, observation))
        if live.row.state in ("submitting", "rendering"):
            live.memory = self._poll_plan.expect(live.row, live.memory)
        decision = decide(live.row, live.memory, observation, now, self.rules)
        live.memory = decision.memory
        if isinstance(observation, FilmReady) and live.row.state == "rendering":
            self._poll_plan.finish(live.row, live.memory, now)
        row = await record(cast(Any, self.ledger), live.row, observation, decision, now=now)
        self.defers = self.defers or decision.defers
        parked = decision.pauses is not None and decision.pauses - now > PAUSE_LIMIT
        if row is None or decision.lane is None or parked:
            self.lives.pop(live.row.row, None)
            return
        live.row, live.lane, live.due = row, decision.lane, now + decision.after
        self._look_now_if_named(live)

    def hint(self, videos: Collection[str]) -> None:
        """Hear of videos that webhooks named, whosever they are."""
        self._poll_plan.name(videos)
        for live in self.lives.values():
            self._look_now_if_named(live)

    def _look_now_if_named(self, live: Carried) -> None:
        if live.lane == "poll" and self._poll_plan.is_named(live.row):
            live.memory, live.due = (
                self._poll_plan.before_poll(live.row, live.memory),
                self.time.now,
            )

    def _approve(
        self, connection: Connection, campaign: Campaign, waiting: list[CampaignRow]
    ) -> None:
        if waiting and end_cancel(connection, campaign):
            approve(connection, waiting, by="Alice", at=self.time.now)

    def _unwanted_in(self, campaign_id: int) -> Cancellations:
        if self._cancellations is None:
            self._cancellations = Cancellations(cast(Any, self.ledger), campaign_id)
        return self._cancellations

    async def _leave(self, live: Carried) -> None:
        """Cancel a create that made nothing; rest one of which nobody knows."""
        row, now = live.row, self.time.now
        change: Any = partial(remark, row=row, words="not yet")
        if not live.memory.doubt:
            change = partial(refuse, row=row, take=row.take, new="cancelled", reason="not made")
        await self.ledger.write(partial(change, at=now))
        self.lives.pop(row.row, None)

    async def _quote(self, row: CampaignRow) -> None:
        quoted = Quoted(row, *await ask_price(self.at.service, row, clock=self.time.seconds))
        await self.ledger.write(partial(record_quote, quoted=quoted, at=self.time.now))

    async def _rows(self, campaign: Campaign) -> list[CampaignRow]:
        return await self.ledger.read(partial(rows_of, campaign_id=campaign.id))

    async def _run_lane(self, lane: Lane, live: Carried) -> tuple[CampaignRow, Observation] | None:
        match lane:
            case "submit":
                return await submit(live.row, self.at)
            case "submit_unkeyed":
                return await submit_unkeyed(live.row, self.at, lambda: True)
            case "search" if live.row.take is not None and not live.row.take.keyed:
                return await search_made(live.row, self.at)
            case "search":
                return await search(live.row, self.at)
            case "poll":
                return live.row, await poll(live.row, live.memory, self.at)
            case "cancel":
                return live.row, await cancel(live.row, self.at)
            case "deliver":
                return live.row, self._delivered(live)

    def _delivered(self, live: Carried) -> Observation:
        """Bring a film home, or not: stores and downloads have tests of their own."""
        ends = self.deliveries.pop(0) if self.deliveries else "stored"
        if ends in ("trouble", "never"):
            return NotStored("the store is away", permanent=ends == "never")
        have = {file.kind for file in live.memory.files}
        late = live.row.captions if ends == "late" else ()
        kinds = [k for k in ("mp4", *live.row.captions) if k not in have and k not in late]
        take = live.row.take
        assert take is not None
        files = [
            Delivered(kind=k, uri=f"file:///{take.id}.{k}", sha256="a" * 64, bytes=9) for k in kinds
        ]
        missing = tuple(k for k in late if k not in have)
        return FilesStored((*live.memory.files, *files), missing)

    async def _remember_gate(self) -> None:
        until = self._gate.closed_until
        if until is not None and until.timestamp() > self.time.now:
            change = partial(close_gate, organisation=ORGANISATION, until=until.timestamp())
            await self.ledger.write(change)
