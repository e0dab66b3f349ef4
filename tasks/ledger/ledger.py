"""The open ledger: one writer that commits in groups, and readers next to it.

Owns when something becomes durable. A change is a plain function of a connection; it is given to
`write`, which returns once the change is committed. Changes that arrive while a commit is under
way share the next one, so that a thousand rows cost tens of commits, each of them durable.
Knows nothing of HTTP, Prefect or stores.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from callsheet.tasks.ledger.database import (
    LOCK_WAIT,
    READERS,
    ledger_file,
    ledger_url,
    make_engine,
    make_file,
    shown_address,
    trouble,
)
from callsheet.tasks.ledger.dialect import dialect_of
from callsheet.tasks.ledger.migrate import MAKE_ONE, ensure_schema
from callsheet.tasks.ledger.statements import Overtaken, execute
from callsheet.tasks.runtime.crash_points import crashpoint
from callsheet.tasks.runtime.errors import LedgerError
from callsheet.tasks.runtime.telemetry import Measures

T = TypeVar("T")
P = ParamSpec("P")
Change = Callable[[Connection], T]
#: What is asked or changed, with parameters of its own behind the connection.
Query = Callable[Concatenate[Connection, P], T]

#: Changes in one commit at most: a group is short enough that no one waits long for it.
GROUP = 256
#: How often a group is tried that PostgreSQL takes back because of a deadlock.
DEADLOCKS = 5
#: Under which name a connection keeps what is undone should its transaction be taken back.
_UNDO = "callsheet: undo"


@dataclass(frozen=True)
class _Pending:
    """A change, and where its result goes."""

    change: Change[Any]
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]


class LedgerAccess(Protocol):
    """What asks and changes a ledger: the ledger itself, or someone who guards each change."""

    async def read(self, query: Query[P, T], /, *args: P.args, **named: P.kwargs) -> T:
        """Ask the ledger, as `Ledger.read`."""

    async def write(self, change: Query[P, T], /, *args: P.args, **named: P.kwargs) -> T:
        """Change the ledger, as `Ledger.write`."""


class Ledger:
    """A ledger that is open; made by `open_ledger`, closed by leaving `async with`."""

    def __init__(self, *, writer: Engine, reader: Engine, address: str, file: Path | None) -> None:
        self.address = address
        self._file = file
        self._opened = None if file is None else file.stat()
        self._writer = writer
        self.reader = reader
        #: What is counted by anyone who works with it, and not kept yet.
        self.measures = Measures()
        #: Commits, and changes in them, since it was opened.
        self.commits = self.changes = 0
        # Threads of their own: the common ones may all be busy with videos and disks.
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="reader")
        self._pending: queue.SimpleQueue[_Pending | None] = queue.SimpleQueue()
        self._closing = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._write_groups, name="ledger", daemon=True)
        self._thread.start()

    async def write(self, change: Query[P, T], /, *args: P.args, **named: P.kwargs) -> T:
        """Run `change(connection, ...)` in a transaction; return its result once that is committed.

        Other changes may share the transaction; one that raises takes none of them along.
        Raises LedgerError when the database cannot be written, and whatever `change` raises.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        with self._closing:
            # No one would answer it: the writer ends with what was pending at `aclose`.
            self._refuse_closed()
            self._pending.put(_Pending(bound(change, *args, **named), loop, future))
        # Someone who is cancelled while waiting takes nothing back: the change is on its way.
        return await future

    @property
    def waiting(self) -> int:
        """How many changes wait for the next commit."""
        return self._pending.qsize()

    async def read(self, query: Query[P, T], /, *args: P.args, **named: P.kwargs) -> T:
        """Run `query(connection, ...)` in a thread, on its own connection; return its result."""
        with self._closing:
            self._refuse_closed()
            reading = self._readers.submit(self._read, bound(query, *args, **named))
        return await asyncio.wrap_future(reading)

    def _refuse_closed(self) -> None:
        if self._closed:
            raise LedgerError(f"the ledger {self.address} is closed already")

    def _check_in_place(self) -> None:
        """Raise LedgerError once its file was moved or deleted: what is written now may be lost."""
        if self._file is None or self._opened is None:
            return
        with contextlib.suppress(OSError):
            if os.path.samestat(self._file.stat(), self._opened):
                return
        raise LedgerError(
            f"the ledger {self.address} was moved or deleted while it was in use",
            remedy="nothing is paid for twice: put it back, then run the same command again",
        )

    def _read(self, query: Change[T]) -> T:
        # To connect would make an empty file in its place.
        self._check_in_place()
        try:
            with self.reader.connect() as connection:
                return query(connection)
        except DBAPIError as error:
            raise trouble(error, self.address) from error

    async def aclose(self) -> None:
        """Commit what is pending, then let go of the database."""
        with self._closing:
            self._closed = True
            self._pending.put(None)
        await asyncio.to_thread(self._thread.join)
        await asyncio.to_thread(self._readers.shutdown)
        self._writer.dispose()
        self.reader.dispose()

    async def __aenter__(self) -> Ledger:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _write_groups(self) -> None:
        while (first := self._pending.get()) is not None:
            group, more = [first], True
            while more and len(group) < GROUP:
                try:
                    following = self._pending.get_nowait()
                except queue.Empty:
                    break
                if following is None:
                    more = False
                else:
                    group.append(following)
            self._commit(group)
            if not more:
                return

    def _commit(self, group: list[_Pending]) -> None:
        certain = dialect_of(self._writer).one_writer
        for attempt in range(1, DEADLOCKS + 1):
            begun = False
            undo: list[Callable[[], object]] = []
            try:
                self._check_in_place()
                with self._writer.begin() as connection:
                    begun = True
                    connection.info[_UNDO] = undo
                    changes = [pending.change for pending in group]
                    results = execute(connection, changes, certain=certain)
                    crashpoint("ledger: before the commit", group)
                crashpoint("ledger: after the commit", group)
                self.commits += 1
                self.changes += len(group)
            except Exception as error:
                for forget in reversed(undo):
                    forget()
                if isinstance(error, Overtaken) and not certain:
                    certain = True
                    continue
                if _is_deadlock(error) and attempt < DEADLOCKS:
                    continue
                if begun and len(group) > 1:
                    # One of them failed and nothing was committed: let each stand for itself.
                    for pending in group:
                        self._commit([pending])
                    return
                # Without a transaction it is no one's fault, and no better one at a time.
                fault = trouble(error, self.address) if isinstance(error, DBAPIError) else error
                results = [fault] * len(group)
            _answer(group, results)
            return


