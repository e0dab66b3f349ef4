"""The pace of creates that all processes of a key keep to."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    for name in ("rate", "rate_since", "next_at"):
        op.add_column("gates", sa.Column(name, sa.Float(), nullable=True))
