"""The first ledger: campaigns, rows, takes, deliveries, events and gates."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "campaigns",
        sa.Column("id", ID, nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("sheet", sa.Text(), nullable=True),
        sa.Column("sheet_digest", sa.String(length=64), nullable=True),
        sa.Column("budget", sa.BigInteger(), nullable=True),
        sa.Column("reserved", sa.BigInteger(), nullable=False),
        sa.Column("charged", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("cancel_requested_at", sa.Float(), nullable=True),
        sa.Column("owner", sa.String(length=200), nullable=True),
        sa.Column("owner_since", sa.Float(), nullable=True),
        sa.Column("owner_until", sa.Float(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_campaigns")),
        sa.UniqueConstraint("name", name=op.f("uq_campaigns_name")),
    )
    op.create_table(
        "gates",
        sa.Column("organisation", sa.String(length=64), nullable=False),
        sa.Column("closed_until", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("organisation", name=op.f("pk_gates")),
    )
    op.create_table(
        "rows",
        sa.Column("id", ID, nullable=False),
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("row", sa.String(length=200), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("line", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("since", sa.Float(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("operation", sa.String(length=40), nullable=False),
        sa.Column("request", sa.Text(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("nth", sa.Integer(), nullable=False),
        sa.Column("captions", sa.String(length=40), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("max_credits", sa.BigInteger(), nullable=True),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("cost_center", sa.Text(), nullable=True),
        sa.Column("notes", sa.Text(), nullable=True),
        sa.Column("cells", sa.Text(), nullable=False),
        sa.Column("quoted", sa.BigInteger(), nullable=True),
        sa.Column("quoted_at", sa.Float(), nullable=True),
        sa.Column("take_id", ID, nullable=True),
        sa.ForeignKeyConstraint(
            ["campaign_id"], ["campaigns.id"], name=op.f("fk_rows_campaign_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_rows")),
        sa.UniqueConstraint("campaign_id", "row", name=op.f("uq_rows_campaign_id_row")),
    )
    op.create_index(
        op.f("ix_rows_campaign_id_state"), "rows", ["campaign_id", "state"], unique=False
    )
    op.create_table(
        "takes",
        sa.Column("id", ID, nullable=False),
        sa.Column("row_id", ID, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("nth", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("quoted", sa.BigInteger(), nullable=True),
        sa.Column("reserved", sa.BigInteger(), nullable=False),
        sa.Column("charged", sa.BigInteger(), nullable=True),
        sa.Column("video_id", sa.Text(), nullable=True),
        sa.Column("intended_at", sa.Float(), nullable=False),
        sa.Column("accepted_at", sa.Float(), nullable=True),
        sa.Column("refused_at", sa.Float(), nullable=True),
        sa.Column("ready_at", sa.Float(), nullable=True),
        sa.Column("delivered_at", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(["row_id"], ["rows.id"], name=op.f("fk_takes_row_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_takes")),
        sa.UniqueConstraint("key", name=op.f("uq_takes_key")),
        sa.UniqueConstraint("row_id", "number", name=op.f("uq_takes_row_id_number")),
    )
    op.create_index(op.f("ix_takes_video_id"), "takes", ["video_id"], unique=False)
    op.create_table(
        "deliveries",
        sa.Column("id", ID, nullable=False),
        sa.Column("take_id", ID, nullable=False),
        sa.Column("kind", sa.String(length=8), nullable=False),
        sa.Column("uri", sa.Text(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=True),
        sa.Column("verified_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["take_id"], ["takes.id"], name=op.f("fk_deliveries_take_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_deliveries")),
        sa.UniqueConstraint("take_id", "kind", name=op.f("uq_deliveries_take_id_kind")),
    )
    op.create_table(
        "events",
        sa.Column("id", ID, nullable=False),
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("row_id", ID, nullable=True),
        sa.Column("take_id", ID, nullable=True),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("old", sa.String(length=16), nullable=True),
        sa.Column("new", sa.String(length=16), nullable=True),
        sa.Column("words", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["campaign_id"], ["campaigns.id"], name=op.f("fk_events_campaign_id")
        ),
        sa.ForeignKeyConstraint(["row_id"], ["rows.id"], name=op.f("fk_events_row_id")),
        sa.ForeignKeyConstraint(["take_id"], ["takes.id"], name=op.f("fk_events_take_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_events")),
    )
    op.create_index(op.f("ix_events_campaign_id"), "events", ["campaign_id"], unique=False)
    op.create_index(op.f("ix_events_row_id"), "events", ["row_id"], unique=False)
