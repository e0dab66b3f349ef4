"""The campaigns that each sheet of an inbox has had: a sheet may be given another campaign name."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0019"
works_with = "0021"
leaves = ("inbox_sheets.charged_before", "inbox_sheets.event_before")


def upgrade() -> None:
    op.create_table(
        "inbox_campaigns",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("inbox", sa.String(200), nullable=False),
        sa.Column("sheet", sa.Text(), nullable=False),
        sa.Column("campaign", sa.String(200), nullable=False),
        sa.Column("charged_before", sa.BigInteger(), nullable=True),
        sa.Column("event_before", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_inbox_campaigns")),
        sa.UniqueConstraint(
            "inbox", "sheet", "campaign", name=op.f("uq_inbox_campaigns_inbox_sheet_campaign")
        ),
    )
    op.execute(
        "INSERT INTO inbox_campaigns (inbox, sheet, campaign, charged_before, event_before) "
        "SELECT inbox, name, campaign, charged_before, event_before FROM inbox_sheets "
        "WHERE campaign IS NOT NULL"
    )
