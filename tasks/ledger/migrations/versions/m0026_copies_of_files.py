"""Rows know where their files are copied to, and the ledger which copies are there."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
# Programs of before copy nothing.
works_with = "0023"

#: SQLite counts up only in a column that it calls INTEGER.
ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.add_column("rows", sa.Column("copies", sa.Text()))
    op.create_table(
        "file_copies",
        sa.Column("id", ID, primary_key=True),
        sa.Column("campaign_id", ID, sa.ForeignKey("campaigns.id"), nullable=False),
        sa.Column("take_id", ID, sa.ForeignKey("takes.id"), nullable=False),
        sa.Column("kind", sa.String(8), nullable=False),
        sa.Column("uri", sa.Text(), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("fault", sa.Text()),
        sa.UniqueConstraint("take_id", "kind", "uri", name="uq_file_copies_take_id_kind_uri"),
    )
    op.create_index("ix_file_copies_campaign_id", "file_copies", ["campaign_id"])
