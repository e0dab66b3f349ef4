"""What somebody asked to cancel while a run lasts, as the ledger tells it.

Requests come from any process. What was asked for before the run began is known from its rows.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial

from sqlalchemy import Connection

from callsheet.tasks.engine.policy.decision import NEVER_MADE, unwanted
from callsheet.tasks.errors import LedgerError
from callsheet.tasks.ledger import (
    UNDER_WAY,
    CampaignRow,
    CancelMark,
    Ledger,
    cancel_mark,
    cancel_requests,
    refuse,
    remark,
)

log = logging.getLogger("callsheet.engine")

#: How often the ledger is asked what is to be cancelled, in seconds.
EVERY = 1.0
#: A create that was to be cancelled before anybody knew whether it arrived.
NOT_YET = (
    "to be cancelled, but it is not known whether its create arrived: the next run asks again "
    "under the same key, and cancels what it made"
)


class Cancellations:
    """The takes to cancel and the rows that are cancelled already, since this run began.

    The ledger is asked for a mark that changes with every request, and for more where it did.
    """

    def __init__(self, ledger: Ledger, campaign_id: int) -> None:
        self._ledger = ledger
        self._campaign_id = campaign_id
        self._mark: CancelMark | None = None
        #: The takes to cancel by the number of their row, and those that were so from the start.
        self._asked: dict[int, int] = {}
        self._before: dict[int, int] = {}
        self._cancelled: frozenset[int] = frozenset()

    def begins(self, row: CampaignRow) -> None:
        """Note a row as this run takes it up."""
        if row.take is not None and unwanted(row):
            self._before[row.id] = row.take.id

    def ends(self, row: CampaignRow) -> None:
        """Forget a row that is settled."""
        self._asked.pop(row.id, None)
        self._before.pop(row.id, None)

    async def named(self) -> AsyncIterator[list[int]]:
        """Ask again and again; yield the numbers of the rows that are named newly."""
        while True:
            await asyncio.sleep(EVERY)
            try:
                found = await self.refresh()
            except LedgerError as error:
                # A ledger that is busy now is asked again.
                log.warning("the ledger did not say what is to be cancelled: %s", error)
                continue
            yield found

    async def refresh(self) -> list[int]:
        """Ask the ledger; return the numbers of the rows that it names newly.

        Raises LedgerError when it cannot be read.
        """
        mark = await self._ledger.read(partial(cancel_mark, campaign_id=self._campaign_id))
        if mark == self._mark:
            return []
        found = await self._ledger.read(partial(cancel_requests, campaign_id=self._campaign_id))
        new = [row for row, take in found.takes.items() if self._asked.get(row) != take]
        new += found.cancelled - self._cancelled
        self._mark, self._asked, self._cancelled = mark, dict(found.takes), found.cancelled
        return sorted(new)

    def is_over(self, row: CampaignRow) -> bool:
        """Whether a row that has not begun in this run is cancelled in the ledger."""
        return row.state not in UNDER_WAY and row.id in self._cancelled

    def is_touched(self, row: CampaignRow) -> bool:
        """Whether there is something to do about a row that waits."""
        if not self._asked and not self._cancelled:
            return False
        return self.is_over(row) or self.is_given_up(row) or self._is_new(row)

    def is_given_up(self, row: CampaignRow) -> bool:
        """Whether it is not known if a create arrived that nobody wants: not sent again now."""
        keyed = row.take is not None and row.take.keyed
        return row.state == "submitting" and keyed and self._is_asked(row)

    def marked(self, row: CampaignRow, now: float) -> CampaignRow:
        """Return the row as the ledger has it: its take marked, if that was asked for."""
        if row.take is None or not self._is_new(row):
            return row
        return replace(row, take=replace(row.take, cancel_requested_at=now))

    def _is_new(self, row: CampaignRow) -> bool:
        return self._is_asked(row) and not unwanted(row)

    def _is_asked(self, row: CampaignRow) -> bool:
        take = row.take
        if take is None or not self._asked:
            return False
        return self._asked.get(row.id) == take.id != self._before.get(row.id)


def drop(connection: Connection, row: CampaignRow, at: float) -> bool:
    """Cancel a row whose create is known to have made nothing; False if it had moved on."""
    assert row.take is not None, "a row in submitting has a take"
    return refuse(connection, row, row.take, new="cancelled", reason=NEVER_MADE, at=at)


def leave(connection: Connection, row: CampaignRow, at: float) -> bool:
    """Say why a row with a create of unknown outcome stays; False if it had moved on."""
    return remark(connection, row, NOT_YET, at=at)
