"""What one crew has claimed of a production: its batches, their lease, and whether it still has it.

The lease is renewed in a task of its own, however busy the crew is. A crew that has lost a batch
begins nothing more of any: its rows are somebody else's, and so may be its campaign.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

from callsheet.tasks.errors import LedgerError
from callsheet.tasks.ledger import (
    ClaimedBatch,
    Ledger,
    Production,
    claim_batch,
    end_batch,
    free_batches,
    renew_batches,
)
from callsheet.tasks.renewing import renewing

log = logging.getLogger("callsheet.campaign")


class Claims:
    """The batches of one crew; `on_lost` hears once why it has lost some of them.

    `holder` is an id of this start of the crew: one that is started again has claimed nothing.
    """

    def __init__(
        self,
        ledger: Ledger,
        production: Production,
        *,
        crew: int,
        holder: str,
        lapse: float,
        on_lost: Callable[[str], None],
    ) -> None:
        #: What an intent has to name one of (`Terms.batches`).
        self.batches: set[int] = set()
        self.lost: str | None = None
        #: Whether it is the campaign that somebody else has: there is nothing left to claim.
        self.is_taken_over = False
        self._ledger = ledger
        self._production = production
        self._crew = crew
        self._holder = holder
        self._lapse = lapse
        self._on_lost = on_lost
        self._until = 0.0

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """Renew the lease while this lasts, then let go of what is not done."""
        beat = renewing(
            self._renew,
            lapse=self._lapse,
            is_lost=lambda: self.lost is not None,
            on_trouble=partial(log.warning, "the lease of batches was not renewed: %s"),
        )
        try:
            async with beat:
                yield
        finally:
            self.batches.clear()
            free = partial(free_batches, production_id=self._production.id, holder=self._holder)
            try:
                await self._ledger.write(free)
            except LedgerError as error:
                log.warning("batches are not let go of, and lapse by themselves: %s", error)

    async def claim(self) -> ClaimedBatch | None:
        """Claim a batch; None where there is none to claim."""
        asked = asyncio.get_running_loop().time()
        change = partial(
            claim_batch,
            production=self._production,
            crew=self._crew,
            holder=self._holder,
            seconds=self._lapse,
        )
        batch = await self._ledger.write(change)
        if batch is not None:
            if not self.batches:
                self._until = asked + self._lapse
            self.batches.add(batch.id)
        return batch

    async def end(self, batch: ClaimedBatch) -> None:
        """Note that every row of a batch is done for this production."""
        await self._ledger.write(partial(end_batch, batch_id=batch.id))
        self.batches.discard(batch.id)

    async def holds(self) -> bool:
        """Whether the crew still has what it claimed: asks the ledger only after a silence."""
        if self.lost is None and asyncio.get_running_loop().time() >= self._until:
            # This process was stopped, or its ledger was out of reach, until the lease lapsed.
            await self._renew()
        return self.lost is None

    async def _renew(self) -> None:
        before, asked = frozenset(self.batches), asyncio.get_running_loop().time()
        change = partial(
            renew_batches,
            production=self._production,
            holder=self._holder,
            seconds=self._lapse,
        )
        renewed = await self._ledger.write(change)
        if renewed is None:
            self.is_taken_over = True
            self._lose(f"campaign {self._production.campaign} was taken over by another run")
        elif lost := before & self.batches - renewed:
            words = f"crew {self._crew} was silent for too long, and others have {len(lost)} of"
            self._lose(f"{words} its batches")
        else:
            self._until = asked + self._lapse

    def _lose(self, words: str) -> None:
        if self.lost is None:
            self.lost = words
            log.warning("%s", words)
            self._on_lost(words)
