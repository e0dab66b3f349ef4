"""New takes of failed renders that a person approved beforehand; when rows are to be made."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
works_with = "0023"


def upgrade() -> None:
    op.add_column("rows", sa.Column("retries", sa.Integer()))
    op.add_column("rows", sa.Column("deliver_after", sa.Float()))
    op.add_column("rows", sa.Column("deliver_by", sa.Float()))
