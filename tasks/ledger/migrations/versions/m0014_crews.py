"""Crews: what several machines carry together, and who has which rows."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "productions",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("campaign_id", _ID, nullable=False),
        sa.Column("owner", sa.String(length=200), nullable=False),
        sa.Column("crews", sa.Integer(), nullable=False),
        sa.Column("batch_size", sa.Integer(), nullable=False),
        sa.Column("organisation", sa.String(length=64), nullable=False),
        sa.Column("store", sa.Text(), nullable=False),
        sa.Column("terms", sa.Text(), nullable=False),
        sa.Column("begun_at", sa.Float(), nullable=False),
        sa.Column("hinted", sa.Boolean(), nullable=False),
        sa.Column("stopped", sa.Text(), nullable=True),
        sa.Column("stopped_until", sa.Float(), nullable=True),
        sa.Column("ended_at", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(
            ["campaign_id"], ["campaigns.id"], name=op.f("fk_productions_campaign_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_productions")),
    )
    op.create_index(op.f("ix_productions_campaign_id"), "productions", ["campaign_id"])
    op.create_table(
        "batches",
        sa.Column("id", _ID, nullable=False),
        sa.Column("production_id", sa.String(length=32), nullable=False),
        sa.Column("crew", sa.Integer(), nullable=False),
        sa.Column("holder", sa.String(length=200), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("claimed_at", sa.Float(), nullable=False),
        sa.Column("until", sa.Float(), nullable=False),
        sa.Column("ended_at", sa.Float(), nullable=True),
        sa.Column("freed_at", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(
            ["production_id"], ["productions.id"], name=op.f("fk_batches_production_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_batches")),
    )
    op.create_index(op.f("ix_batches_production_id_holder"), "batches", ["production_id", "holder"])
    # One column with nothing in it: no row is written anew.
    op.add_column("rows", sa.Column("batch_id", _ID, nullable=True))
    claimed = sa.text("batch_id IS NOT NULL")
    op.create_index(
        "ix_rows_batch", "rows", ["batch_id"], sqlite_where=claimed, postgresql_where=claimed
    )
