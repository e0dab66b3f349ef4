"""A ledger's backup: one SQLite file that is a ledger itself, whichever database it was made of.

A backup is made while runs are at work, and is of one moment. What is restored takes the place of
a ledger that nobody has open; that one is kept beside it. Moments are Unix seconds.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection, Engine, select, text, update
from sqlalchemy.exc import DBAPIError

from tasks.crash import crashpoint
from tasks.errors import BadInput, LedgerError
from tasks.ledger.acts import note_act
from tasks.ledger.database import ledger_file, ledger_url, make_engine, make_file
from tasks.ledger.ledger import trouble
from tasks.ledger.migrate import MAKE_ONE, revision_of, upgrade
from tasks.ledger.schema import REVISION, campaigns
from tasks.ledger.soundness import unsound
from tasks.ledger.table_copy import copy_tables, count_lines, empty_tables


@dataclass(frozen=True, kw_only=True)
class Backup:
    """A backup that is whole on the disk: where, how many bytes, how many lines of all tables."""

    path: Path
    size: int
    lines: int


@dataclass(frozen=True, kw_only=True)
class Restored:
    """What a ledger was made of: how many lines; and where the one before it is, if any was."""

    lines: int
    before: Path | None


def back_up(address: str, to: Path, *, by: str, at: float) -> Backup:
    """Copy the ledger at `address` into a new file, or into a folder under a name of its moment.

    Nothing appears there before it is whole, proved and on the disk. Raises BadInput where a file
    is there already, LedgerError where there is no ledger, or it cannot be read or written.
    """
    path = to / f"ledger-{_moment(at)}.db" if to.is_dir() else to
    if path.exists():
        raise BadInput(
            f"{path} is there already, and a backup replaces no other; nothing was written",
            remedy="name another file, or a folder: the name is made of the moment then",
        )
    with opened(address) as source:
        lines = _copy_into(path, source)
        with source.begin() as connection:
            note_act(connection, act="backup", by=by, at=at, words=f"{lines} lines")
    return Backup(path=path, size=path.stat().st_size, lines=lines)


def restore(address: str, backup: Path, *, by: str, at: float, instead: bool) -> Restored:
    """Make the ledger at `address` what a backup says; `instead` of what is there, if anything is.

    What was there is kept in a file beside it, whole. Raises BadInput where there is something and
    not `instead`, LedgerError for a backup that is none or is damaged, and for a ledger that
    somebody has open.
    """
    if not backup.is_file():
        raise BadInput(f"there is no file {backup}; the ledger is as it was")
    url = ledger_url(address)
    file = ledger_file(url)
    with _taken_for_copy(backup, file.parent if file else backup.parent) as copy:
        if file is None:
            return _restore_server(address, copy, backup, by=by, at=at, instead=instead)
        lines = _count(copy, by=by, at=at, backup=backup)
        before = _make_way(file, at=at, instead=instead) if file.exists() else None
        crashpoint("ledger: before a backup is put in its place")
        os.replace(copy, file)
        _sync(file.parent)
        return Restored(lines=lines, before=before)


@contextmanager
def opened(address: str) -> Iterator[Engine]:
    """Open the ledger at an address for writing, brought to this program's schema."""
    url = ledger_url(address)
    file = ledger_file(url)
    shown = url.render_as_string(hide_password=True)
    if file is not None and not file.exists():
        raise LedgerError(f"there is no ledger at {file} yet", remedy=MAKE_ONE)
    engine = make_engine(url, writes=True)
    try:
        upgrade(reader=engine, writer=engine, create=False)
        yield engine
    except DBAPIError as error:
        raise trouble(error, shown) from error
    finally:
        engine.dispose()


