"""Bring a ledger to this program's schema: made when new, upgraded when older, else refused."""

from __future__ import annotations

import threading

from sqlalchemy import Connection, Engine, inspect, text

from tasks.crash import crashpoint
from tasks.errors import LedgerError, LedgerNewer
from tasks.ledger.schema import REVISION, VERSION_TABLE, metadata

MAKE_ONE = "`callsheet run SHEET` makes one; or set CALLSHEET_LEDGER"

#: What the table of the version was called at first, and what else a ledger has had from the start.
_FORMERLY = "alembic_version"
_FROM_THE_START = {"campaigns", "rows", "takes", "gates"}

#: Any number, the same in every process: who holds it may change the schema (PostgreSQL).
_ADVISORY_LOCK = 0x63616C6C


#: Alembic's context is one for the whole process.
_ONE_AT_A_TIME = threading.Lock()


def upgrade(*, reader: Engine, writer: Engine, create: bool) -> None:
    """Bring the database to REVISION, one process at a time.

    Raises LedgerError for a newer one, for another application's, and without `create` for a
    database without a ledger.
    """
    with reader.connect() as connection:
        table = _version_table(connection)
        if table == VERSION_TABLE and _number_in(connection, table) == REVISION:
            return
        if table is None:
            _check_free(connection)
    if table is None and not create:
        raise LedgerError("there is no ledger in this database yet", remedy=MAKE_ONE)
    with writer.begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:n)"), {"n": _ADVISORY_LOCK})
        # Somebody else may have done it while this process waited for the lock.
        if _version_table(connection) == _FORMERLY:
            _rename_version_table(connection)
        if revision_of(connection) != REVISION:
            with _ONE_AT_A_TIME:
                _run_alembic(connection)
        crashpoint("ledger: before the schema is committed")
    crashpoint("ledger: after the schema is committed")


def revision_of(connection: Connection) -> str | None:
    """Return the schema revision, or None for a database without a ledger."""
    table = _version_table(connection)
    return None if table is None else _number_in(connection, table)


def _number_in(connection: Connection, table: str) -> str | None:
    found = connection.execute(text(f"SELECT version_num FROM {table}")).scalar()
    return None if found is None else str(found)


def _version_table(connection: Connection) -> str | None:
    """Return the table that says which schema a ledger has; another application's is none."""
    inspector = inspect(connection)
    if inspector.has_table(VERSION_TABLE):
        return VERSION_TABLE
    if not inspector.has_table(_FORMERLY):
        return None
    return _FORMERLY if set(inspector.get_table_names()) >= _FROM_THE_START else None


def _rename_version_table(connection: Connection) -> None:
    # Not ALTER TABLE: its key would keep the name that the next application's would have.
    connection.execute(
        text(
            f"CREATE TABLE {VERSION_TABLE} (version_num VARCHAR(32) NOT NULL, "
            f"CONSTRAINT {VERSION_TABLE}_pkc PRIMARY KEY (version_num))"
        )
    )
    connection.execute(
        text(f"INSERT INTO {VERSION_TABLE} (version_num) SELECT version_num FROM {_FORMERLY}")
    )
    connection.execute(text(f"DROP TABLE {_FORMERLY}"))


def _check_free(connection: Connection) -> None:
    """Raise LedgerError where a database without a ledger is another application's."""
    # Their tables are the ledger's as well.
    from tasks.ledger import schema_board, schema_crews, schema_nights  # noqa: F401

    there = set(inspect(connection).get_table_names())
    taken = sorted(there & set(metadata.tables))
    # Somebody else may have made the ledger by now.
    if VERSION_TABLE in there or not (taken or _FORMERLY in there):
        return
    whose = "Prefect's own" if "flow_run" in there else "another application's"
    shown = ", ".join((taken or sorted(there))[:5])
    remedy = "name another file with CALLSHEET_LEDGER"
    if connection.dialect.name == "postgresql":
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
    from alembic.util.exc import CommandError

    config = Config()
    config.set_main_option("script_location", "tasks.ledger:migrations")
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    found = revision_of(connection)
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        raise LedgerNewer(
            f"this ledger has schema {found}, which is newer than this Callsheet knows "
            f"({REVISION}); nothing was spent",
            remedy="upgrade Callsheet, or point CALLSHEET_LEDGER at another ledger",
        ) from error
