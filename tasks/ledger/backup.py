"""A ledger's backup: one SQLite file that is a ledger itself, whichever database it was made of.

A backup is made while runs are at work, and is of one moment. What is restored takes the place of
a ledger that no one has open; that one is kept next to it. Moments are Unix seconds.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection, Engine, select, text, update
from sqlalchemy.exc import DBAPIError

from callsheet.tasks.ledger.audit_log import note_act
from callsheet.tasks.ledger.campaigns import campaign_at_work
from callsheet.tasks.ledger.copies import (
    copy_tables,
    count_lines,
    empty_tables,
    give_name,
    keep_logs,
    made_way,
    remove_left,
    sync_file,
    temporary,
)
from callsheet.tasks.ledger.database import (
    ledger_file,
    ledger_url,
    make_engine,
    shown_address,
    trouble,
)
from callsheet.tasks.ledger.migrate import (
    MAKE_ONE,
    ensure_schema,
    opened,
    upgrade,
)
from callsheet.tasks.ledger.schema import campaigns, leases
from callsheet.tasks.ledger.soundness import unsound
from callsheet.tasks.runtime.crash_points import crashpoint
from callsheet.tasks.runtime.errors import (
    BadInput,
    LedgerDamaged,
    LedgerError,
    LedgerFull,
    LedgerNewer,
)
from callsheet.tasks.runtime.files import sync_folder

_INSTEAD = "--instead restores the backup and stores the existing ledger next to it"


@dataclass(frozen=True, kw_only=True)
class Backup:
    """A complete backup on the disk: where, how many bytes, how many lines of all tables.

    `noted` says whether the ledger has a note of it; a ledger that is read-only has none.
    """

    path: Path
    size: int
    lines: int
    noted: bool


@dataclass(frozen=True, kw_only=True)
class Restored:
    """What a ledger was made of: how many lines; and where the one before it is, if any was."""

    lines: int
    before: Path | None


def back_up(address: str, to: Path, *, by: str, at: float) -> Backup:
    """Copy the ledger at `address` into a new file, or into a folder under a name of its moment.

    A ledger that this user may only read is copied, too.

    Nothing appears there before it is whole, proved and on the disk. Raises BadInput where a file
    already exists, LedgerError where there is no ledger, or it cannot be read or written.
    """
    path = to / f"ledger-{_moment(at)}.db" if to.is_dir() else to
    if path.exists():
        raise BadInput(
            f"{path} already exists, and a backup replaces no other; nothing was written",
            remedy="name another file, or a folder: the name is made of the moment then",
        )
    with _room_at(path.parent):
        remove_left(path.parent, at=at)
        with opened(address) as source:
            lines = _copy_into(path, source)
            noted = _note_backup(source, lines, by=by, at=at)
        return Backup(path=path, size=path.stat().st_size, lines=lines, noted=noted)


def _note_backup(source: Engine, lines: int, *, by: str, at: float) -> bool:
    """Note a backup in its ledger. Return False where that fails: the backup is complete."""
    try:
        with source.begin() as connection:
            note_act(connection, act="backup", by=by, at=at, words=f"{lines} lines")
    except (DBAPIError, LedgerError):
        return False
    return True


@contextmanager
def _room_at(folder: Path) -> Iterator[None]:
    """Raise LedgerError that names `folder`, where a copy is made, when its disk is full."""
    try:
        yield
    except (OSError, LedgerFull) as error:
        if isinstance(error, OSError) and error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise LedgerError(
            f"the disk of {folder} is full; no copy was left there, and the ledger is as it was",
            remedy="make room there, or name a file on another disk",
        ) from error


def restore(address: str, backup: Path, *, by: str, at: float, instead: bool) -> Restored:
    """Make the ledger at `address` what a backup says; `instead` of what is there, if anything is.

    What was there is kept in a file next to it, whole. Raises BadInput where there is something and
    not `instead`, LedgerError for a backup that is none or is damaged, and for a ledger that
    someone has open.
    """
    if not backup.is_file():
        raise BadInput(f"there is no file {backup}; the ledger is as it was")
    url = ledger_url(address)
    file = ledger_file(url)
    folder = file.parent if file else backup.parent
    remove_left(folder, at=at)
    with _taken_for_copy(backup, folder) as copy:
        if file is None:
            return _restore_server(address, copy, backup, by=by, at=at, instead=instead)
        with _room_at(folder):
            lines = _count(copy, by=by, at=at, backup=backup)
            before = file.with_name(f"{file.name}.before-{_moment(at)}")
            return Restored(lines=lines, before=_put(copy, file, before, instead=instead))


def _put(copy: Path, file: Path, before: Path, *, instead: bool) -> Path | None:
    """Put a copy in the place of a ledger's file; return where that is now, if there was one."""
    if not file.exists() or not file.stat().st_size:
        # To open it would have SQLite remove a log that was left.
        keep_logs(file, before)
        file.unlink(missing_ok=True)
        give_name(copy, file)
        return None
    _check_place(file, instead=instead)
    with made_way(file, before):
        crashpoint("ledger: before a backup is put in its place")
        os.replace(copy, file)
    sync_folder(file.parent)
    return before


