"""Campaigns in a ledger, for tests: briefs, rows on their way, and the account checked."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial, wraps
from typing import Any

from sqlalchemy import Connection, func, select

from callsheet.tasks.ledger.campaigns import Campaign, ensure_campaign, find_campaign, set_budget
from callsheet.tasks.ledger.deliveries import Delivered, deliver
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.moves import move
from callsheet.tasks.ledger.quotes import Quoted, approve, record_quote
from callsheet.tasks.ledger.row_history import ShownEvent, whole_row
from callsheet.tasks.ledger.row_views import ShownRow
from callsheet.tasks.ledger.schema import campaigns, rows, takes
from callsheet.tasks.ledger.sync import sync_sheet
from callsheet.tasks.ledger.takes import accept, open_take, refuse, settle
from callsheet.tasks.ledger.values import CampaignRow, State, Take, rows_of
from callsheet.tasks.values.briefs import Brief, frozen_body

NOW = 1_000.0
T0 = 1_000_000.0
CAMPAIGN = Campaign(
    id=1,
    name="spring",
    sheet="spring.csv",
    sheet_digest=None,
    budget=None,
    reserved=Decimal(0),
    charged=Decimal(0),
    created_at=NOW,
    cancel_requested_at=None,
)
VIDEO = Delivered(kind="mp4", uri="file:///video.mp4", sha256="a" * 64, bytes=9, seconds=2.0)


def brief(row: str = "a", topic: str = "Tea", **own: Any) -> Brief:
    """A brief for one row; two with the same topic want the same video."""
    return Brief(row=row, request={"topic": topic, "aspect_ratio": "9:16"}, **own)


def key_of(row: CampaignRow) -> str:
    """The key that a row's next take has."""
    return row.key()


@dataclass
class Stage:
    """One campaign in an open ledger, and the steps of its rows."""

    ledger: Ledger
    campaign: Campaign

    @classmethod
    async def set(
        cls,
        ledger: Ledger,
        *briefs: Brief,
        name: str = "spring",
        budget: int | None = None,
        sandbox: bool = False,
    ) -> Stage:
        made = partial(ensure_campaign, sheet="s.csv", sheet_digest="d", sandbox=sandbox)
        stage = cls(ledger, await ledger.write(made, name=name, at=NOW))
        if budget is not None:
            await stage.write(set_budget, campaign=stage.campaign, budget=Decimal(budget), at=NOW)
        await stage.sync(*briefs)
        return stage

    async def write(self, change: Any, *args: Any, **named: Any) -> Any:
        # With its mark: it gathers here as it does in a run.
        @wraps(change)
        def carried(connection: Connection) -> Any:
            return change(connection, *args, **named)

        return await self.ledger.write(carried)

    async def sync(self, *briefs: Brief, at: float = NOW, skipped: Collection[str] = ()) -> None:
        await self.write(sync_sheet, self.campaign.id, briefs, at=at, skipped=skipped)

    async def row(self, row: str = "a") -> CampaignRow:
        return (await self.ledger.read(rows_of, campaign_id=self.campaign.id, row=row))[0]

    async def rows(self) -> list[CampaignRow]:
        return await self.ledger.read(rows_of, campaign_id=self.campaign.id)

    async def events(self, row: str = "a") -> Sequence[ShownEvent]:
        whole = await self.ledger.read(whole_row, campaign_id=self.campaign.id, row=row)
        return whole.events

    async def account(self) -> Campaign:
        found = await self.ledger.read(find_campaign, name=self.campaign.name)
        assert found is not None
        return found

    async def quote(self, row: str = "a", amount: int | str | None = 12) -> CampaignRow:
        price = None if amount is None else Decimal(amount)
        await self.write(record_quote, Quoted(await self.row(row), price), at=NOW)
        return await self.row(row)

    async def approve(
        self, row: str = "a", amount: int | str | None = 12, *, at: float = NOW
    ) -> CampaignRow:
        quoted = await self.quote(row, amount)
        if quoted.state == "quoted":
            await self.write(approve, [quoted], by="Alice", at=at)
        return await self.row(row)

    async def open(self, row: CampaignRow, at: float = NOW) -> Take | None:
        key = key_of(row)
        body = frozen_body(row.asked(), key=key)
        took: Take | None = await self.write(open_take, row, key=key, body=body, at=at)
        return took

    async def submitting(self, row: str = "a", amount: int | str | None = 12) -> CampaignRow:
        await self.open(await self.approve(row, amount))
        return await self.row(row)

    async def rendering(self, row: str = "a", amount: int | str | None = 12) -> CampaignRow:
        sent = await self.submitting(row, amount)
        await self.write(accept, sent, sent.take, video_id=f"vid_{row}", at=NOW)
        return await self.row(row)

    async def ready(self, row: str = "a", charged: int | None = None) -> CampaignRow:
        rendered = await self.rendering(row)
        cost = None if charged is None else Decimal(charged)
        await self.write(settle, rendered, rendered.take, new="ready", charged=cost, at=NOW)
        return await self.row(row)

    async def delivered(self, row: str = "a") -> CampaignRow:
        ready = await self.ready(row)
        await self.write(deliver, ready, ready.take, files=[VIDEO], at=NOW)
        return await self.row(row)

    async def refused(self, row: str = "a", new: State = "rejected") -> CampaignRow:
        sent = await self.submitting(row)
        await self.write(refuse, sent, sent.take, new=new, reason="no", at=NOW)
        return await self.row(row)

    async def failed(self, row: str = "a") -> CampaignRow:
        rendered = await self.rendering(row)
        await self.write(settle, rendered, rendered.take, new="failed", charged=None, at=NOW)
        return await self.row(row)

    async def moved(self, row: CampaignRow, new: State, reason: str | None = None) -> bool:
        done: bool = await self.write(move, row, new, at=NOW, reason=reason)
        return done

    async def in_state(self, state: State, row: str = "a") -> CampaignRow:
        """Bring a planned row to a state, on a road that it can really take."""
        match state:
            case "planned":
                pass
            case "quoted":
                await self.quote(row)
            case "approved":
                await self.approve(row)
            case "submitting":
                await self.submitting(row)
            case "rendering":
                await self.rendering(row)
            case "ready":
                await self.ready(row)
            case "delivered":
                await self.delivered(row)
            case "rejected":
                await self.refused(row)
            case "failed":
                await self.failed(row)
            case "held":
                await self.refused(row, "held")
            case "stalled":
                await self.moved(await self.rendering(row), "stalled", "no video")
            case "uncertain":
                await self.moved(await self.submitting(row), "uncertain", "lost")
            case "cancelled":
                await self.moved(await self.row(row), "cancelled", "by Alice")
            case "retired":
                await self.moved(await self.row(row), "retired")
        found = await self.row(row)
        assert found.state == state
        return found


