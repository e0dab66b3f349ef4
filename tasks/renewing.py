"""Renew a lease beside the work that it is for: of a campaign, batches of rows, a night, a run.

What a renewal asks, and what it means to have lost the lease, is for whoever holds it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from callsheet.tasks.errors import LedgerError


@asynccontextmanager
async def renewing(
    renew: Callable[[], Awaitable[object]],
    *,
    lapse: float,
    is_lost: Callable[[], bool],
    on_trouble: Callable[[LedgerError], None],
) -> AsyncIterator[None]:
    """Renew a lease of `lapse` seconds while this lasts, however busy the work is, or until it is
    lost.

    `on_trouble` hears why the ledger could not be asked. What else a renewal raises is raised at
    the end.
    """
    beat = asyncio.create_task(_beat(renew, lapse, is_lost, on_trouble), name="lease")
    try:
        yield
    finally:
        beat.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await beat


async def _beat(
    renew: Callable[[], Awaitable[object]],
    lapse: float,
    is_lost: Callable[[], bool],
    on_trouble: Callable[[LedgerError], None],
) -> None:
    while True:
        await asyncio.sleep(lapse / 4)
        if is_lost():
            return
        try:
            await renew()
        except LedgerError as error:
            # A ledger that is busy now is asked again; the lease lasts for several beats.
            on_trouble(error)
