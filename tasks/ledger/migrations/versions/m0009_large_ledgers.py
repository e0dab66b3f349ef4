"""What a large ledger is asked by: takes of a campaign, counts and pages of rows, its events."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.add_column("takes", sa.Column("campaign_id", ID, nullable=True))
    op.execute(
        "UPDATE takes SET campaign_id = "
        "(SELECT rows.campaign_id FROM rows WHERE rows.id = takes.row_id)"
    )
    _add_index("takes", "campaign_id", "row_id", "number")
    _add_part("takes_cancelled", ["campaign_id"], "cancel_requested_at IS NOT NULL")
    _add_part("takes_varied", ["campaign_id", "charged", "quoted"], "charged != quoted")
    _add_part("takes_not_first", ["campaign_id", "number", "row_id"], "number > 1")
    _add_index("rows", "campaign_id", "position", "id")
    _add_index("rows", "campaign_id", "state", "quoted", "take_id")
    _add_index("hints", "nonce", "heard_at")
    _add_index("events", "campaign_id", "id")
    # They begin like those above.
    op.drop_index(op.f("ix_rows_campaign_id_state"), table_name="rows")
    op.drop_index(op.f("ix_events_campaign_id"), table_name="events")


def _add_index(table: str, *columns: str) -> None:
    op.create_index(op.f(f"ix_{table}_{'_'.join(columns)}"), table, list(columns))


def _add_part(name: str, columns: list[str], which: str) -> None:
    where = sa.text(which)
    op.create_index(f"ix_{name}", "takes", columns, sqlite_where=where, postgresql_where=where)