def copy_aside(address: str, *, at: float) -> tuple[str, Path | None]:
    """Copy an SQLite ledger of an older schema beside itself, as it is; return its schema, too."""
    url = ledger_url(address)
    file = ledger_file(url)
    if file is not None and not file.exists():
        raise LedgerError(f"there is no ledger at {file}", remedy=MAKE_ONE)
    engine = make_engine(url, writes=False)
    try:
        with engine.connect() as connection:
            old = revision_of(connection) or REVISION
    except DBAPIError as error:
        raise trouble(error, url.render_as_string(hide_password=True)) from error
    finally:
        engine.dispose()
    if file is None or old == REVISION:
        return old, None
    kept = file.with_name(f"{file.name}.schema-{old}-{_moment(at)}")
    with _temporary(kept) as copy:
        _copy_file(file, copy)
        os.replace(copy, kept)
    return old, kept


def _copy_into(path: Path, source: Engine) -> int:
    """Copy a ledger into a new file; return how many lines it has."""
    with _temporary(path) as copy:
        file = ledger_file(source.url)
        if file is not None:
            _copy_file(file, copy)
        else:
            _copy_server(source, copy)
        lines = _prove(copy)
        crashpoint("ledger: before a backup has its name")
        try:
            # Unlike a rename it replaces nothing that came there meanwhile.
            os.link(copy, path)
        except FileExistsError as error:
            raise BadInput(f"{path} is there already; nothing was written") from error
    _sync(path.parent)
    return lines


@contextmanager
def _temporary(path: Path) -> Iterator[Path]:
    """Yield where a file is written before it has its name; only its owner can read it."""
    copy = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    make_file(copy)
    try:
        yield copy
    finally:
        for name in ("", "-wal", "-shm", "-journal"):
            copy.with_name(copy.name + name).unlink(missing_ok=True)


def _copy_file(file: Path, copy: Path) -> None:
    """Copy an SQLite ledger as it is at one moment, with what is in its `-wal` alone."""
    source, target = sqlite3.connect(file), sqlite3.connect(copy)
    with contextlib.closing(source), contextlib.closing(target):
        source.backup(target)


def _copy_server(source: Engine, copy: Path) -> None:
    """Copy a ledger on PostgreSQL as it is at one moment."""
    target = make_engine(ledger_url(f"sqlite:///{copy}"), writes=True)
    try:
        upgrade(reader=target, writer=target, create=True)
        with source.connect() as reading, target.begin() as writing:
            reading = reading.execution_options(isolation_level="REPEATABLE READ")
            copy_tables(reading, writing)
    finally:
        target.dispose()


def _prove(copy: Path) -> int:
    """Bring a copy to one file on the disk; return its lines, or raise LedgerError."""
    with opened(f"sqlite:///{copy}") as engine, engine.connect() as reading:
        if found := [one for one in unsound(reading) if one.is_damage]:
            raise LedgerError(f"the copy is damaged: {found[0].words}; nothing was written")
        lines = count_lines(reading)
    connection = sqlite3.connect(copy, isolation_level=None)
    with contextlib.closing(connection):
        # A backup is one file: nothing of it may be in a log beside it.
        connection.execute("PRAGMA journal_mode=DELETE")
    with copy.open("rb") as written:
        os.fsync(written.fileno())
    return lines


@contextmanager
def _taken_for_copy(backup: Path, folder: Path) -> Iterator[Path]:
    """Yield a proved copy of a backup, of this program's schema: the backup stays as it is."""
    folder.mkdir(parents=True, exist_ok=True)
    with _temporary(folder / backup.name) as copy:
        shutil.copyfile(backup, copy)
        log = backup.with_name(f"{backup.name}-wal")
        if log.exists():
            raise LedgerError(
                f"{backup} is a ledger that was in use, not a backup: its newest lines are in "
                f"{log.name}; the ledger is as it was",
                remedy="make one with `callsheet ledger backup FILE`",
            )
        _prove(copy)
        yield copy


def _count(copy: Path, *, by: str, at: float, backup: Path) -> int:
    """Note in a copy that it was restored, with nobody at work on it; return its lines."""
    with opened(f"sqlite:///{copy}") as engine, engine.begin() as connection:
        _note(connection, by=by, at=at, backup=backup)
    return _prove(copy)


