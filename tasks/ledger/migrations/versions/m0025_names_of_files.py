"""Rows know what their files are called, where a sheet or a profile says so."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"
# Programs of before give files the names that the settings say.
works_with = "0023"


def upgrade() -> None:
    op.add_column("rows", sa.Column("name", sa.Text()))
