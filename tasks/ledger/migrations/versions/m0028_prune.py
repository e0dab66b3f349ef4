"""Rows keep the id that they had first; takes say when their videos were deleted."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"
works_with = "0023"


def upgrade() -> None:
    op.add_column("rows", sa.Column("first_id", sa.String(200)))
    renamed = sa.text("first_id IS NOT NULL")
    op.create_index(
        "ix_rows_renamed",
        "rows",
        ["campaign_id", "first_id"],
        sqlite_where=renamed,
        postgresql_where=renamed,
    )
    op.add_column("takes", sa.Column("deleted_at", sa.Float()))
    op.add_column("takes", sa.Column("deleted_by", sa.String(200)))
    op.add_column("campaigns", sa.Column("keep_at_service", sa.Float()))
