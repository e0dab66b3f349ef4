"""What tells that nothing has changed: a digest of a row's wishes, and what was reported last."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.add_column("rows", sa.Column("wishes", sa.String(32), nullable=True))
    op.add_column("campaigns", sa.Column("reported", sa.Text(), nullable=True))
