"""Paid calls that take no idempotency key, and what was there before them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.add_column("takes", sa.Column("abandoned_at", sa.Float(), nullable=True))
    op.create_table(
        "calls",
        sa.Column("id", ID, nullable=False),
        sa.Column("organisation", sa.String(length=64), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("operation", sa.String(length=40), nullable=False),
        sa.Column("take_id", ID, nullable=True),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("opened_at", sa.Float(), nullable=False),
        sa.Column("closed_at", sa.Float(), nullable=True),
        sa.Column("outcome", sa.String(length=16), nullable=True),
        sa.Column("video_id", sa.Text(), nullable=True),
        sa.Column("resolved_at", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(["take_id"], ["takes.id"], name=op.f("fk_calls_take_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_calls")),
    )
    op.create_index(op.f("ix_calls_take_id"), "calls", ["take_id"], unique=False)
    op.create_index(
        "ix_calls_open",
        "calls",
        ["organisation", "target"],
        unique=True,
        sqlite_where=sa.text("closed_at IS NULL"),
        postgresql_where=sa.text("closed_at IS NULL"),
    )
    op.create_table(
        "videos_seen",
        sa.Column("organisation", sa.String(length=64), nullable=False),
        sa.Column("video_id", sa.String(length=200), nullable=False),
        sa.Column("seen_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("organisation", "video_id", name=op.f("pk_videos_seen")),
    )