def copy_aside(address: str, schema: str, *, at: float) -> Path | None:
    """Copy an SQLite ledger of an older schema next to itself, as it is; None on PostgreSQL."""
    file = ledger_file(ledger_url(address))
    if file is None:
        return None
    kept = file.with_name(f"{file.name}.schema-{schema}-{_moment(at)}")
    remove_left(file.parent, at=at)
    with temporary(kept) as copy:
        _copy_file(file, copy)
        give_name(copy, kept)
    return kept


def _copy_into(path: Path, source: Engine) -> int:
    """Copy a ledger into a new file; return how many lines it has."""
    with temporary(path) as copy:
        file = ledger_file(source.url)
        if file is not None:
            _copy_file(file, copy)
        else:
            with source.connect() as reading:
                one_moment = {"isolation_level": "REPEATABLE READ"}
                _copy_server(reading.execution_options(**one_moment), copy)
        return _named(copy, path)


def _named(copy: Path, path: Path) -> int:
    """Give a copy its name once it is proved; return how many lines it has."""
    lines = _prove(copy)
    crashpoint("ledger: before a backup has its name")
    give_name(copy, path)
    return lines


def _copy_file(file: Path, copy: Path) -> None:
    """Copy an SQLite ledger as it is at one moment, with what is in its `-wal` alone."""
    source, target = sqlite3.connect(file), sqlite3.connect(copy)
    with contextlib.closing(source), contextlib.closing(target):
        try:
            source.backup(target)
        except sqlite3.Error as error:
            if "full" in str(error):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(copy)) from error
            raise trouble(error, str(file)) from error
    sync_file(copy)


def _copy_server(reading: Connection, copy: Path) -> None:
    """Copy a ledger on PostgreSQL as a connection sees it."""
    upgrade(f"sqlite:///{copy}", create=True)
    target = make_engine(ledger_url(f"sqlite:///{copy}"), writes=True)
    try:
        with target.begin() as writing:
            copy_tables(reading, writing)
    except DBAPIError as error:
        raise trouble(error, str(copy.parent)) from error
    finally:
        target.dispose()


def _prove(copy: Path) -> int:
    """Bring a copy to one file on the disk; return its lines, or raise LedgerError."""
    address = f"sqlite:///{copy}"
    with opened(address) as engine, engine.connect() as reading:
        if found := [one for one in unsound(reading) if one.is_damage]:
            raise LedgerDamaged(f"the copy is damaged: {found[0].words}; nothing was written")
        lines = count_lines(reading)
    connection = sqlite3.connect(copy, isolation_level=None)
    with contextlib.closing(connection):
        # A backup is one file: nothing of it may be in a log next to it.
        connection.execute("PRAGMA journal_mode=DELETE")
    sync_file(copy)
    return lines


@contextmanager
def _taken_for_copy(backup: Path, folder: Path) -> Iterator[Path]:
    """Yield a proved copy of a backup, of this program's schema: the backup stays as it is."""
    log = backup.with_name(f"{backup.name}-wal")
    if log.exists():
        raise LedgerError(
            f"{backup} is a ledger that was in use, not a backup: its newest lines are in "
            f"{log.name}; the ledger is as it was",
            remedy="make one with `callsheet ledger backup FILE`",
        )
    with temporary(folder / backup.name) as copy:
        with _room_at(folder):
            _copy_backup(backup, copy)
        yield copy


