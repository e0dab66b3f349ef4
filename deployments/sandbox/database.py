"""Owns the SQLite file and the one thread that speaks to it.

Whatever is waiting is carried out in one transaction and answered after one commit, so that
every answer is durable and a thousand creates do not cost a thousand flushes of the disk.
"""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from callsheet.deployments.sandbox import tables

P = ParamSpec("P")
Result = TypeVar("Result")
Act = Callable[[sqlite3.Connection], Any]
Waiting = tuple[Act, "asyncio.Future[Any]"]

MOST_AT_ONCE = 256


class Database:
    """The state of the service. Opening it keeps a second sandbox out of the same file."""

    def __init__(self, path: Path, *, credits: int) -> None:
        self._connection = _open(path, credits)
        self._waiting: queue.SimpleQueue[Waiting | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="database", daemon=True)
        self._thread.start()

    async def run(
        self,
        act: Callable[Concatenate[sqlite3.Connection, P], Result],
        *said: P.args,
        **named: P.kwargs,
    ) -> Result:
        """Carry out one act whole or not at all; return when it is on the disk."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.put((lambda db: act(db, *said, **named), future))
        result: Result = await future
        return result

    def close(self) -> None:
        """Finish what is waiting and close the file."""
        self._waiting.put(None)
        self._thread.join()
        self._connection.close()

    def _work(self) -> None:
        while True:
            batch = [self._waiting.get()]
            while len(batch) < MOST_AT_ONCE and not self._waiting.empty():
                batch.append(self._waiting.get())
            acts = [one for one in batch if one is not None]
            if acts:
                _deliver(self._carry_out(acts))
            if len(acts) < len(batch):
                return

    def _carry_out(self, acts: list[Waiting]) -> list[tuple[asyncio.Future[Any], Any]]:
        connection = self._connection
        outcomes: list[tuple[asyncio.Future[Any], Any]] = []
        try:
            connection.execute("BEGIN")
            for act, future in acts:
                connection.execute("SAVEPOINT act")
                try:
                    outcomes.append((future, act(connection)))
                except Exception as error:
                    connection.execute("ROLLBACK TO act")
                    outcomes.append((future, error))
                connection.execute("RELEASE act")
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            # A full disk, say: nothing of this batch happened, and nobody is told that it did.
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            return [(future, error) for _, future in acts]
        return outcomes


def _open(path: Path, credits: int) -> sqlite3.Connection:
    # Readable by its owner alone, and so are the journals beside it: it holds webhook secrets.
    path.touch(mode=0o600)
    connection = sqlite3.connect(path, timeout=1, isolation_level=None, check_same_thread=False)
    connection.row_factory = sqlite3.Row
    # Exclusive: two sandboxes on one state would each spend the other's credits.
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    tables.set_up(connection, credits=credits)
    return connection


def _deliver(outcomes: list[tuple[asyncio.Future[Any], Any]]) -> None:
    def settle() -> None:
        for future, outcome in outcomes:
            if future.done():
                continue
            if isinstance(outcome, Exception):
                future.set_exception(outcome)
            else:
                future.set_result(outcome)

    loop = outcomes[0][0].get_loop()
    if not loop.is_closed():
        loop.call_soon_threadsafe(settle)
