"""The first schema: the tables that `tasks.ledger.schema` and `schema_runs` describe.

Until the first release, a change of a table needs the next number (`FIRST`, `REVISION`) alone: a
ledger of an older checkout is refused. Whoever adds the second migration writes the tables out here
first, as the first release has them.
"""

from __future__ import annotations

from alembic import op

from callsheet.tasks.ledger import schema_runs  # noqa: F401

# Their tables are the ledger's as well.
from callsheet.tasks.ledger.schema import FIRST, metadata

revision = FIRST
down_revision = None


def upgrade() -> None:
    database = op.get_bind()
    for index in (one for table in metadata.tables.values() for one in table.indexes):
        # The tables name the condition of an index once, for SQLite.
        where = index.dialect_options["sqlite"]["where"]
        index.dialect_options[database.dialect.name]["where"] = where
    metadata.create_all(database, checkfirst=False)