def a_shown_row(**own: Any) -> ShownRow:
    """A row as it is shown, of which nothing is known but what is given."""
    none = ("take", "flagged", "reserved_micro", "paid_before_micro", "variance_micro")
    return ShownRow(**dict.fromkeys(ShownRow._fields) | dict.fromkeys(none, 0) | own)


def a_row(
    state: State,
    *,
    intended: float = T0,
    accepted: float | None = None,
    operation: str = "create",
) -> CampaignRow:
    """A row of a state, with one take, that is in no ledger; only a create's body has its key."""
    take = Take(
        id=1,
        number=1,
        nth=1,
        key="cs1_k",
        digest="d",
        body=b'{"idempotency_key":"cs1_k"}' if operation == "create" else b"{}",
        quoted=Decimal(12),
        reserved=Decimal(12),
        charged=None,
        video_id="vid_1",
        intended_at=intended,
        accepted_at=T0 if accepted is None else accepted,
        refused_at=None,
        ready_at=T0,
        delivered_at=None,
    )
    return CampaignRow(
        id=1,
        campaign_id=1,
        campaign="spring",
        row="a",
        position=1,
        line=1,
        state=state,
        since=T0,
        reason=None,
        operation=operation,
        request=json.dumps({"topic": "Tea"}),
        digest="d",
        nth=1,
        captions=("srt", "vtt"),
        enabled=True,
        priority=0,
        max_credits=None,
        tags=(),
        cost_center=None,
        notes=None,
        quoted=Decimal(12),
        quoted_at=T0,
        take=take,
    )


def sums(connection: Connection, campaign_id: int) -> tuple[int, int, int, int]:
    """The account of a campaign and the sums over its takes: reserved, charged, twice."""
    account = connection.execute(
        select(campaigns.c.reserved, campaigns.c.charged).where(campaigns.c.id == campaign_id)
    ).one()
    total = connection.execute(
        select(
            func.coalesce(func.sum(takes.c.reserved), 0),
            func.coalesce(func.sum(takes.c.charged), 0),
        )
        .join(rows, rows.c.id == takes.c.row_id)
        .where(rows.c.campaign_id == campaign_id)
    ).one()
    return (account[0], account[1], int(total[0]), int(total[1]))
