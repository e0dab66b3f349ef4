"""What a ledger need not keep for ever, and the room that it took. Moments are Unix seconds."""

from __future__ import annotations

from sqlalchemy import Connection, Engine, delete, func, select, text

from callsheet.tasks.ledger.database import ledger_file
from callsheet.tasks.ledger.hints import drop_old_hints
from callsheet.tasks.ledger.plans import drop_old_plans
from callsheet.tasks.ledger.schema import events, rows
from callsheet.tasks.ledger.schema_board import logins, sessions
from callsheet.tasks.ledger.states import UNDER_WAY


def forget(connection: Connection, *, at: float, events_before: float | None) -> int:
    """Remove what serves nobody any more; return how many lines that were.

    Hints that the service cannot repeat, logins and sessions that are over, plans that expired a
    month ago; where it is asked for, the history before a moment of rows that rest. What was paid
    for is in takes and accounts, which stay whole. The newest event of a campaign stays: others
    count on from it.
    """
    gone = drop_old_hints(connection, at=at)
    gone += connection.execute(delete(sessions).where(sessions.c.expires_at <= at)).rowcount
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
    """Give the room that lines took back to the disk; on SQLite nobody writes meanwhile."""
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("COMMIT")
            connection.exec_driver_sql("VACUUM")
            # What was written is in the log as yet.
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
            connection.exec_driver_sql("BEGIN")
        else:
            connection.exec_driver_sql("VACUUM (ANALYZE)")


def size_of(engine: Engine) -> int:
    """Return how many bytes a ledger takes, its log included."""
    if (file := ledger_file(engine.url)) is not None:
        log = file.with_name(f"{file.name}-wal")
        return file.stat().st_size + (log.stat().st_size if log.exists() else 0)
    with engine.connect() as connection:
        size = text("SELECT pg_database_size(current_database())")
        return int(connection.execute(size).scalar_one())
