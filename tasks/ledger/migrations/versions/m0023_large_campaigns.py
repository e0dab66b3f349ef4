"""Edits, approved retries, dates, names of files, copies, headers, renamed rows, deleted videos."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
# Programs of before would send an edit as the making of a video.
works_with = "0023"

#: SQLite counts up only in a column that it calls INTEGER.
ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")

#: Columns by their table; each may be empty.
COLUMNS: Mapping[str, Mapping[str, sa.types.TypeEngine[Any]]] = {
    "calls": {"before": sa.Text()},
    "rows": {
        "retries": sa.Integer(),
        "deliver_after": sa.Float(),
        "deliver_by": sa.Float(),
        "name": sa.Text(),
        "copies": sa.Text(),
        "first_id": sa.String(200),
    },
    "takes": {"deleted_at": sa.Float(), "deleted_by": sa.String(200)},
    "campaigns": {"keep_at_service": sa.Float()},
}


def upgrade() -> None:
    for table, columns in COLUMNS.items():
        for name, kind in columns.items():
            op.add_column(table, sa.Column(name, kind))
    _create_file_copies()
    op.create_table(
        "header_columns",
        sa.Column("headers", sa.String(length=64), nullable=False),
        sa.Column("columns", sa.Text(), nullable=False),
        sa.Column("by", sa.String(length=200), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("headers", name="pk_header_columns"),
    )
    _create_partial_index("ix_rows_renamed", ["campaign_id", "first_id"], "first_id IS NOT NULL")
    # Workers claim rows by their date, too.
    op.drop_index("ix_rows_claims", "rows")
    claimed = ["batch_id", "state", sa.text("priority DESC"),
               sa.text("coalesce(deliver_by, 1000000000000.0)"), "position", "id"]  # fmt: skip
    _create_partial_index("ix_rows_claims", claimed, "batch_id IS NOT NULL")


def _create_file_copies() -> None:
    op.create_table(
        "file_copies",
        sa.Column("id", ID, primary_key=True),
        sa.Column("campaign_id", ID, sa.ForeignKey("campaigns.id"), nullable=False),
        sa.Column("take_id", ID, sa.ForeignKey("takes.id"), nullable=False),
        sa.Column("kind", sa.String(8), nullable=False),
        sa.Column("uri", sa.Text(), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("fault", sa.Text()),
        sa.UniqueConstraint("take_id", "kind", "uri", name="uq_file_copies_take_id_kind_uri"),
    )
    op.create_index("ix_file_copies_campaign_id", "file_copies", ["campaign_id"])


def _create_partial_index(name: str, columns: list[Any], where: str) -> None:
    condition = sa.text(where)
    op.create_index(name, "rows", columns, sqlite_where=condition, postgresql_where=condition)
