"""A lease as the one who has it knows it: renewed in the background, and lost for good.

What it is on (a campaign, rows, a night, a run) and what a renewal asks of the ledger is its
owner's.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from callsheet.tasks.runtime.errors import LedgerError

log = logging.getLogger("callsheet.ledger")

#: Renews a lease; returns what became of it, in words, if another owner has it. None: it is ours.
Renew = Callable[[], Awaitable[str | None]]


class Held:
    """A lease of `lapse` seconds; `lost` says who has it instead.

    `on_lost` is told that once. `clock` tells how long this process was silent, and no one else
    anything; `what` is the lease, for the log.
    """

    def __init__(
        self,
        renew: Renew,
        *,
        what: str,
        lapse: float,
        on_lost: Callable[[str], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.lost: str | None = None
        self._ask = renew
        self._what = what
        self._lapse = lapse
        self._on_lost = on_lost
        self._clock = clock
        self._until = 0.0

    def is_ours(self, since: float) -> None:
        """Note that it was acquired or renewed at a moment of the clock, or soon after."""
        self._until = since + self._lapse

    async def holds(self) -> bool:
        """Whether it is still ours: asks the ledger only after a silence."""
        if self.lost is None and self._clock() >= self._until:
            # This process was stopped, or its ledger was out of reach, until the lease lapsed.
            await self.renew()
        return self.lost is None

    async def renew(self) -> None:
        """Renew it; it is lost for good once another owner has had it."""
        now = self._clock()
        lost = await self._ask()
        if lost is None:
            self.is_ours(now)
        elif self.lost is None:
            self.lost = lost
            log.warning("%s", lost)
            self._on_lost(lost)

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """Renew it while this lasts, however busy the work is, or until it is lost.

        What a renewal raises, but for a ledger that is away for a while, is raised at the end.
        """
        beat = asyncio.create_task(self._beat(), name="lease")
        try:
            yield
        finally:
            beat.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await beat

    async def _beat(self) -> None:
        while self.lost is None:
            await asyncio.sleep(self._lapse / 4)
            try:
                await self.renew()
            except LedgerError as error:
                # A ledger that is busy now is asked again; the lease lasts for several beats.
                log.warning("%s was not renewed: %s", self._what, error)
