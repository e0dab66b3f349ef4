"""What was counted on every machine, summed up in the ledger: it outlives whoever counted.

A run, or a receiver, adds what it has counted now and then and at its end; nothing is written by
one that has counted nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from sqlalchemy import Connection, select, text

from callsheet.tasks.errors import CallsheetError
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.schema import counters
from callsheet.tasks.measures import Counts

log = logging.getLogger("callsheet.ledger")

#: How often what was counted is kept, in seconds.
EVERY = 15.0
_ADD = text(
    "INSERT INTO counters (name, label, value) VALUES (:name, :label, :value) "
    "ON CONFLICT (name, label) DO UPDATE SET value = counters.value + excluded.value"
)


def add_counts(connection: Connection, counts: Counts) -> None:
    """Add what was counted to what is kept."""
    # Always in the same order, so that two who add do not wait for each other.
    lines = [{"name": n, "label": at, "value": v} for (n, at), v in sorted(counts.items())]
    if lines:
        connection.execute(_ADD, lines)


def counts_kept(connection: Connection) -> Counts:
    """Return all that was ever counted."""
    found = connection.execute(select(counters.c.name, counters.c.label, counters.c.value))
    return {(line.name, line.label): line.value for line in found}


@asynccontextmanager
async def keeping_counts(ledger: Ledger, *, every: float = EVERY) -> AsyncIterator[None]:
    """Keep what is counted meanwhile, now and then and at the end.

    A ledger that cannot be written fails nobody for it: the counts wait, and are lost at the end.
    """
    task = asyncio.create_task(_keep_on(ledger, every), name="counts")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await keep_counts(ledger)


async def _keep_on(ledger: Ledger, every: float) -> None:
    while True:
        await asyncio.sleep(every)
        await keep_counts(ledger)


async def keep_counts(ledger: Ledger) -> None:
    """Keep now what was counted."""
    counts = ledger.measures.take()
    if not counts:
        return
    try:
        await ledger.write(partial(add_counts, counts=counts))
    except CallsheetError as error:
        log.info("what was counted is not kept yet: %s", error)
        ledger.measures.give_back(counts)