def _note(connection: Connection, *, by: str, at: float, backup: Path) -> None:
    connection.execute(update(campaigns).values(owner=None, owner_since=None, owner_until=None))
    note_act(connection, act="restore", by=by, at=at, words=backup.name)


def _make_way(file: Path, *, at: float, instead: bool) -> Path | None:
    """Move the ledger that is there aside; raise what keeps it from being replaced."""
    with _opened_if_one(file) as engine:
        if engine is not None:
            with engine.connect() as connection:
                _check_free(connection, str(file), at=at, instead=instead)
    _check_nobody_has(file)
    before = file.with_name(f"{file.name}.before-{_moment(at)}")
    os.link(file, before)
    return before


@contextmanager
def _opened_if_one(file: Path) -> Iterator[Engine | None]:
    """Open the ledger in a file; yield None where it is empty, or damaged: that may be why."""
    try:
        with opened(f"sqlite:///{file}") as engine:
            yield engine
    except LedgerError as error:
        if "damaged" not in str(error) and "no ledger" not in str(error):
            raise
        yield None


def _check_free(connection: Connection, shown: str, *, at: float, instead: bool) -> None:
    """Raise where there is a ledger with something in it, or a run that is at work."""
    alive = select(campaigns.c.name).where(campaigns.c.owner_until > at)
    if (name := connection.execute(alive).scalar()) is not None:
        raise LedgerError(
            f"a run is at work on {name}; the ledger is as it was",
            remedy="stop it, and whatever else uses the ledger, then restore again",
        )
    if instead or connection.execute(select(campaigns.c.id).limit(1)).first() is None:
        return
    raise BadInput(
        f"there is a ledger at {shown} already; it is as it was",
        remedy="--instead restores the backup in its place, and keeps this one beside it",
    )


def _check_nobody_has(file: Path) -> None:
    """Raise LedgerError where another program has an SQLite ledger open."""
    connection = sqlite3.connect(file, isolation_level=None, timeout=1.0)
    with contextlib.closing(connection):
        try:
            # It leaves the mode only for somebody who is alone, and takes the log in before.
            (mode,) = connection.execute("PRAGMA journal_mode=DELETE").fetchone()
        except sqlite3.DatabaseError as error:
            if "locked" not in str(error):
                return  # it is no database: there is nothing that anybody could have open
            mode = "wal"
    if mode == "wal":
        raise LedgerError(
            f"another program has {file} open; the ledger is as it was",
            remedy="stop the board, the receiver and every run, then restore again",
        )


def _restore_server(
    address: str, copy: Path, backup: Path, *, by: str, at: float, instead: bool
) -> Restored:
    """Put a backup's lines into a database on PostgreSQL, in one transaction."""
    engine = make_engine(ledger_url(address), writes=True)
    shown = engine.url.render_as_string(hide_password=True)
    before = None
    try:
        upgrade(reader=engine, writer=engine, create=True)
        with engine.connect() as connection:
            _check_free(connection, shown, at=at, instead=instead)
            is_there = count_lines(connection) > 0
        if is_there:
            before = backup.with_name(f"ledger.before-{_moment(at)}.db")
            _copy_into(before, engine)
        with engine.begin() as writing, opened(f"sqlite:///{copy}") as source:
            _lock(writing)
            _check_free(writing, shown, at=at, instead=instead)
            empty_tables(writing)
            with source.connect() as reading:
                lines = copy_tables(reading, writing)
            _note(writing, by=by, at=at, backup=backup)
        return Restored(lines=lines, before=before)
    except DBAPIError as error:
        raise trouble(error, shown) from error
    finally:
        engine.dispose()


def _lock(connection: Connection) -> None:
    # Whoever writes meanwhile waits, and then works with what was restored.
    quoted = map(connection.dialect.identifier_preparer.quote, campaigns.metadata.tables)
    connection.execute(text(f"LOCK TABLE {', '.join(quoted)} IN ACCESS EXCLUSIVE MODE"))


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _moment(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H-%M-%SZ}"
