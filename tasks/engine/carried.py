"""A row as a run carries it, and what it asks of the world when its turn comes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from tasks.engine.context import Context
from tasks.engine.lanes.cancel import cancel
from tasks.engine.lanes.deliver import deliver
from tasks.engine.lanes.poll import poll
from tasks.engine.lanes.price import fresh_price
from tasks.engine.lanes.submit import search, submit
from tasks.engine.lanes.submit_unkeyed import search_made, submit_unkeyed
from tasks.engine.policy.decision import Lane, Memory
from tasks.engine.policy.observations import Observation
from tasks.ledger import CampaignRow

Deliver = Callable[[CampaignRow, Memory, str | None, Context], Awaitable[Observation]]


@dataclass(eq=False, slots=True)
class Batch:
    """Rows that somebody waits for together."""

    left: int = 0
    over: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(eq=False, slots=True)
class Carried:
    """A row in this run: its value and what is remembered of it."""

    row: CampaignRow
    batch: Batch = field(default_factory=Batch)
    memory: Memory = field(default_factory=Memory)
    address: str | None = field(default=None, repr=False)

    @property
    def order(self) -> tuple[int, int]:
        """Higher priority first, then sheet order."""
        return (-self.row.priority, self.row.position)


@dataclass(frozen=True, slots=True)
class Visits:
    """Visits lanes with rows; `deliver` brings films home."""

    at: Context
    deliver: Deliver = deliver

    async def visit(
        self, lane: Lane, carried: Carried, may_pay: Callable[[], bool]
    ) -> tuple[CampaignRow, Observation] | None:
        """Return the row as it then is and what was observed, or None if it had moved on.

        `may_pay` is asked at the last moment before a paid call without a key is begun.
        """
        at = self.at
        if lane in ("submit", "submit_unkeyed") and carried.row.state == "approved":
            # It may have waited for so long that it is not sold at this price any more.
            priced = await fresh_price(carried.row, at)
            if not isinstance(priced, CampaignRow):
                return None if priced is None else (carried.row, priced)
            carried.row = priced
        row = carried.row
        match lane:
            case "submit":
                return await submit(row, at)
            case "submit_unkeyed":
                return await submit_unkeyed(row, at, may_pay)
            case "search" if row.take is not None and not row.take.keyed:
                return await search_made(row, at)
            case "search":
                return await search(row, at)
            case "poll":
                return row, await poll(row, carried.memory, at)
            case "cancel":
                return row, await cancel(row, at)
            case "deliver":
                address, carried.address = carried.address, None
                return row, await self.deliver(row, carried.memory, address, at)
