"""How far a campaign's events may be told, so that none is ever left out.

A number is given to an event before it is committed, and PostgreSQL's writers commit in any order:
behind event 105 there may be a 103 still to come, and whoever goes on from 105 would never see it.
SQLite has one writer at a time, whose numbers come in order. Reads only.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, func, select, text

from callsheet.tasks.ledger.schema import events

# Who is adding events has this lock from before the first number is given until the commit.
_WRITERS = text(
    "SELECT DISTINCT virtualtransaction FROM pg_locks WHERE locktype = 'relation' "
    "AND relation = CAST('events' AS regclass) AND mode = 'RowExclusiveLock' AND granted "
    "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)
_NEWEST = select(func.coalesce(func.max(events.c.id), 0))


@dataclass(frozen=True, slots=True)
class Horizon:
    """Up to `told` every event there will ever be can be read; `newest` becomes that once the
    `writers` that were at work when it was read have ended."""

    told: int = 0
    newest: int = 0
    writers: frozenset[str] = frozenset()


def horizon(connection: Connection, before: Horizon | None = None) -> Horizon:
    """Return how far events may be told now; what is read has to be read after that."""
    before = before or Horizon()
    if connection.dialect.name == "sqlite":
        newest = connection.scalar(_NEWEST) or 0
        return Horizon(newest, newest)
    if before.newest > before.told:
        # Numbers that others take meanwhile are later ones.
        left = before.writers & _writers(connection)
        if left:
            return Horizon(before.told, before.newest, left)
        before = Horizon(before.newest, before.newest)
    newest = connection.scalar(_NEWEST) or 0
    if newest <= before.told:
        return before
    # Asked after it: who had a number below that and is not among these has committed by now.
    writers = _writers(connection)
    return Horizon(before.told if writers else newest, newest, writers)


def _writers(connection: Connection) -> frozenset[str]:
    return frozenset(connection.scalars(_WRITERS))
