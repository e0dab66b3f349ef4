"""Takes that another ledger may have paid for, and which takes were found instead of paid for."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
# Programs of before would pay for rows that wait for a person's decision.
works_with = "0018"


def upgrade() -> None:
    number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "earlier_takes",
        sa.Column("campaign_id", number, sa.ForeignKey("campaigns.id"), primary_key=True),
        sa.Column("row", sa.String(200), primary_key=True),
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("nth", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("sent_at", sa.Float(), nullable=True),
        sa.Column("video_id", sa.Text(), nullable=True),
        sa.Column("line", sa.Text(), nullable=True),
        sa.Column("noted_at", sa.Float(), nullable=False),
        sa.Column("refused_at", sa.Float(), nullable=True),
        sa.Column("why", sa.Text(), nullable=True),
        sa.Column("allowed_at", sa.Float(), nullable=True),
        sa.Column("allowed_by", sa.String(200), nullable=True),
    )
    op.add_column("takes", sa.Column("found_at", sa.Float(), nullable=True))
    found = sa.text("found_at IS NOT NULL")
    op.create_index(
        "ix_takes_found",
        "takes",
        ["campaign_id", "charged"],
        sqlite_where=found,
        postgresql_where=found,
    )
