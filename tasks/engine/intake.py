"""The rows of shards, read from the ledger as their turn comes, whenever there is room for them.

Knows how many are in memory by the roster, and how many videos wait by the scheduler. What is to be
read next is for `pages` to say, and what is done with a row that was read for the engine.
"""

from __future__ import annotations

import asyncio

from sqlalchemy import Connection

from callsheet.tasks.engine.carried import Carried, lean
from callsheet.tasks.engine.pages import PAGE, Batch, Pages, Shard, Wanted
from callsheet.tasks.engine.roster import Roster
from callsheet.tasks.engine.scheduler import Scheduler
from callsheet.tasks.ledger import CampaignRow, Ledger, rows_by_number


class Intake:
    """Rows on their way into memory: `page` are read at once, and twice as many wait at most."""

    def __init__(
        self,
        ledger: Ledger,
        roster: Roster,
        scheduler: Scheduler[Carried],
        *,
        page: int = PAGE,
        clip_keys: bool = False,
    ) -> None:
        self._ledger = ledger
        self._roster = roster
        self._scheduler = scheduler
        self._pages = Pages(page, clip_keys=clip_keys)
        self._room = asyncio.Event()

    @property
    def is_due(self) -> bool:
        """Whether there may be a page to read."""
        return self._room.is_set()

    def add(self, shard: Shard, batch: Batch) -> None:
        """Have the rows of a shard read, too."""
        self._pages.add(shard, batch)
        self._room.set()

    def has_room(self, rows: int) -> bool:
        """Whether so many more may be taken up: few have yet to begin, or to come home."""
        return self._roster.unbegun.total() + self._videos() < rows

    def note_room(self) -> None:
        """Note that a row has moved on: there may be room for another one."""
        if self._pages.wanted(self._roster.unbegun, self._videos()) is not None:
            self._room.set()

    async def wait_for_room(self) -> None:
        """Wait until there may be a page to read."""
        await self._room.wait()
        self._room.clear()

    async def read_page(self) -> list[tuple[CampaignRow, Wanted]]:
        """Read the next page, each row with what was wanted; empty where nothing may be read."""
        page = self._pages.next(self._roster.unbegun, self._videos())
        if not page:
            return []
        numbers = [wanted.number for wanted in page]

        def read(connection: Connection) -> list[CampaignRow]:
            return [lean(row) for row in rows_by_number(connection, numbers)]

        return list(zip(await self._ledger.read(read), page, strict=True))

    def _videos(self) -> int:
        return self._scheduler.backlog("deliver")
