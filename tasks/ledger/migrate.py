"""Opens a ledger for one command, and brings it to this program's schema.

A newer one is worked with as it is where its schema says that it works with this program's. So
programs of two releases can be at work on one ledger, and an upgrade is done next to them; but
where it takes from older programs what they need, only while no run is at work.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Engine, inspect, text, update
from sqlalchemy.exc import DBAPIError

from callsheet.tasks.ledger.database import (
    SchemaVersion,
    ledger_file,
    ledger_url,
    make_engine,
    note_version,
    order_of,
    shown_address,
    trouble,
    version_of,
)
from callsheet.tasks.ledger.dialect import dialect_of
from callsheet.tasks.ledger.schema import REVISION, VERSION_TABLE, campaigns, metadata
from callsheet.tasks.runtime.crash_points import crashpoint
from callsheet.tasks.runtime.errors import LedgerError

if TYPE_CHECKING:
    from alembic.config import Config

log = logging.getLogger("callsheet.ledger")

MAKE_ONE = "`callsheet run SHEET` makes one; or set CALLSHEET_LEDGER"

#: How often it tries, and for how many seconds it lets others pass between two of them.
TRIES = 12
_PAUSE = 1.0
#: PostgreSQL's words for: a lock was not to be had in time, or was taken away.
_LOCKED = ("55P03", "40P01")

#: Alembic's context is one for the whole process.
_ONE_AT_A_TIME = threading.Lock()


def upgrade(
    *,
    reader: Engine,
    writer: Engine,
    create: bool,
    anyway: bool = False,
    keep: Callable[[SchemaVersion], None] | None = None,
    pause: Callable[[float], None] = time.sleep,
) -> None:
    """Bring the database to REVISION, one process at a time, or leave a newer one as it is.

    `keep` is called before an older one is changed, and may raise to leave it as it is.

    Raises LedgerError for a newer one that does not work with this program, for another
    application's, without `create` for a database without a ledger, without `anyway` while a run
    is at work that could not go on, and where others do not let go of its tables.
    """
    with reader.connect() as connection:
        found = version_of(connection)
        if found is None:
            _check_free(connection)
    if found is not None:
        found.check()
        if not found.is_older:
            _work_with(found)
            return
    if found is None and not create:
        raise LedgerError("there is no ledger in this database yet", remedy=MAKE_ONE)
    if found is not None and keep is not None:
        keep(found)
    for attempt in range(1, TRIES + 1):
        try:
            _upgrade_once(writer, anyway=anyway)
            return
        except DBAPIError as error:
            if getattr(error.orig, "sqlstate", None) not in _LOCKED:
                raise
            if attempt == TRIES:
                raise LedgerError(
                    "the ledger's tables were in use each time that its schema was to be "
                    "changed; it is as it was",
                    remedy="let what reads it for long finish (a backup, an export?), then "
                    "`callsheet ledger upgrade`",
                ) from error
            pause(_PAUSE)


def contracts(found: SchemaVersion) -> bool:
    """Whether to upgrade a ledger takes from programs that work on it what they need."""
    return order_of(_works_with(_config())) > order_of(found.works_with)


def _work_with(found: SchemaVersion) -> None:
    found.check()
    if found.is_newer:
        _tell_newer(found.number)


@cache
def _tell_newer(number: str) -> None:
    """Say so once in a process."""
    log.info("the ledger is newer (%s) and works with this version (%s)", number, REVISION)


def _upgrade_once(writer: Engine, *, anyway: bool) -> None:
    with writer.begin() as connection:
        dialect_of(connection).hold_schema(connection)
        # Someone else may have done it while this process waited for the lock.
        found = version_of(connection)
        if found is not None and found.is_newer:
            _work_with(found)
            return
        if found is None or found.is_older:
            with _ONE_AT_A_TIME:
                _run_alembic(connection, found, anyway=anyway)
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


def _run_alembic(connection: Connection, found: SchemaVersion | None, *, anyway: bool) -> None:
    # Alembic costs 0.15 s to import; only a ledger that needs it pays.
    from alembic import command

    config = _config()
    works_with = _works_with(config)
    if found is not None and not anyway and order_of(works_with) > order_of(found.works_with):
        _check_idle(connection)
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
    note_version(connection, works_with)


def _config() -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "callsheet.tasks.ledger:migrations")
    config.set_main_option("path_separator", "os")
    return config


def _works_with(config: Config) -> str:
    """Return the oldest schema whose programs work on what all migrations make."""
    from alembic.script import ScriptDirectory

    scripts = ScriptDirectory.from_config(config).walk_revisions()
    # What one has taken away, a later one does not bring back.
    said = (getattr(script.module, "works_with", script.revision) for script in scripts)
    return max(said, key=order_of)


def _check_idle(connection: Connection) -> None:
    """Raise LedgerError while a run is at work; none begins until this transaction has ended."""
    # It costs more than all else here, and nearly no one needs it.
    from callsheet.tasks.ledger.campaigns import campaign_at_work

    dialect_of(connection).hold_table(connection, "leases")
    if (name := campaign_at_work(connection)) is not None:
        raise LedgerError(
            f"a run is at work on {name}, and if it is of an older Callsheet it cannot go on with "
            f"schema {REVISION}; the ledger is as it was",
            remedy="do it when that has ended; where every machine has the version before this "
            "one, `callsheet ledger upgrade --anyway`",
        )


# A ledger that is opened for one command: at its address, with its schema checked or upgraded.
#
# Knows no campaign and no row. Runs and the board have the ledger open as `Ledger`.


@contextmanager
def opened(
    address: str, *, writes: bool = True, anyway: bool = False, upgrades: bool = True
) -> Iterator[Engine]:
    """Open the ledger at an address; one writes at a time.

    It is brought to this program's schema first, unless `upgrades` is False; `anyway` does that
    even while a run is at work that may not be able to go on.
    """
    url = ledger_url(address)
    file = ledger_file(url)
    shown = shown_address(url)
    if file is not None and not file.exists():
        raise LedgerError(f"there is no ledger at {file} yet", remedy=MAKE_ONE)
    reader, writer = make_engine(url, writes=False), make_engine(url, writes=True)
    try:
        if upgrades:
            upgrade(reader=reader, writer=writer, create=False, anyway=anyway)
        else:
            _check_readable(reader)
        yield writer if writes else reader
    except DBAPIError as error:
        raise trouble(error, shown) from error
    finally:
        reader.dispose()
        writer.dispose()


def _check_readable(reader: Engine) -> None:
    """Raise LedgerError for a database without a ledger, LedgerNewer for one of a later program."""
    with reader.connect() as connection:
        found = version_of(connection)
    if found is None:
        raise LedgerError("there is no ledger in this database yet", remedy=MAKE_ONE)
    found.check()


def schema_of(address: str) -> SchemaVersion:
    """Return the schema of the ledger at an address. Raises LedgerError where there is none."""
    url = ledger_url(address)
    file = ledger_file(url)
    # To open an empty file would have SQLite write to it.
    if file is not None and not (file.exists() and file.stat().st_size):
        raise LedgerError(f"there is no ledger at {file} yet", remedy=MAKE_ONE)
    engine = make_engine(url, writes=False)
    try:
        with engine.connect() as connection:
            return version_of(connection) or SchemaVersion(number=REVISION, works_with=REVISION)
    except DBAPIError as error:
        raise trouble(error, shown_address(url)) from error
    finally:
        engine.dispose()


def check_writable(address: str) -> None:
    """Raise LedgerError where the ledger cannot be written to; nothing of it changes."""
    with opened(address, upgrades=False) as engine, engine.connect() as connection:
        # It changes no line, and takes every right and lock that a change would.
        connection.execute(update(campaigns).values(name=campaigns.c.name).where(text("1 = 0")))
        connection.rollback()


def check_file_system(address: str) -> None:
    """Raise LedgerError where the file of a ledger is where no one can write."""
    file = ledger_file(ledger_url(address))
    if file is not None and is_read_only(file):
        raise LedgerError(
            f"the ledger {file} is on a file system that is read-only",
            remedy="mount it for writing; where the disk failed, back the ledger up first "
            "(`callsheet ledger backup FILE` can) and move it to another disk",
        )


def is_read_only(path: Path) -> bool:
    """Whether a path is on a file system that nobody writes to, mounted so or after a fault."""
    if sys.platform == "win32":
        return False
    there = next(one for one in (path, *path.parents) if one.exists())
    return bool(os.statvfs(there).f_flag & os.ST_RDONLY)
