"""What the headers of uploaded sheets mean is remembered."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
works_with = "0023"


def upgrade() -> None:
    op.create_table(
        "header_columns",
        sa.Column("headers", sa.String(length=64), nullable=False),
        sa.Column("columns", sa.Text(), nullable=False),
        sa.Column("by", sa.String(length=200), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("headers", name="pk_header_columns"),
    )
