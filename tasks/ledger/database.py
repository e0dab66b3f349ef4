"""Opens the ledger's database, SQLite or PostgreSQL.

Addresses, connections, schema versions, and its errors as sentences.

Owns addresses, connections and their settings, and what is written differently for the two. Knows
no table.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus

from sqlalchemy import (
    Connection,
    Engine,
    Table,
    column,
    create_engine,
    event,
    inspect,
    select,
    table,
)
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import ConnectionPoolEntry

from callsheet.tasks.ledger.schema import FIRST, REVISION, VERSION_TABLE
from callsheet.tasks.runtime.errors import (
    LedgerDamaged,
    LedgerError,
    LedgerFull,
    LedgerNewer,
    shorten,
)
from callsheet.tasks.runtime.redact import register_secret

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql

#: How long a writer waits for another program's transaction, in seconds.
LOCK_WAIT = 10.0
#: How many read at once.
READERS = 4

#: Parameters of an address that are secret: libpq takes a password there, too.
SECRET_PARAMETERS = ("password", "sslpassword", "passwd", "pwd")

_DRIVERS = {
    "sqlite": "sqlite",
    "postgresql": "postgresql+psycopg",
    "postgres": "postgresql+psycopg",
}


def ledger_url(address: str) -> URL:
    """Return the address with the driver that Callsheet ships.

    What follows `sqlite:///` is the path of a file and nothing else: a folder may have `?` in its
    name, which would begin the parameters of other addresses.

    Raises LedgerError for anything that is neither SQLite nor PostgreSQL, and for such parameters.
    """
    try:
        url = make_url(address)
    except ArgumentError as error:
        raise LedgerError(
            "CALLSHEET_LEDGER is not a database URL; nothing was spent",
            remedy="write it like sqlite:////var/lib/callsheet/ledger.db "
            "or postgresql://user:password@host/database",
        ) from error
    for secret in _secrets_in(url):
        register_secret(secret)
        register_secret(quote(secret, safe=""))
        register_secret(quote_plus(secret))
    backend = url.drivername.split("+")[0]
    if backend not in _DRIVERS:
        raise LedgerError(
            f"the ledger cannot live in {backend}; nothing was spent",
            remedy="use a sqlite:/// or postgresql:// URL",
        )
    if backend == "sqlite":
        path = address.partition(":///")[2]
        if not path or ":memory:" in path:
            raise LedgerError(
                "a ledger without a file would forget what was paid for; nothing was spent",
                remedy="name a file: sqlite:////var/lib/callsheet/ledger.db",
            )
        if "?" in path.rpartition("/")[2]:
            raise LedgerError(
                "a SQLite ledger takes no parameters after its path; nothing was spent",
                remedy="leave out `?` and what follows it",
            )
        url = URL.create(backend, database=path)
    return url.set(drivername=_DRIVERS[backend])


def shown_address(url: URL) -> str:
    """Return an address without its passwords: those of the user, and those among its parameters.

    This is the only form in which an address is printed, logged or written to a file.
    """
    secret = [name for name in url.query if name.lower() in SECRET_PARAMETERS]
    return url.difference_update_query(secret).render_as_string(hide_password=True)


def _secrets_in(url: URL) -> list[str]:
    found = [str(url.password or "")]
    for name, value in url.query.items():
        if name.lower() in SECRET_PARAMETERS:
            found += [value] if isinstance(value, str) else value
    return found


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


def make_engine(url: URL, *, writes: bool, lock_wait: float = LOCK_WAIT) -> Engine:
    """Return an engine whose transactions read, or (`writes`) take the write lock at once."""
    size = 1 if writes else READERS
    if url.get_backend_name() != "sqlite":
        if "connect_timeout" not in url.query:
            # 2 is the least that libpq knows.
            url = url.update_query_dict({"connect_timeout": str(max(2, round(lock_wait)))})
        engine = create_engine(url, pool_size=size, pool_pre_ping=True)
        event.listen(engine, "connect", partial(_set_up_postgres, lock_wait=lock_wait))
        return engine
    engine = create_engine(
        url, pool_size=size, connect_args={"timeout": lock_wait, "check_same_thread": False}
    )
    event.listen(engine, "connect", partial(_set_up_sqlite, lock_wait=lock_wait))
    begin = "BEGIN IMMEDIATE" if writes else "BEGIN"
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql(begin))
    return engine


def insert_unless_there(connection: Connection, table: Table, values: Mapping[str, Any]) -> bool:
    """Insert a row; return False where another process was first."""
    # Its key is asked for, since psycopg counts no rows where SQLAlchemy fetches keys by itself.
    key = next(iter(table.primary_key.columns))
    return connection.execute(insert_of_missing(table).returning(key), values).first() is not None


def insert_missing(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert those of several rows that are not there."""
    if rows:
        connection.execute(insert_of_missing(table), rows)


def insert_of_missing(table: Table) -> postgresql.Insert:
    """Return the statement that inserts a row unless one like it is there."""
    # Anyone who only reads need not pay for it. SQLite has taken it over, word for word.
    from sqlalchemy.dialects import postgresql

    return postgresql.insert(table).on_conflict_do_nothing()


