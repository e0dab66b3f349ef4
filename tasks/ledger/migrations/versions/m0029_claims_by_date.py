"""Workers claim rows by their date, too."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"
works_with = "0023"


def upgrade() -> None:
    op.drop_index("ix_rows_claims", "rows")
    claimed = sa.text("batch_id IS NOT NULL")
    op.create_index(
        "ix_rows_claims",
        "rows",
        ["batch_id", "state", sa.text("priority DESC"),
         sa.text("coalesce(deliver_by, 1000000000000.0)"), "position", "id"],
        sqlite_where=claimed,
        postgresql_where=claimed,
    )  # fmt: skip
