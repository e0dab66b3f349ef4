"""Whether a campaign was made with the sandbox that `--sandbox` brings."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.add_column("campaigns", sa.Column("sandbox", sa.Boolean(), nullable=True))
