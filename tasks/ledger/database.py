"""How the ledger's database is reached: SQLite with full durability, or PostgreSQL.

Owns addresses, connections and their settings. Knows no table.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import ConnectionPoolEntry

from tasks.errors import LedgerError

#: How long a writer waits for another program's transaction, in seconds.
LOCK_WAIT = 10.0

_DRIVERS = {
    "sqlite": "sqlite",
    "postgresql": "postgresql+psycopg",
    "postgres": "postgresql+psycopg",
}


def ledger_url(address: str) -> URL:
    """Return the address with the driver that Callsheet ships.

    Raises LedgerError for anything that is neither SQLite nor PostgreSQL.
    """
    try:
        url = make_url(address)
    except ArgumentError as error:
        raise LedgerError(
            "CALLSHEET_LEDGER is not a database URL; nothing was spent",
            remedy="write it like sqlite:////var/lib/callsheet/ledger.db "
            "or postgresql://user:password@host/database",
        ) from error
    backend = url.drivername.split("+")[0]
    if backend not in _DRIVERS:
        raise LedgerError(
            f"the ledger cannot live in {backend}; nothing was spent",
            remedy="use a sqlite:/// or postgresql:// URL",
        )
    return url.set(drivername=_DRIVERS[backend])


def ledger_file(url: URL) -> Path | None:
    """Return the SQLite file behind `url`, or None for a server."""
    if url.get_backend_name() != "sqlite" or not url.database:
        return None
    return Path(url.database)


def make_file(path: Path) -> None:
    """Make an empty ledger file that only its owner can read: it will hold scripts and ids."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise LedgerError(
            f"the ledger {path} cannot be made: {error.strerror}; nothing was spent",
            remedy="set CALLSHEET_LEDGER to a place you may write to",
        ) from error


def make_engine(url: URL, *, writes: bool) -> Engine:
    """Return an engine whose transactions read, or (`writes`) take the write lock at once."""
    if url.get_backend_name() != "sqlite":
        return create_engine(url, pool_size=1 if writes else 4, pool_pre_ping=True)
    engine = create_engine(
        url,
        pool_size=1 if writes else 4,
        connect_args={"timeout": LOCK_WAIT, "check_same_thread": False},
    )
    event.listen(engine, "connect", _set_up_sqlite)
    begin = "BEGIN IMMEDIATE" if writes else "BEGIN"
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql(begin))
    return engine


def _set_up_sqlite(connection: Any, _: ConnectionPoolEntry) -> None:
    # Python's sqlite3 opens transactions late and of the wrong kind; `begin` above does it.
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    # FULL: a commit is on the disk before a paid request leaves.
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.close()
