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
from tasks.engine.cancellations import Unwanted
from tasks.engine.context import Connections
from tasks.engine.engine import PATIENCE
from tasks.engine.lanes.baseline import Baseline
from tasks.engine.lanes.cancel import cancel
from tasks.engine.lanes.poll import watch
from tasks.engine.lanes.price import ask_price
from tasks.engine.lanes.submit import search, submit
from tasks.engine.lanes.submit_unkeyed import search_made, submit_once
from tasks.engine.policy.decide import decide
from tasks.engine.policy.decision import Lane, Memory, Rules, lane_of
from tasks.engine.policy.observations import FilmReady, NotStored, Resumed, Seen, Stored
from tasks.engine.poll_plan import Looks
from tasks.engine.record import record
from tasks.ledger import (
    UNDER_WAY,
    Campaign,
    CampaignRow,
    Delivered,
    Quoted,
    adopt_sheet,
    approve,
    close_gate,
    end_cancel,
    ensure_campaign,
    gate_of,
    move_row,
    record_quote,
    refuse,
    remark,
    rows_of,
)
from tasks.service import Gate, VideoService
from tests.model.plain_ledger import PlainLedger
from tests.model.service import SimulatedService
from tests.model.virtual_time import VirtualTime

ORGANISATION = "studio"


@dataclass(eq=False)
class Live:
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
    lives: dict[str, Live] = field(default_factory=dict)
    heard: list[tuple[CampaignRow, Memory, Seen]] = field(default_factory=list)
    #: How deliveries end, the next one first: "stored", "late", "trouble" or "never".
    deliveries: list[str] = field(default_factory=list)
    holds: str | None = None

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
        self._unwanted: Unwanted | None = None
        self._looks = Looks()
        settings = SimpleNamespace(deadline=self.rules.deadline, quotes=4)
        ledger = cast(Any, self.ledger)
        self.at = Connections(
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
        await self.ledger.write(
            partial(adopt_sheet, campaign_id=campaign.id, briefs=briefs, at=now)
        )
        wanted = {brief.row for brief in briefs if brief.enabled}
        for row in await self._rows(campaign):
            if row.row in wanted and row.state in ("planned", "quoted"):
                await self._quote(row)
        waiting = [row for row in await self._rows(campaign) if row.state == "quoted"]
        waiting = [row for row in waiting if row.enabled]
        await self.ledger.write(partial(self._approve, campaign=campaign, waiting=waiting))
        for row in await self._rows(campaign):
            if row.state == "approved" or row.state in UNDER_WAY:
                self.lives[row.row] = live = Live(row)
                self._unwanted_in(campaign.id).begins(row)
                await self.hear(live, Resumed())
        return campaign

    async def visit(self, live: Live) -> None:
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
        if lane in ("submit", "once") and live.row.state == "approved" and self.holds:
            change = partial(
                move_row, row=live.row, new="held", at=self.time.now, reason=self.holds
            )
            await self.ledger.write(change)
            self.lives.pop(live.row.row, None)
            return
        if lane == "submit":
            lane = lane_of(live.row, self.time.now, self.rules) or lane
        outcome = await self._look(lane, live)
        await self._remember_gate()
        if outcome is None:
            self.lives.pop(live.row.row, None)
            return
        live.row, seen = outcome
        await self.hear(live, seen)

    async def retake(self, campaign: Campaign, row: CampaignRow) -> None:
        """Have a person want another take of a row, at the price it has now."""
        found = await offers(self.at, campaign, [row])
        words = {"by": "Alice", "because": None, "budget": None}
        await approve_offers(self.at, campaign, found, **words)

    async def take_up(self, row: CampaignRow) -> None:
        """Take a row up as it was read at some time, and visit the lane it seems to be due in."""
        live = Live(row)
        self._unwanted_in(row.campaign_id).begins(row)
        await self.hear(live, Resumed())
        if live.lane is not None:
            await self.visit(live)

    async def hear(self, live: Live, seen: Seen) -> None:
        """Decide on news of a row, record it, and say where the row is due next."""
        now = self.time.now
        live.row = self._unwanted_in(live.row.campaign_id).marked(live.row, now)
        self.heard.append((live.row, live.memory, seen))
        if live.row.state in ("submitting", "rendering"):
            live.memory = self._looks.foresee(live.row, live.memory)
        decision = decide(live.row, live.memory, seen, now, self.rules)
        live.memory = decision.memory
        if isinstance(seen, FilmReady) and live.row.state == "rendering":
            self._looks.finish(live.row, live.memory, now)
        row = await record(cast(Any, self.ledger), live.row, seen, decision, now=now)
        self.holds = self.holds or decision.holds
        parked = decision.parks is not None and decision.parks - now > PATIENCE
        if row is None or decision.lane is None or parked:
            self.lives.pop(live.row.row, None)
            return
        live.row, live.lane, live.due = row, decision.lane, now + decision.after
        self._look_now_if_named(live)

    def hint(self, videos: Collection[str]) -> None:
        """Hear of videos that webhooks named, whosever they are."""
        self._looks.name(videos)
        for live in self.lives.values():
            self._look_now_if_named(live)

    def _look_now_if_named(self, live: Live) -> None:
        if live.lane == "watch" and self._looks.is_named(live.row):
            live.memory, live.due = self._looks.before_look(live.row, live.memory), self.time.now

    def _approve(
        self, connection: Connection, campaign: Campaign, waiting: list[CampaignRow]
    ) -> None:
        if waiting and end_cancel(connection, campaign):
            approve(connection, waiting, by="Alice", at=self.time.now)

    def _unwanted_in(self, campaign_id: int) -> Unwanted:
        if self._unwanted is None:
            self._unwanted = Unwanted(cast(Any, self.ledger), campaign_id)
        return self._unwanted

    async def _leave(self, live: Live) -> None:
        """Cancel a create that made nothing; rest one of which nobody knows."""
        row, now = live.row, self.time.now
        change: Any = partial(
            remark, campaign_id=row.campaign_id, row_id=row.id, state=row.state, words="not yet"
        )
        if not live.memory.doubt:
            change = partial(refuse, row=row, take=row.take, new="cancelled", reason="not made")
        await self.ledger.write(partial(change, at=now))
        self.lives.pop(row.row, None)

    async def _quote(self, row: CampaignRow) -> None:
        price, refusal = await ask_price(
            self.at.service, row.operation, row.asked(), row.max_credits
        )
        quoted = Quoted(row, price, refusal)
        await self.ledger.write(partial(record_quote, quoted=quoted, at=self.time.now))

    async def _rows(self, campaign: Campaign) -> list[CampaignRow]:
        return await self.ledger.read(partial(rows_of, campaign_id=campaign.id))

    async def _look(self, lane: Lane, live: Live) -> tuple[CampaignRow, Seen] | None:
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
                return live.row, self._delivered(live)

    def _delivered(self, live: Live) -> Seen:
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
        return Stored((*live.memory.files, *files), missing)

    async def _remember_gate(self) -> None:
        until = self._gate.closed_until
        if until is not None and until.timestamp() > self.time.now:
            change = partial(close_gate, organisation=ORGANISATION, until=until.timestamp())
            await self.ledger.write(change)