def _copy_backup(backup: Path, copy: Path) -> None:
    try:
        shutil.copyfile(backup, copy)
        # It may be of an older release.
        upgrade(f"sqlite:///{copy}")
        _prove(copy)
    except LedgerFull:
        raise
    except LedgerError as error:
        words = str(error).replace(str(copy), str(backup))
        raise LedgerError(
            f"{backup} cannot be restored: {words}; the ledger is as it was",
            remedy="restore another backup; one of a later Callsheet needs that version",
        ) from error


def _count(copy: Path, *, by: str, at: float, backup: Path) -> int:
    """Note in a copy that it was restored, with no one at work on it; return the backup's lines."""
    with opened(f"sqlite:///{copy}") as engine, engine.begin() as connection:
        lines = count_lines(connection)
        _note(connection, by=by, at=at, backup=backup)
    _prove(copy)
    return lines


def _note(connection: Connection, *, by: str, at: float, backup: Path) -> None:
    connection.execute(update(leases).values(owner=None))
    note_act(connection, act="restore", by=by, at=at, words=backup.name)


def _check_place(file: Path, *, instead: bool) -> None:
    """Raise what keeps the file of a ledger from being replaced."""
    try:
        with opened(f"sqlite:///{file}") as engine, engine.connect() as connection:
            _check_free(connection, str(file), instead=instead)
    except (LedgerDamaged, LedgerNewer) as error:
        # That may be why: after an upgrade, the version before is asked to restore its backup.
        if not instead:
            raise BadInput(f"{error}; it is as it was", remedy=_INSTEAD) from error
    except LedgerError as error:
        if error.remedy != MAKE_ONE:
            raise


def _check_free(connection: Connection, shown: str, *, instead: bool) -> None:
    """Raise where there is a ledger with something in it, or a run that is at work."""
    if (name := campaign_at_work(connection)) is not None:
        raise LedgerError(
            f"a run is at work on {name}; the ledger is as it was",
            remedy="stop it, and whatever else uses the ledger, then restore again",
        )
    if instead or connection.execute(select(campaigns.c.id).limit(1)).first() is None:
        return
    raise BadInput(
        f"there is a ledger at {shown} already; it is as it was",
        remedy=_INSTEAD,
    )


def _restore_server(
    address: str, copy: Path, backup: Path, *, by: str, at: float, instead: bool
) -> Restored:
    """Put a backup's lines into a database on PostgreSQL, in one transaction."""
    engine = make_engine(ledger_url(address), writes=True)
    shown = shown_address(engine.url)
    before = None
    try:
        ensure_schema(reader=engine, writer=engine, create=True)
        with engine.connect() as connection:
            _check_free(connection, shown, instead=instead)
        crashpoint("ledger: before what is there is locked")
        with engine.begin() as writing, opened(f"sqlite:///{copy}") as source:
            _lock(writing)
            _check_free(writing, shown, instead=instead)
            if count_lines(writing) > 0:
                # No one writes any more: nothing is removed that is not in it.
                before = backup.absolute().with_name(f"ledger.before-{_moment(at)}.db")
                with _room_at(before.parent), temporary(before) as kept:
                    _copy_server(writing, kept)
                    _named(kept, before)
            empty_tables(writing)
            with source.connect() as reading:
                lines = copy_tables(reading, writing)
            _note(writing, by=by, at=at, backup=backup)
            crashpoint("ledger: before what is restored is committed")
        return Restored(lines=lines, before=before)
    except DBAPIError as error:
        raise trouble(error, shown) from error
    finally:
        engine.dispose()


def _lock(connection: Connection) -> None:
    # Anyone who writes meanwhile waits, and then works with what was restored.
    quoted = map(connection.dialect.identifier_preparer.quote, campaigns.metadata.tables)
    connection.execute(text(f"LOCK TABLE {', '.join(quoted)} IN ACCESS EXCLUSIVE MODE"))


def _moment(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H-%M-%SZ}"
