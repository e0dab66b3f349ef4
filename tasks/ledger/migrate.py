"""Bring a ledger to this program's schema: made when new, upgraded when older, else refused."""

from __future__ import annotations

from sqlalchemy import Connection, Engine, inspect, text

from tasks.errors import LedgerError
from tasks.ledger.schema import REVISION

#: Any number, the same in every process: who holds it may change the schema (PostgreSQL).
_ADVISORY_LOCK = 0x63616C6C


def upgrade(*, reader: Engine, writer: Engine) -> None:
    """Bring the database to REVISION, one process at a time; raise LedgerError for a newer one."""
    with reader.connect() as connection:
        if revision_of(connection) == REVISION:
            return
    with writer.begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:n)"), {"n": _ADVISORY_LOCK})
        # Somebody else may have done it while this process waited for the lock.
        if revision_of(connection) != REVISION:
            _run_alembic(connection)


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
