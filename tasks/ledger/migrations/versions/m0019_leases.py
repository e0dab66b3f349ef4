"""One table of leases, on the database's clock; what said who is at work elsewhere is gone."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
# Programs of before write the columns that are gone.
works_with = "0019"

#: How long what has no moment of its own is still taken to be at work, in seconds.
LAPSE = 60
#: What was at work, by table: name, owner, since, until.
_TAKEN_OVER = (
    "SELECT 'campaign:' || id, owner, coalesce(owner_since, 0), coalesce(owner_until, 0) "
    "FROM campaigns WHERE owner IS NOT NULL",
    f"SELECT 'night:' || inbox, min(place), min(begun_at), max(renewed_at) + {LAPSE} FROM nights "
    "WHERE ended_at IS NULL AND place IS NOT NULL AND renewed_at = (SELECT max(others.renewed_at) "
    "FROM nights others WHERE others.inbox = nights.inbox AND others.ended_at IS NULL) "
    "GROUP BY inbox",
    f"SELECT 'run:' || id, place, asked_at, {{now}} + {LAPSE} FROM runs WHERE place IS NOT NULL",
    "SELECT 'worker:' || holder, holder, min(claimed_at), max(until) FROM batches "
    "WHERE ended_at IS NULL AND freed_at IS NULL GROUP BY holder",
)
_NOW = {
    "postgresql": "extract(epoch FROM clock_timestamp())",
    "sqlite": "(julianday('now') - 2440587.5) * 86400.0",
}
_GONE = {
    "campaigns": ("owner", "owner_since", "owner_until"),
    "nights": ("place", "renewed_at"),
    "runs": ("place",),
    "batches": ("until",),
}


def upgrade() -> None:
    op.create_table(
        "leases",
        sa.Column("name", sa.String(250), primary_key=True),
        sa.Column("owner", sa.String(200), nullable=True),
        sa.Column("since", sa.Float(), nullable=False),
        sa.Column("until", sa.Float(), nullable=False),
        sa.Column("token", sa.BigInteger(), nullable=False),
    )
    now = _NOW[op.get_context().dialect.name]
    for taken in _TAKEN_OVER:
        query = f"SELECT taken.*, 1 FROM ({taken.format(now=now)}) AS taken"
        op.execute(f"INSERT INTO leases (name, owner, since, until, token) {query}")
    for table, gone in _GONE.items():
        for column in gone:
            op.drop_column(table, column)
