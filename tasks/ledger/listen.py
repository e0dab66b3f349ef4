"""Wait for hints, whichever process heard them.

PostgreSQL tells of it (LISTEN and NOTIFY); a SQLite file is asked, several times a second, for the
newest id, which is the cheapest question there is.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import Any

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from callsheet.tasks.errors import LedgerError
from callsheet.tasks.ledger.hints import CHANNEL, latest_hint
from callsheet.tasks.ledger.ledger import Ledger

#: How often a SQLite file is asked, in seconds.
ASK = 0.15
#: PostgreSQL is asked after so long without news too, in seconds: a notice may be lost.
AT_MOST = 0.5
#: Before a lost connection is tried again, in seconds.
PAUSE = 1.0

#: Returns once there may be hints with a later id than it is given.
Wait = Callable[[int], Awaitable[None]]


@asynccontextmanager
async def listening(ledger: Ledger) -> AsyncIterator[Wait]:
    """Yield what waits for hints; a ledger that is out of reach only makes it wait longer."""
    if ledger.reader.dialect.name != "postgresql":

        async def ask(known: int) -> None:
            newest = known
            while newest <= known:
                await asyncio.sleep(ASK)
                with suppress(LedgerError):
                    newest = await ledger.read(latest_hint)

        yield ask
        return
    ear = _Ear(ledger.reader)
    # It waits in a thread of its own: the common ones are few, and this one is always taken.
    with ThreadPoolExecutor(1, thread_name_prefix="hints") as thread:

        async def listen(known: int) -> None:
            loop = asyncio.get_running_loop()
            if not await loop.run_in_executor(thread, ear.wait):
                await asyncio.sleep(PAUSE)

        try:
            yield listen
        finally:
            await asyncio.to_thread(thread.shutdown)
            ear.close()


class _Ear:
    """A connection that listens, made when it is needed and again after it broke."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._connection: Any = None

    def wait(self) -> bool:
        """Wait for a notice, AT_MOST seconds; return False when the database is out of reach."""
        try:
            if self._connection is None:
                self._connection = self._open()
                return True
            for _ in self._connection.driver_connection.notifies(timeout=AT_MOST, stop_after=1):
                pass
        except (DBAPIError, self._engine.dialect.loaded_dbapi.Error):
            self.close()
            return False
        return True

    def close(self) -> None:
        if self._connection is not None:
            # It is of no use to anybody else: it listens.
            self._connection.invalidate()
            self._connection = None

    def _open(self) -> Any:
        found = self._engine.raw_connection()
        driver: Any = found.driver_connection
        driver.autocommit = True
        driver.execute(f"LISTEN {CHANNEL}")
        return found
