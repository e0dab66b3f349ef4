"""The ledger's own functions on one plain connection: a commit is a commit, whatever dies after it.

It stands in for `tasks.ledger.ledger.Ledger`, whose thread and group commits have tests of their
own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from sqlalchemy import Connection, create_engine, event
from sqlalchemy.pool import StaticPool

from callsheet.tasks.ledger.schema import metadata
from callsheet.tasks.ledger.statements import execute
from callsheet.tasks.runtime.telemetry import Measures
from tests.model.virtual_time import Fuse

T = TypeVar("T")


class PlainLedger:
    """A ledger in memory that outlives the program under test."""

    def __init__(self, fuse: Fuse) -> None:
        self._fuse = fuse
        self._engine = create_engine("sqlite://", poolclass=StaticPool)
        event.listen(self._engine, "connect", _set_up)
        #: Called within every transaction, before and after the change, with its connection.
        self.watch: Callable[[Connection], Any] = lambda connection: None
        #: Called with what `watch` returned before and after a change.
        self.judge: Callable[[Any, Any], None] = lambda before, after: None
        self.in_transaction = False
        #: What an engine counts; nobody keeps it here.
        self.measures = Measures()
        metadata.create_all(self._engine)

    async def write(self, change: Callable[..., T], /, *args: Any, **named: Any) -> T:
        """Carry out a change in a transaction of its own."""
        self._fuse.burn("before commit")
        with self._engine.begin() as connection:
            before = self.watch(connection)
            self.in_transaction = True
            try:
                (result,) = execute(connection, [partial(change, *args, **named)])
            finally:
                self.in_transaction = False
            self.judge(before, self.watch(connection))
        self._fuse.burn("after commit")
        return result

    async def read(self, query: Callable[..., T], /, *args: Any, **named: Any) -> T:
        """Carry out a query."""
        return self.look(partial(query, *args, **named))

    def look(self, query: Callable[[Connection], T]) -> T:
        """Carry out a query for the test itself."""
        with self._engine.connect() as connection:
            return query(connection)

    def close(self) -> None:
        """Forget everything."""
        self._engine.dispose()


def _set_up(connection: Any, _: Any) -> None:
    connection.execute("PRAGMA foreign_keys=ON")
