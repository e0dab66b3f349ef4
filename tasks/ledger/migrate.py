"""Opens a ledger for one command, and makes or upgrades its schema.

A program works with its own schema alone: `upgrade` brings an older ledger to it while no run is
at work; another one is refused.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, Engine, inspect, select, text, update
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError

from callsheet.tasks.ledger.database import (
    check_schema,
    check_upgradable,
    ledger_file,
    ledger_url,
    make_engine,
    shown_address,
    trouble,
    version_of,
)
from callsheet.tasks.ledger.dialect import dialect_of
from callsheet.tasks.ledger.schema import REVISION, VERSION_TABLE, campaigns, leases, metadata
from callsheet.tasks.runtime.crash_points import crashpoint
from callsheet.tasks.runtime.errors import LedgerError

MAKE_ONE = "`callsheet run SHEET` makes one; or set CALLSHEET_LEDGER"

#: Alembic's context is one for the whole process.
_ONE_AT_A_TIME = threading.Lock()


def ensure_schema(*, reader: Engine, writer: Engine, create: bool) -> None:
    """Make a ledger's tables where there are none.

    Raises LedgerError for a ledger of another schema, for another application's database, and
    without `create` for a database without a ledger.
    """
    with reader.connect() as connection:
        found = _schema_in(connection)
    if found is not None:
        check_schema(found)
        return
    _migrate(writer, create=create)


def upgrade(address: str, *, create: bool = False) -> None:
    """Bring the ledger at an address to REVISION, or `create` its tables where there are none.

    Raises LedgerError where that cannot be done, and while a run is at work.
    """
    url = ledger_url(address)
    engine = make_engine(url, writes=True)
    try:
        _migrate(engine, create=create)
    except DBAPIError as error:
        raise trouble(error, shown_address(url)) from error
    finally:
        engine.dispose()


def _schema_in(connection: Connection) -> str | None:
    """Return the schema of a ledger, None for a database that one can be made in."""
    found = version_of(connection)
    if found is None:
        _check_free(connection)
    return found


def _migrate(writer: Engine, *, create: bool) -> None:
    with writer.begin() as connection:
        dialect_of(connection).hold_schema(connection)
        # Someone else may have done it while this process waited for the lock.
        found = _schema_in(connection)
        if found is None and not create:
            raise LedgerError("there is no ledger in this database yet", remedy=MAKE_ONE)
        if found is not None and found != REVISION:
            check_upgradable(found)
            _check_idle(connection)
        if found != REVISION:
            with _ONE_AT_A_TIME:
                _run_alembic(connection)
        crashpoint("ledger: before the schema is committed")
    crashpoint("ledger: after the schema is committed")


def _check_free(connection: Connection) -> None:
    """Raise LedgerError where a database without a ledger is another application's."""
    # Their tables are the ledger's as well.
    from callsheet.tasks.ledger import schema_runs  # noqa: F401

    there = set(inspect(connection).get_table_names())
    taken = sorted(there & set(metadata.tables))
    # Someone else may have made the ledger by now.
    if VERSION_TABLE in there or not (taken or "alembic_version" in there):
        return
    whose = "Prefect's own" if "flow_run" in there else "another application's"
    shown = ", ".join((taken or sorted(there))[:5])
    remedy = "name another file with CALLSHEET_LEDGER"
    if not dialect_of(connection).one_writer:
        remedy = (
            "give the ledger a database of its own, or a schema: CREATE SCHEMA callsheet, then "
            "CALLSHEET_LEDGER=postgresql://user@host/database?options=-csearch_path%3Dcallsheet"
        )
    raise LedgerError(
        f"this database is {whose}: it has {shown}, and no ledger; nothing was spent",
        remedy=remedy,
    )


def _run_alembic(connection: Connection) -> None:
    # Alembic costs 0.15 s to import; only a ledger that needs it pays.
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "callsheet.tasks.ledger:migrations")
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _check_idle(connection: Connection) -> None:
    """Raise LedgerError while a run is at work; none begins until this transaction has ended."""
    # Nearly no one needs it.
    from callsheet.tasks.ledger.leases import is_held

    dialect_of(connection).hold_table(connection, "leases")
    if connection.scalar(select(leases.c.name).where(is_held()).limit(1)) is not None:
        raise LedgerError(
            "a run, a nightly run or a worker is at work on this ledger, and could not go on with "
            f"schema {REVISION}; the ledger is as it was",
            remedy="let it end, or stop it (`callsheet status`), then `callsheet ledger upgrade`",
        )


# A ledger that is opened for one command: at its address, with its schema checked.
#
# Knows no campaign and no row. Runs and the board have the ledger open as `Ledger`.


@contextmanager
def opened(address: str, *, writes: bool = True) -> Iterator[Engine]:
    """Open the ledger at an address; one writes at a time."""
    url = ledger_url(address)
    if _is_empty(url):
        raise LedgerError(f"there is no ledger at {url.database} yet", remedy=MAKE_ONE)
    reader, writer = make_engine(url, writes=False), make_engine(url, writes=True)
    try:
        ensure_schema(reader=reader, writer=writer, create=False)
        yield writer if writes else reader
    except DBAPIError as error:
        raise trouble(error, shown_address(url)) from error
    finally:
        reader.dispose()
        writer.dispose()


def schema_of(address: str) -> str | None:
    """Return the schema of the ledger at an address, None where there is no ledger yet."""
    url = ledger_url(address)
    if _is_empty(url):
        return None
    engine = make_engine(url, writes=False)
    try:
        with engine.connect() as connection:
            return _schema_in(connection)
    except DBAPIError as error:
        raise trouble(error, shown_address(url)) from error
    finally:
        engine.dispose()


def _is_empty(url: URL) -> bool:
    """Whether there is no file of a ledger, or nothing in it: SQLite would write to it."""
    file = ledger_file(url)
    return file is not None and not (file.exists() and file.stat().st_size)


def check_writable(address: str) -> None:
    """Raise LedgerError where the ledger cannot be written to; nothing of it changes."""
    with opened(address) as engine, engine.connect() as connection:
        # It changes no line, and takes every right and lock that a change would.
        connection.execute(update(campaigns).values(name=campaigns.c.name).where(text("1 = 0")))
        connection.rollback()


def check_file_system(address: str) -> None:
    """Raise LedgerError where the file of a ledger is where no one can write."""
    file = ledger_file(ledger_url(address))
    if file is not None and _is_read_only(file):
        raise LedgerError(
            f"the ledger {file} is on a file system that is read-only",
            remedy="mount it for writing; where the disk failed, copy the file, and the one with "
            "-wal behind its name, to another disk and set CALLSHEET_LEDGER to the copy",
        )


def _is_read_only(path: Path) -> bool:
    """Whether a path is on a file system that nobody writes to, mounted so or after a fault."""
    if sys.platform == "win32":
        return False
    there = next(one for one in (path, *path.parents) if one.exists())
    return bool(os.statvfs(there).f_flag & os.ST_RDONLY)