def bound(change: Callable[..., T], /, *args: object, **named: object) -> Change[T]:
    """Return a change that is to be called with a connection alone."""
    return partial(change, *args, **named)


def on_rollback(connection: Connection, undo: Callable[[], object]) -> None:
    """Have `undo` called should the transaction at hand be taken back: its changes may run again.

    Every change that keeps something in memory needs it; what is in the database is taken back.
    """
    connection.info.setdefault(_UNDO, []).append(undo)


def _is_deadlock(error: Exception) -> bool:
    """Whether PostgreSQL took this transaction back in favour of another one."""
    cause = error.orig if isinstance(error, DBAPIError) else None
    return getattr(cause, "sqlstate", None) in ("40P01", "40001")


def _answer(group: list[_Pending], results: list[Any]) -> None:
    """Wake every waiter of a group; one call into each loop for all of its own."""

    def wake(answered: list[tuple[_Pending, Any]]) -> None:
        for pending, result in answered:
            if pending.future.done():
                continue
            if isinstance(result, BaseException):
                pending.future.set_exception(result)
            else:
                pending.future.set_result(result)

    answers: dict[asyncio.AbstractEventLoop, list[tuple[_Pending, Any]]] = {}
    for pending, result in zip(group, results, strict=True):
        answers.setdefault(pending.loop, []).append((pending, result))
    for loop, answered in answers.items():
        # A loop that is already closed has no one left who waits.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(wake, answered)


async def open_ledger(address: str, *, create: bool = True, lock_wait: float = LOCK_WAIT) -> Ledger:
    """Open the ledger at a SQLAlchemy URL, making it where needed.

    Raises LedgerError, in a sentence for people, when it is missing (and not `create`), locked, of
    another schema, damaged or out of reach.
    """
    url = ledger_url(address)
    shown = shown_address(url)
    file = ledger_file(url)
    if file is not None and not file.exists():
        if not create:
            raise LedgerError(f"there is no ledger at {file} yet", remedy=MAKE_ONE)
        make_file(file)
        crashpoint("ledger: its file is made")

    def connect() -> Ledger:
        writer = make_engine(url, writes=True, lock_wait=lock_wait)
        reader = make_engine(url, writes=False, lock_wait=lock_wait)
        try:
            ensure_schema(reader=reader, writer=writer, create=create)
        except (DBAPIError, LedgerError) as error:
            writer.dispose()
            reader.dispose()
            raise trouble(error, shown) if isinstance(error, DBAPIError) else error from error
        return Ledger(writer=writer, reader=reader, address=shown, file=file)

    return await asyncio.to_thread(connect)
