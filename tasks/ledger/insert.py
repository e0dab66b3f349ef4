"""Insert what may be there already, in either database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite


def insert_unless_there(connection: Connection, table: Table, values: Mapping[str, Any]) -> bool:
    """Insert a row; return False where another process was first."""
    # Its key is asked for, since psycopg counts no rows where SQLAlchemy fetches keys by itself.
    key = next(iter(table.primary_key.columns))
    statement = _insert(connection, table).values(**values).on_conflict_do_nothing()
    return connection.execute(statement.returning(key)).first() is not None


def insert_missing(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert those of several rows that are not there."""
    if rows:
        connection.execute(_insert(connection, table).on_conflict_do_nothing(), rows)


def _insert(connection: Connection, table: Table) -> Any:
    return (sqlite if connection.dialect.name == "sqlite" else postgresql).insert(table)
