"""A row as a run carries it, and what it asks of the world when its turn comes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TypeVar

from callsheet.tasks.engine.context import Context
from callsheet.tasks.engine.lanes.cancel import cancel
from callsheet.tasks.engine.lanes.deliver import deliver
from callsheet.tasks.engine.lanes.poll import poll
from callsheet.tasks.engine.lanes.price import fresh_price
from callsheet.tasks.engine.lanes.submit import search, submit
from callsheet.tasks.engine.lanes.submit_unkeyed import search_made, submit_unkeyed
from callsheet.tasks.engine.pages import Batch
from callsheet.tasks.engine.policy.decision import Lane, Memory
from callsheet.tasks.engine.policy.observations import Observation
from callsheet.tasks.ledger import UNDER_WAY, CampaignRow
from callsheet.tasks.measures import POLLS

T = TypeVar("T")
Deliver = Callable[[CampaignRow, Memory, str | None, Context], Awaitable[Observation]]

#: What is remembered of a row that nothing is known of.
NOTHING = Memory()


@dataclass(eq=False, slots=True)
class Carried:
    """A row in this run: its value and what is remembered of it."""

    row: CampaignRow
    batch: Batch = field(default_factory=Batch)
    memory: Memory = NOTHING
    address: str | None = field(default=None, repr=False)

    def facts(self) -> dict[str, object]:
        """Return what a line of the log says of it."""
        row = self.row
        number = row.take.number if row.take else None
        return {"campaign": row.campaign, "row": row.row, "take": number, "state": row.state}

    @property
    def order(self) -> tuple[int, int]:
        """Higher priority first, then sheet order."""
        return (-self.row.priority, self.row.position)


def lean(row: CampaignRow) -> CampaignRow:
    """Return a row that is under way as it waits, without what only its create is made of.

    That is in the ledger, where whoever sends or searches reads it. Others are returned as they
    are: what has yet to begin is whole.
    """
    take = row.take
    if row.state not in UNDER_WAY or take is None or not row.request:
        return row
    take = replace(
        take,
        body=b"",
        key_in_body=take.keyed,
        asked_seconds=_one(take.wanted_seconds()),
        digest=row.digest if row.digest == take.digest else take.digest,
        quoted=_one(take.quoted),
        reserved=_one(take.reserved),
    )
    return replace(
        row,
        request="",
        tags=(),
        notes=None,
        campaign=_one(row.campaign),
        state=_one(row.state),
        operation=_one(row.operation),
        captions=_one(row.captions),
        quoted=_one(row.quoted),
        approved=_one(row.approved),
        take=take,
    )


@lru_cache(maxsize=1000, typed=True)
def _one(value: T) -> T:
    """Return the one of equal values that all rows share: prices, states and names are few."""
    return value


@dataclass(frozen=True, slots=True)
class Visits:
    """Visits lanes with rows; `deliver` brings videos home."""

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
                at.ledger.measures.add(POLLS)
                return row, await poll(row, carried.memory, at)
            case "cancel":
                return row, await cancel(row, at)
            case "deliver":
                address, carried.address = carried.address, None
                return row, await self.deliver(row, carried.memory, address, at)