def _set_up_postgres(connection: Any, _: ConnectionPoolEntry, *, lock_wait: float) -> None:
    connection.execute(f"SET lock_timeout = {round(lock_wait * 1000)}")
    connection.commit()


def _set_up_sqlite(connection: Any, _: ConnectionPoolEntry, *, lock_wait: float) -> None:
    # Python's sqlite3 opens transactions late and of the wrong kind; `begin` above does it.
    connection.isolation_level = None
    cursor = connection.cursor()
    _use_wal(cursor, until=time.monotonic() + lock_wait)
    # FULL: a commit is on the disk before a paid request leaves.
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.execute("PRAGMA foreign_keys=ON")
    # Its own `lower` knows no letter beyond ASCII.
    connection.create_function("folded", 1, _folded, deterministic=True)
    cursor.close()


def _folded(text: str | None) -> str | None:
    return None if text is None else text.lower()


def _use_wal(cursor: Any, *, until: float) -> None:
    # Changing the mode does not wait for a lock as other statements do.
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() >= until:
                raise
            time.sleep(0.02)


# Which schema a ledger has: a program works with its own alone.


_VERSION = table(VERSION_TABLE, column("version_num"))


def version_of(connection: Connection) -> str | None:
    """Return the schema of a ledger of any age, or None for a database without one."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    found: str | None = connection.scalar(select(_VERSION.c.version_num))
    return found


def check_upgradable(schema: str) -> None:
    """Raise LedgerNewer for a later program's schema, LedgerError for one before the first."""
    if _order_of(schema) < _order_of(FIRST):
        raise LedgerError(
            f"this ledger has schema {schema}, of a Callsheet before its first release; "
            "nothing was spent",
            remedy="finish its campaigns with the version that made it, and run each sheet once "
            "more; then name a new ledger with CALLSHEET_LEDGER, which finds what was paid for",
        )
    if _order_of(schema) > _order_of(REVISION):
        raise LedgerNewer(
            f"this ledger has schema {schema}, which is newer than this Callsheet knows "
            f"({REVISION}); nothing was spent",
            remedy="upgrade Callsheet, or point CALLSHEET_LEDGER at another ledger",
        )


def check_schema(schema: str) -> None:
    """Raise LedgerError for another schema than this program's; it says what to do."""
    check_upgradable(schema)
    if schema != REVISION:
        raise LedgerError(
            f"this ledger has schema {schema}, older than this Callsheet's ({REVISION}); nothing "
            "was spent",
            remedy="stop what uses it on every machine, then `callsheet ledger upgrade`",
        )


def check_not_upgraded(connection: Connection) -> None:
    """Raise LedgerNewer where someone has upgraded the ledger since this program opened it."""
    other = select(_VERSION.c.version_num).where(_VERSION.c.version_num != REVISION)
    if (found := connection.scalar(other)) is not None:
        check_schema(found)


def _order_of(schema: str) -> int:
    """Return what schemas are compared by; what is no number of ours is newer than all of them."""
    return int(schema) if schema.isdecimal() else sys.maxsize


# Database errors as sentences that say what to do.


def trouble(error: Exception, address: str) -> LedgerError:
    """Return a database error as a sentence that says what to do."""
    words = " ".join(str(getattr(error, "orig", None) or error).split())
    low, name = words.lower(), getattr(getattr(error, "orig", None), "sqlite_errorname", "")
    if "locked" in low or "lock timeout" in low:
        return LedgerError(
            f"the ledger {address} is locked by another program",
            remedy="let the other program finish (a backup, a database browser?), then run the "
            "same command again",
        )
    # A full disk has no room for the file that the processes of a ledger share.
    if "disk is full" in low or "no space" in low or name == "SQLITE_IOERR_SHMSIZE":
        return LedgerFull(
            f"the disk of the ledger {address} is full; what was recorded before is safe",
            remedy="free some space, then run the same command again",
        )
    if name == "SQLITE_READONLY_DBMOVED":
        return LedgerError(
            f"the ledger {address} was replaced in the moment when it was opened",
            remedy="run the same command again",
        )
    if "readonly" in low or "read-only" in low:
        return LedgerError(
            f"the ledger {address} is read-only",
            remedy="give write access to the file and its folder"
            if not address.startswith("postgresql")
            else "give this user write access, and check that the server is not a standby",
        )
    if "not a database" in low or "malformed" in low:
        return LedgerDamaged(
            f"the ledger {address} is damaged or is not a ledger ({words})",
            remedy="restore it from a backup, or move it away: the same sheet derives the same "
            "keys, so videos already made are found again",
        )
    if "unable to open" in low:
        return LedgerError(
            f"the ledger {address} cannot be opened",
            remedy="set CALLSHEET_LEDGER to a file you may write to",
        )
    return LedgerError(
        f"the ledger {address} cannot be used: {shorten(words, 200)}",
        remedy="check CALLSHEET_LEDGER, and that its server is up",
    )
