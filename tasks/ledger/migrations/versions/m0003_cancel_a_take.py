"""A take that somebody wants to be cancelled."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("takes", sa.Column("cancel_requested_at", sa.Float(), nullable=True))
