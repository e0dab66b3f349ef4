"""Bring a ledger to this program's schema: made when new, upgraded when older, else refused."""

from __future__ import annotations

import threading

from sqlalchemy import Connection, Engine, inspect, text

from tasks.crash import crashpoint
from tasks.errors import LedgerError
from tasks.ledger.schema import REVISION

MAKE_ONE = "`callsheet run SHEET` makes one; or set CALLSHEET_LEDGER"

#: Any number, the same in every process: who holds it may change the schema (PostgreSQL).
_ADVISORY_LOCK = 0x63616C6C


#: Alembic's context is one for the whole process.
_ONE_AT_A_TIME = threading.Lock()


def upgrade(*, reader: Engine, writer: Engine, create: bool) -> None:
    """Bring the database to REVISION, one process at a time.

    Raises LedgerError for a newer one, and without `create` for a database without a ledger.
    """
    with reader.connect() as connection:
        found = revision_of(connection)
    if found == REVISION:
        return
    if found is None and not create:
        raise LedgerError("there is no ledger in this database yet", remedy=MAKE_ONE)
    with writer.begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:n)"), {"n": _ADVISORY_LOCK})
        # Somebody else may have done it while this process waited for the lock.
        if revision_of(connection) != REVISION:
            with _ONE_AT_A_TIME:
                _run_alembic(connection)
        crashpoint("ledger: before the schema is committed")
    crashpoint("ledger: after the schema is committed")


def revision_of(connection: Connection) -> str | None:
    """Return the schema revision, or None for a database without a ledger."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    found = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return None if found is None else str(found)


def _run_alembic(connection: Connection) -> None:
    # Alembic costs 0.15 s to import; only a ledger that needs it pays.
    from alembic import command
    from alembic.config import Config
    from alembic.util.exc import CommandError

    config = Config()
    config.set_main_option("script_location", "tasks.ledger:migrations")
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    found = revision_of(connection)
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        raise LedgerError(
            f"this ledger has schema {found}, which is newer than this Callsheet knows "
            f"({REVISION}); nothing was spent",
            remedy="upgrade Callsheet, or point CALLSHEET_LEDGER at another ledger",
        ) from error
