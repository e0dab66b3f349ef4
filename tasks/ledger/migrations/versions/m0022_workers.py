"""Workers and their number are called so; they were called crews."""

from __future__ import annotations

from alembic import op

revision = "0022"
down_revision = "0021"
# Programs of before ask for the old names.
works_with = "0022"


def upgrade() -> None:
    for table, old, new in (("productions", "crews", "workers"), ("batches", "crew", "worker")):
        op.execute(f"ALTER TABLE {table} RENAME COLUMN {old} TO {new}")
