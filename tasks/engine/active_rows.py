"""The rows in memory.

Loaded when there is room, found by id or video, and scheduled by due time.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TypeVar

from sqlalchemy import Connection

from callsheet.tasks.engine.context import Context
from callsheet.tasks.engine.deliver import deliver
from callsheet.tasks.engine.free_calls import cancel, fresh_price, poll
from callsheet.tasks.engine.pages import PAGE, Batch, Pages, Queue, Shard, Wanted
from callsheet.tasks.engine.policy.decision import Lane, Memory, Observation
from callsheet.tasks.engine.submit import search, search_made, submit, submit_unkeyed
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.schema import NEVER
from callsheet.tasks.ledger.values import UNDER_WAY, CampaignRow, rows_by_number
from callsheet.tasks.runtime.telemetry import POLLS
from callsheet.tasks.values.edits import is_keyed

T = TypeVar("T")
Deliver = Callable[[CampaignRow, Memory, str | None, Context], Awaitable[Observation]]

#: What is remembered of a row that nothing is known of.
NOTHING = Memory()


@dataclass(eq=False, slots=True)
class ActiveRow:
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
    def order(self) -> tuple[float, ...]:
        """Higher priority first, then the earliest date, then sheet order."""
        return (-self.row.priority, self.row.deliver_by or NEVER, self.row.position)


def compact(row: CampaignRow) -> CampaignRow:
    """Return a row that is under way as it waits, without what only its create is made of.

    That is in the ledger, where anyone who sends or searches reads it. Others are returned as they
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
        self, lane: Lane, active: ActiveRow, may_pay: Callable[[], bool]
    ) -> tuple[CampaignRow, Observation] | None:
        """Return the row as it then is and what was observed, or None if it had moved on.

        `may_pay` is asked at the last moment before a paid call without a key is begun.
        """
        at = self.at
        if lane in ("submit", "submit_unkeyed") and active.row.state == "approved":
            # It may have waited for so long that it is not sold at this price any more.
            priced = await fresh_price(active.row, at)
            if not isinstance(priced, CampaignRow):
                return None if priced is None else (active.row, priced)
            active.row = priced
        row = active.row
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
                return row, await poll(row, active.memory, at)
            case "cancel":
                return row, await cancel(row, at)
            case "deliver":
                address, active.address = active.address, None
                return row, await self.deliver(row, active.memory, address, at)


# The rows that a run has in memory: found by number and by video, and dropped once settled.


class ActiveRows:
    """Who is there, and how many have yet to begin, by the lane they begin in."""

    def __init__(self, *, clip_keys: bool = False) -> None:
        self.unbegun: Counter[Queue] = Counter()
        self._clip_keys = clip_keys
        self._rows: dict[int, ActiveRow] = {}
        self._renders: dict[str, ActiveRow] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def enter(self, active: ActiveRow) -> None:
        """Have a row in memory from here to `leave`."""
        self._rows[active.row.id] = active
        self._note(active, active.row, 1)

    def leave(self, active: ActiveRow) -> bool:
        """Forget a row that is settled for this run; return False if it was not here."""
        if self._rows.get(active.row.id) is not active:
            return False
        del self._rows[active.row.id]
        self._note(active, active.row, -1)
        return True

    def moved(self, active: ActiveRow, old: CampaignRow) -> None:
        """Follow a row from the value it had to the one it has."""
        new = active.row
        same = old.state == new.state and (old.state != "rendering" or old.take is new.take)
        if not same and self._rows.get(old.id) is active:
            self._note(active, old, -1)
            self._note(active, active.row, 1)

    def find(self, number: int) -> ActiveRow | None:
        """Return the row of a number, if it is here."""
        return self._rows.get(number)

    def render(self, video: str) -> ActiveRow | None:
        """Return the row whose render a video is, if it is here and under way."""
        return self._renders.get(video)

    def renders(self) -> Iterable[ActiveRow]:
        """Return the rows whose renders are under way, those that have been for longest first."""
        return list(self._renders.values())

    def _note(self, active: ActiveRow, row: CampaignRow, more: int) -> None:
        if row.state == "approved":
            keyed = is_keyed(row.operation, clip_keys=self._clip_keys)
            self.unbegun["submit" if keyed else "submit_unkeyed"] += more
        elif row.state == "rendering" and row.take is not None and row.take.video_id is not None:
            if more > 0:
                self._renders[row.take.video_id] = active
            else:
                self._renders.pop(row.take.video_id, None)


# The rows of shards, read from the ledger as their turn comes, whenever there is room for them.
#
# Knows how many are in memory by the active rows, and how many videos wait by the scheduler. What
# is to be read next is for `pages` to say, and what is done with a row that was read for the
# engine.


