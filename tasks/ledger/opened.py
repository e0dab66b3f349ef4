"""A ledger that is opened for one command: at its address, with its schema checked or upgraded.

Knows no campaign and no row. Runs and the board have the ledger open as `Ledger`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Engine, text, update
from sqlalchemy.exc import DBAPIError

from callsheet.tasks.errors import LedgerError
from callsheet.tasks.ledger.database import ledger_file, ledger_url, make_engine, shown_address
from callsheet.tasks.ledger.migrate import MAKE_ONE, upgrade
from callsheet.tasks.ledger.schema import REVISION, campaigns
from callsheet.tasks.ledger.schema_version import SchemaVersion, version_of
from callsheet.tasks.ledger.trouble import trouble


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
    """Raise LedgerError where the file of a ledger is where nobody can write."""
    file = ledger_file(ledger_url(address))
    if file is not None and is_read_only(file):
        raise LedgerError(
            f"the ledger {file} is on a file system that is read-only",
            remedy="mount it for writing; where the disk failed, back the ledger up first "
            "(`callsheet ledger backup FILE` can) and move it to another disk",
        )


def is_read_only(path: Path) -> bool:
    """Whether a path is on a file system that nobody writes to, mounted so or after a fault."""
    if not hasattr(os, "statvfs"):
        return False
    there = next(one for one in (path, *path.parents) if one.exists())
    return bool(os.statvfs(there).f_flag & os.ST_RDONLY)
