"""A whole ledger from one database into another, of either kind: every line of every table.

Knows no table by name: what a later version adds is copied as well.
"""

from __future__ import annotations

from sqlalchemy import Connection, func, inspect, select, text

# Their tables are the ledger's as well.
from callsheet.tasks.ledger import schema_board, schema_crews, schema_nights  # noqa: F401
from callsheet.tasks.ledger.schema import metadata

#: Lines that are in memory at once.
PAGE = 500


def copy_tables(source: Connection, target: Connection) -> int:
    """Copy every line into tables that are empty; return how many lines that were.

    Both have the newest schema. What `target` has afterwards is for its transaction to commit.
    """
    lines = 0
    for table in metadata.sorted_tables:
        found = source.execute(select(table), execution_options={"yield_per": PAGE})
        for page in found.mappings().partitions():
            target.execute(table.insert(), [dict(line) for line in page])
            lines += len(page)
    if target.dialect.name == "postgresql":
        _count_on(target)
    return lines


def count_lines(connection: Connection) -> int:
    """Return how many lines a ledger of any schema has, over all its tables."""
    there = set(inspect(connection).get_table_names())
    tables = (table for table in metadata.sorted_tables if table.name in there)
    counts = (select(func.count()).select_from(table) for table in tables)
    return sum(connection.execute(count).scalar_one() for count in counts)


def empty_tables(connection: Connection) -> None:
    """Remove every line of every table."""
    for table in reversed(metadata.sorted_tables):
        connection.execute(table.delete())


def _count_on(target: Connection) -> None:
    """Have PostgreSQL number what comes next after what was copied, numbers and all."""
    for table in metadata.sorted_tables:
        if (column := table.autoincrement_column) is not None:
            named = {"table": table.name, "column": column.name}
            sequence = text("SELECT pg_get_serial_sequence(:table, :column)")
            if (name := target.execute(sequence, named).scalar()) is not None:
                most = select(func.coalesce(func.max(column), 0) + 1).scalar_subquery()
                target.execute(select(func.setval(name, most, False)))