class Intake:
    """Rows on their way into memory: `page` are read at once, and twice as many wait at most."""

    def __init__(
        self,
        ledger: Ledger,
        active_rows: ActiveRows,
        scheduler: Scheduler,
        *,
        page: int = PAGE,
        clip_keys: bool = False,
    ) -> None:
        self._ledger = ledger
        self._active = active_rows
        self._scheduler = scheduler
        self._pages = Pages(page, clip_keys=clip_keys)
        self._room = asyncio.Event()

    def add(self, shard: Shard, batch: Batch) -> None:
        """Have the rows of a shard read, too."""
        self._pages.add(shard, batch)
        self._room.set()

    def has_room(self, rows: int) -> bool:
        """Whether so many more may be taken up: few have yet to begin, or to be delivered."""
        return self._active.unbegun.total() + self._videos() < rows

    def note_room(self) -> None:
        """Note that a row has moved on: there may be room for another one."""
        if self._pages.wanted(self._active.unbegun, self._videos()) is not None:
            self._room.set()

    async def wait_for_room(self) -> None:
        """Wait until there may be a page to read."""
        await self._room.wait()
        self._room.clear()

    async def read_page(self) -> list[tuple[CampaignRow, Wanted]]:
        """Read the next page, each row with what was wanted; empty where nothing may be read."""
        page = self._pages.next(self._active.unbegun, self._videos())
        if not page:
            return []
        numbers = [wanted.number for wanted in page]

        def read(connection: Connection) -> list[CampaignRow]:
            return [compact(row) for row in rows_by_number(connection, numbers)]

        return list(zip(await self._ledger.read(read), page, strict=True))

    def _videos(self) -> int:
        return self._scheduler.backlog("deliver")


# One due-time schedule for all rows: no task sleeps on behalf of a row.
#
# Owns when a row is due and in which order rows leave a lane: creates and deliveries by priority
# and position, all others by how long they are due. Times are the event loop's.


LANES: tuple[Lane, ...] = ("submit", "submit_unkeyed", "search", "poll", "cancel", "deliver")
#: Lanes in which what is more important goes first; in the others no one waits for ever.
BY_ORDER: frozenset[Lane] = frozenset({"submit", "submit_unkeyed", "deliver"})


#: Places that may be left behind before the schedule is swept, besides as many as are taken.
LEFT_BEHIND = 1000


class Scheduler:
    """Hold what is not due yet, and put what is due into its lane's queue."""

    def __init__(self) -> None:
        self._queues: Mapping[
            Lane, asyncio.PriorityQueue[tuple[tuple[float, ...], int, ActiveRow]]
        ] = {lane: asyncio.PriorityQueue() for lane in LANES}
        #: What is taken out stays here, until that is due or swept: its number is forgotten.
        self._heap: list[tuple[float, int, Lane, ActiveRow]] = []
        self._numbers: dict[ActiveRow, int] = {}
        self._count = itertools.count()
        self._changed = asyncio.Event()

    def put(self, lane: Lane, after: float, what: ActiveRow) -> None:
        """Make `what` due in `lane` after `after` seconds."""
        due = asyncio.get_running_loop().time() + max(0.0, after)
        if after <= 0:
            self._release(lane, due, what)
            return
        number = next(self._count)
        self._numbers[what] = number
        heapq.heappush(self._heap, (due, number, lane, what))
        if self._heap[0][1] == number:
            self._changed.set()

    def take(self, what: ActiveRow) -> bool:
        """Take something out of the schedule; return whether it was there, and not due yet."""
        if self._numbers.pop(what, None) is None:
            return False
        if len(self._heap) > LEFT_BEHIND + 2 * len(self._numbers):
            self._heap = [entry for entry in self._heap if self._numbers.get(entry[3]) == entry[1]]
            heapq.heapify(self._heap)
        return True

    def backlog(self, lane: Lane) -> int:
        """Return how many are due in `lane` and wait for a task that is free."""
        return self._queues[lane].qsize()

    async def next(self, lane: Lane) -> ActiveRow:
        """Wait for the next that is due in `lane`."""
        return (await self._queues[lane].get())[2]

    async def run(self) -> None:
        """Release what falls due, until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            self._changed.clear()
            now = loop.time()
            while self._heap and self._heap[0][0] <= now:
                due, number, lane, what = heapq.heappop(self._heap)
                if self._numbers.get(what) == number:
                    del self._numbers[what]
                    self._release(lane, due, what)
            timer = None
            if self._heap:
                timer = loop.call_at(self._heap[0][0], self._changed.set)
            await self._changed.wait()
            if timer is not None:
                timer.cancel()

    def _release(self, lane: Lane, due: float, what: ActiveRow) -> None:
        rank = what.order if lane in BY_ORDER else (due, 0)
        self._queues[lane].put_nowait((rank, next(self._count), what))
