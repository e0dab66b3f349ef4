"""Where campaigns come from, and which of them stand apart though rows are the same."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "origins",
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("place", sa.Text(), nullable=False),
        sa.Column("worksheet", sa.Text(), nullable=True),
        sa.Column("at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("campaign_id", "digest", name=op.f("pk_origins")),
        sa.ForeignKeyConstraint(
            ["campaign_id"], ["campaigns.id"], name=op.f("fk_origins_campaign_id")
        ),
    )
    op.create_index(op.f("ix_origins_digest"), "origins", ["digest"])
    op.create_table(
        "separations",
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("other_id", ID, nullable=False),
        sa.PrimaryKeyConstraint("campaign_id", "other_id", name=op.f("pk_separations")),
        sa.ForeignKeyConstraint(
            ["campaign_id"], ["campaigns.id"], name=op.f("fk_separations_campaign_id")
        ),
        sa.ForeignKeyConstraint(
            ["other_id"], ["campaigns.id"], name=op.f("fk_separations_other_id")
        ),
    )
    op.create_index(op.f("ix_takes_digest"), "takes", ["digest"])
