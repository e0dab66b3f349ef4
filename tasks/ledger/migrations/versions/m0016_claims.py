"""The order in which crews claim: a batch is read from it, however many rows wait."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    claimed = sa.text("batch_id IS NOT NULL")
    op.create_index(
        "ix_rows_claims",
        "rows",
        ["batch_id", "state", sa.text("priority DESC"), "position", "id"],
        sqlite_where=claimed,
        postgresql_where=claimed,
    )
    # It begins like that one.
    op.drop_index("ix_rows_batch", table_name="rows")
