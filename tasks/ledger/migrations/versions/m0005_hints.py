"""The inbox of webhook deliveries, and the subscriptions that fill it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "hints",
        sa.Column("id", ID, nullable=False),
        sa.Column("event_id", sa.String(length=200), nullable=True),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("nonce", sa.String(length=40), nullable=False),
        sa.Column("kind", sa.String(length=60), nullable=True),
        sa.Column("ping", sa.Boolean(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=True),
        sa.Column("told_at", sa.Float(), nullable=True),
        sa.Column("heard_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_hints")),
        sa.UniqueConstraint("event_id", name=op.f("uq_hints_event_id")),
        sa.UniqueConstraint("digest", name=op.f("uq_hints_digest")),
    )
    op.create_index(op.f("ix_hints_heard_at"), "hints", ["heard_at"])
    op.create_table(
        "hinted",
        sa.Column("hint_id", ID, nullable=False),
        sa.Column("video_id", sa.String(length=200), nullable=False),
        sa.PrimaryKeyConstraint("hint_id", "video_id", name=op.f("pk_hinted")),
        sa.ForeignKeyConstraint(
            ["hint_id"], ["hints.id"], name=op.f("fk_hinted_hint_id"), ondelete="CASCADE"
        ),
    )
    op.create_index(op.f("ix_hinted_video_id"), "hinted", ["video_id"])
    op.create_table(
        "subscriptions",
        sa.Column("nonce", sa.String(length=40), nullable=False),
        sa.Column("organisation", sa.String(length=64), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("place", sa.Text(), nullable=False),
        sa.Column("webhook_id", sa.String(length=200), nullable=True),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.Column("retired_at", sa.Float(), nullable=True),
        sa.PrimaryKeyConstraint("nonce", name=op.f("pk_subscriptions")),
    )
