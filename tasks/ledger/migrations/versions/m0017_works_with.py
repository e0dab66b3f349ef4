"""The oldest schema whose programs work on a ledger, beside its own, and which schema says so."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
# Programs of before refuse any ledger that is newer than they are.
works_with = "0017"


def upgrade() -> None:
    for name in ("works_with", "said_by"):
        op.add_column("callsheet_version", sa.Column(name, sa.String(32), nullable=True))
