"""Has each statement compiled once in a process of tests, which opens thousands of ledgers.

SQLAlchemy compiles a statement once for each engine. A program has one engine for as long as it
runs; a process of tests has one for each of its ledgers, and a fifth of its time went into this.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Engine, event

#: A dialect is an engine's own; the rest of a key says which statement it is.
Key = tuple[Any, ...]


class Compiled(dict[Key, Any]):
    """Compiled statements, for all engines of the same database and driver."""

    def __getitem__(self, key: Key) -> Any:
        return super().__getitem__(_shared(key))

    def __setitem__(self, key: Key, compiled: Any) -> None:
        super().__setitem__(_shared(key), compiled)

    def get(self, key: Key, default: Any = None) -> Any:
        return super().get(_shared(key), default)


def _shared(key: Key) -> Key:
    dialect, *rest = key
    return (dialect.name, dialect.driver, *rest)


def share() -> None:
    """Have every engine of this process, and of its forks, look here for its statements."""
    compiled = Compiled()

    @event.listens_for(Engine, "engine_connect")
    def look_here(connection: Connection) -> None:
        connection.execution_options(compiled_cache=compiled)
