"""A paid call that changes a video remembers how the video was before."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
# Programs of before would send an edit as the making of a video.
works_with = "0023"


def upgrade() -> None:
    op.add_column("calls", sa.Column("before", sa.Text()))
