"""Accounts of days, cost centers and runs, counted from the takes that are there."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.add_column("rows", sa.Column("approved", sa.BigInteger(), nullable=True))
    op.add_column("takes", sa.Column("day", sa.String(length=10), nullable=True))
    op.add_column("takes", sa.Column("cost_center", sa.Text(), nullable=True))
    op.add_column("takes", sa.Column("run", sa.String(length=40), nullable=True))
    op.create_table(
        "accounts",
        sa.Column("id", ID, nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("budget", sa.BigInteger(), nullable=True),
        sa.Column("reserved", sa.BigInteger(), nullable=False),
        sa.Column("charged", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_accounts")),
        sa.UniqueConstraint("kind", "name", name=op.f("uq_accounts_kind_name")),
    )
    count_takes(op.get_bind())
    op.execute("UPDATE rows SET approved = quoted WHERE state = 'approved'")


def count_takes(connection: sa.Connection) -> None:
    """Put every take into its day and its row's cost center, and sum up."""
    found = connection.execute(
        sa.text(
            "SELECT takes.id, intended_at, reserved, charged, rows.cost_center "
            "FROM takes JOIN rows ON rows.id = takes.row_id"
        )
    ).all()
    reserved: Counter[tuple[str, str]] = Counter()
    charged: Counter[tuple[str, str]] = Counter()
    marks = []
    for take in found:
        day = datetime.fromtimestamp(take.intended_at, UTC).date().isoformat()
        center = take.cost_center or None
        marks.append({"take": take.id, "day": day, "center": center})
        for kind, name in (("day", day), ("cost_center", center)):
            if name is not None:
                reserved[kind, name] += take.reserved
                charged[kind, name] += take.charged or 0
    if marks:
        connection.execute(
            sa.text("UPDATE takes SET day = :day, cost_center = :center WHERE id = :take"), marks
        )
        connection.execute(
            sa.text(
                "INSERT INTO accounts (kind, name, reserved, charged) "
                "VALUES (:kind, :name, :reserved, :charged)"
            ),
            [
                {"kind": k, "name": n, "reserved": total, "charged": charged[k, n]}
                for (k, n), total in sorted(reserved.items())
            ],
        )
