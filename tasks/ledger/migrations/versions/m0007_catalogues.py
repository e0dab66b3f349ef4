"""What a service told of its tools, characters and templates."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.create_table(
        "catalogues",
        sa.Column("base_url", sa.String(length=500), nullable=False),
        sa.Column("told_at", sa.Float(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("base_url", name=op.f("pk_catalogues")),
    )
