"""Nights: sweeps of inboxes, the sheets in them, pauses, and notices to people."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "nights",
        sa.Column("id", _ID, nullable=False),
        sa.Column("inbox", sa.String(length=200), nullable=False),
        sa.Column("date", sa.String(length=10), nullable=False),
        sa.Column("zone", sa.String(length=64), nullable=False),
        sa.Column("place", sa.String(length=200), nullable=True),
        sa.Column("begun_at", sa.Float(), nullable=False),
        sa.Column("renewed_at", sa.Float(), nullable=False),
        sa.Column("ended_at", sa.Float(), nullable=True),
        sa.Column("exit", sa.Integer(), nullable=True),
        sa.Column("approved", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("skipped", sa.Text(), nullable=True),
        sa.Column("report", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_nights")),
        sa.UniqueConstraint("inbox", "date", name=op.f("uq_nights_inbox_date")),
    )
    op.create_table(
        "inbox_sheets",
        sa.Column("id", _ID, nullable=False),
        sa.Column("inbox", sa.String(length=200), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("version", sa.String(length=200), nullable=False),
        sa.Column("seen_at", sa.Float(), nullable=False),
        sa.Column("dealt_version", sa.String(length=200), nullable=True),
        sa.Column("digest", sa.String(length=64), nullable=True),
        sa.Column("campaign", sa.String(length=200), nullable=True),
        sa.Column("outcome", sa.String(length=20), nullable=True),
        sa.Column("approved", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("approved_on", sa.String(length=10), nullable=True),
        sa.Column("charged_before", sa.BigInteger(), nullable=True),
        sa.Column("event_before", sa.BigInteger(), nullable=True),
        sa.Column("failures", sa.Integer(), server_default="0", nullable=False),
        sa.Column("failed_on", sa.String(length=10), nullable=True),
        sa.Column("set_aside_at", sa.Float(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_inbox_sheets")),
        sa.UniqueConstraint("inbox", "name", name=op.f("uq_inbox_sheets_inbox_name")),
    )
    op.create_table(
        "pauses",
        sa.Column("inbox", sa.String(length=200), nullable=False),
        sa.Column("until", sa.Float(), nullable=True),
        sa.Column("by", sa.String(length=200), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("inbox", name=op.f("pk_pauses")),
    )
    op.create_table(
        "notices",
        sa.Column("id", _ID, nullable=False),
        sa.Column("key", sa.String(length=200), nullable=False),
        sa.Column("inbox", sa.String(length=200), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("address", sa.String(length=32), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("about", sa.Text(), nullable=False),
        sa.Column("letter", sa.Text(), nullable=True),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.Column("sent_at", sa.Float(), nullable=True),
        sa.Column("tries", sa.Integer(), server_default="0", nullable=False),
        sa.Column("tried_at", sa.Float(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_notices")),
        sa.UniqueConstraint("key", name=op.f("uq_notices_key")),
    )
    op.create_index(op.f("ix_notices_inbox_made_at"), "notices", ["inbox", "made_at"])
