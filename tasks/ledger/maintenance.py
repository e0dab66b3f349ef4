"""Maintenance of a ledger: check it, create it, upgrade it, drop old records, make it small."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, Engine, delete, func, select

from callsheet.tasks.ledger.audit_log import note_act
from callsheet.tasks.ledger.backup import copy_aside
from callsheet.tasks.ledger.campaigns import campaign_at_work
from callsheet.tasks.ledger.copies import count_lines
from callsheet.tasks.ledger.database import (
    LOCK_WAIT,
    check_upgradable,
    ledger_file,
    ledger_url,
    make_file,
    shown_address,
)
from callsheet.tasks.ledger.dialect import dialect_of
from callsheet.tasks.ledger.migrate import MAKE_ONE, opened, schema_of, upgrade
from callsheet.tasks.ledger.plans import drop_old_plans
from callsheet.tasks.ledger.runs import drop_old_runs
from callsheet.tasks.ledger.schema import REVISION, events, rows
from callsheet.tasks.ledger.schema_runs import acts, logins, sessions
from callsheet.tasks.ledger.soundness import Unsound, unsound
from callsheet.tasks.ledger.values import UNDER_WAY
from callsheet.tasks.ledger.webhook_events import drop_old_hints
from callsheet.tasks.runtime.errors import LedgerError


@dataclass(frozen=True, kw_only=True)
class LedgerCheck:
    """What was found of a ledger: problems, bytes, lines, and its last backup (Unix).

    `thorough` says whether problems were looked for.
    """

    address: str
    thorough: bool
    problems: tuple[Unsound, ...]
    size: int
    lines: int
    backup_at: float | None


def check_ledger(address: str, *, thorough: bool = True) -> LedgerCheck:
    """Look at a ledger, `thorough`: through all of it; change nothing.

    Runs that are at work on it go on meanwhile.

    Raises LedgerError where there is none or it cannot be read.
    """
    with opened(address, writes=False) as engine, engine.connect() as connection:
        problems = tuple(unsound(connection)) if thorough else ()
        last = select(func.max(acts.c.at)).where(acts.c.act == "backup")
        return LedgerCheck(
            address=shown_address(engine.url),
            thorough=thorough,
            problems=problems,
            size=size_of(engine),
            lines=count_lines(connection),
            backup_at=connection.scalar(last),
        )


def size_of_ledger(address: str) -> int:
    """Return how many bytes a ledger takes. Raises LedgerError where there is none."""
    with opened(address, writes=False) as engine:
        return size_of(engine)


def make_ledger(address: str) -> bool:
    """Make a ledger where there is none, and return whether; one that is there stays as it is."""
    if schema_of(address) is not None:
        return False
    if (file := ledger_file(ledger_url(address))) is not None:
        make_file(file)
    upgrade(address, create=True)
    return True


def upgrade_ledger(address: str, *, by: str, at: float) -> tuple[str, Path | None]:
    """Bring a ledger to this program's schema; return the schema that it had, and a copy of it.

    An SQLite ledger is copied aside first; one on PostgreSQL is for its own tools to keep. Where
    there was something to do, who did it is among the acts. Raises LedgerError for a ledger that
    cannot be upgraded, and while a run is at work.
    """
    old = schema_of(address)
    if old is None:
        shown = shown_address(ledger_url(address))
        raise LedgerError(f"there is no ledger at {shown} yet", remedy=MAKE_ONE)
    check_upgradable(old)
    if old == REVISION:
        return old, None
    kept = copy_aside(address, old, at=at)
    try:
        upgrade(address)
    except LedgerError:
        if kept is not None and schema_of(address) == old:
            # It is what the ledger still is.
            kept.unlink()
        raise
    with opened(address) as engine, engine.begin() as connection:
        words = f"schema {old} became {REVISION}"
        note_act(connection, act="upgrade", by=by, at=at, words=words)
    return old, kept


def vacuum_ledger(
    address: str, *, at: float, keep_events: float | None, anyway: bool = False
) -> tuple[int, int, int]:
    """Remove what no one needs; return how many lines, and the bytes before and after.

    `keep_events` is for how many seconds the history of rows that rest is kept; None: for good.
    No one can write to an SQLite ledger until it is done: while a run is at work that raises
    LedgerError, unless `anyway`. On PostgreSQL runs go on meanwhile.
    """
    with opened(address) as engine:
        if not anyway and dialect_of(engine).one_writer:
            _check_idle(engine)
        before = size_of(engine)
        until = None if keep_events is None else at - keep_events
        with engine.begin() as connection:
            gone = forget(connection, at=at, events_before=until)
        give_back(engine)
        return gone, before, size_of(engine)


def _check_idle(engine: Engine) -> None:
    with engine.connect() as connection:
        name = campaign_at_work(connection)
    if name is not None:
        raise LedgerError(
            f"a run is at work on {name}, and could write nothing meanwhile; nothing was removed",
            remedy="do it when that has ended; --anyway has the run wait, and where it waits for "
            f"more than {LOCK_WAIT:.0f} s, end",
        )


# What a ledger need not keep for ever, and the room that it took. Moments are Unix seconds.


def forget(connection: Connection, *, at: float, events_before: float | None) -> int:
    """Remove what serves no one any more; return how many lines that were.

    Hints that the service cannot repeat, logins and sessions that are over, plans that expired and
    runs that ended a month ago; where it is asked for, the history before a moment of rows that
    rest. What was paid for is in takes and accounts, which stay whole. The newest event of a
    campaign stays: others count on from it.
    """
    gone = drop_old_hints(connection, at=at)
    gone += connection.execute(delete(sessions).where(sessions.c.expires_at <= at)).rowcount
    # What it made is in the rows: a plan stays as long as its run.
    gone += drop_old_runs(connection, at=at)
    gone += drop_old_plans(connection, at=at)
    gone += connection.execute(delete(logins).where(logins.c.expires_at <= at)).rowcount
    if events_before is not None:
        newest = select(func.max(events.c.id)).group_by(events.c.campaign_id)
        moving = select(rows.c.id).where(rows.c.state.in_(sorted(UNDER_WAY)))
        old = delete(events).where(
            events.c.at < events_before,
            events.c.id.not_in(newest),
            events.c.row_id.is_(None) | events.c.row_id.not_in(moving),
        )
        gone += connection.execute(old).rowcount
    return gone


def give_back(engine: Engine) -> None:
    """Give the room that lines took back to the disk; on SQLite no one writes meanwhile."""
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        dialect_of(connection).give_back(connection)


def size_of(engine: Engine) -> int:
    """Return how many bytes a ledger takes, its log included."""
    return dialect_of(engine).size(engine)
