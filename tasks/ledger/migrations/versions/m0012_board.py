"""The board: people, plans, runs, reviews, and what was found when films were looked at."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "acts",
        sa.Column("id", _ID, nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("by", sa.String(length=200), nullable=False),
        sa.Column("act", sa.String(length=40), nullable=False),
        sa.Column("campaign", sa.String(length=200), nullable=True),
        sa.Column("rows", sa.Integer(), nullable=True),
        sa.Column("words", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_acts")),
    )
    op.create_index(op.f("ix_acts_campaign_id"), "acts", ["campaign", "id"], unique=False)
    op.create_table(
        "answers",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("request", sa.String(length=64), nullable=False),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("body", sa.Text(), nullable=True),
        sa.Column("at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_answers")),
    )
    op.create_index(op.f("ix_answers_at"), "answers", ["at"], unique=False)
    op.create_table(
        "people",
        sa.Column("id", _ID, nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("token", sa.String(length=64), nullable=True),
        sa.Column("allowance", sa.BigInteger(), nullable=True),
        sa.Column("invited_by", sa.String(length=200), nullable=True),
        sa.Column("invited_at", sa.Float(), nullable=False),
        sa.Column("revoked_at", sa.Float(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_people")),
        sa.UniqueConstraint("name", name=op.f("uq_people_name")),
        sa.UniqueConstraint("token", name=op.f("uq_people_token")),
    )
    op.create_table(
        "sheets",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("place", sa.Text(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("added_by", sa.String(length=200), nullable=False),
        sa.Column("added_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sheets")),
    )
    op.create_table(
        "links",
        sa.Column("id", _ID, nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("campaign_id", _ID, nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("rights", sa.String(length=40), nullable=False),
        sa.Column("made_by", sa.String(length=200), nullable=False),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.Column("expires_at", sa.Float(), nullable=False),
        sa.Column("revoked_at", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(
            ["campaign_id"], ["campaigns.id"], name=op.f("fk_links_campaign_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_links")),
        sa.UniqueConstraint("digest", name=op.f("uq_links_digest")),
    )
    op.create_index(op.f("ix_links_campaign_id"), "links", ["campaign_id"], unique=False)
    op.create_table(
        "logins",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("person_id", _ID, nullable=False),
        sa.Column("expires_at", sa.Float(), nullable=False),
        sa.Column("used_at", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name=op.f("fk_logins_person_id")),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_logins")),
    )
    op.create_table(
        "plans",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("kind", sa.String(length=8), nullable=False),
        sa.Column("campaign", sa.String(length=200), nullable=False),
        sa.Column("sheet_id", sa.String(length=40), nullable=True),
        sa.Column("terms", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("document", sa.Text(), nullable=True),
        sa.Column("total", sa.BigInteger(), nullable=True),
        sa.Column("words", sa.Text(), nullable=True),
        sa.Column("made_by", sa.String(length=200), nullable=False),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.Column("expires_at", sa.Float(), nullable=True),
        sa.Column("approved_by", sa.String(length=200), nullable=True),
        sa.Column("approved_at", sa.Float(), nullable=True),
        sa.Column("replaced_by", sa.String(length=40), nullable=True),
        sa.ForeignKeyConstraint(["sheet_id"], ["sheets.id"], name=op.f("fk_plans_sheet_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_plans")),
    )
    op.create_index(
        op.f("ix_plans_approved_by_approved_at"),
        "plans",
        ["approved_by", "approved_at"],
        unique=False,
    )
    op.create_index(
        op.f("ix_plans_campaign_made_at"), "plans", ["campaign", "made_at"], unique=False
    )
    op.create_table(
        "runs",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("plan_id", sa.String(length=40), nullable=False),
        sa.Column("campaign", sa.String(length=200), nullable=False),
        sa.Column("started_by", sa.String(length=200), nullable=False),
        sa.Column("asked_at", sa.Float(), nullable=False),
        sa.Column("place", sa.Text(), nullable=True),
        sa.Column("begun_at", sa.Float(), nullable=True),
        sa.Column("ended_at", sa.Float(), nullable=True),
        sa.Column("exit", sa.Integer(), nullable=True),
        sa.Column("words", sa.Text(), nullable=True),
        sa.Column("due_at", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(["plan_id"], ["plans.id"], name=op.f("fk_runs_plan_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_runs")),
        sa.UniqueConstraint("plan_id", name=op.f("uq_runs_plan_id")),
    )
    op.create_index(
        op.f("ix_runs_campaign_asked_at"), "runs", ["campaign", "asked_at"], unique=False
    )
    op.create_table(
        "sessions",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("person_id", _ID, nullable=True),
        sa.Column("link_id", _ID, nullable=True),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.Column("seen_at", sa.Float(), nullable=False),
        sa.Column("expires_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["link_id"], ["links.id"], name=op.f("fk_sessions_link_id")),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name=op.f("fk_sessions_person_id")),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_sessions")),
    )
    op.create_table(
        "reviews",
        sa.Column("take_id", _ID, nullable=False),
        sa.Column("campaign_id", _ID, nullable=False),
        sa.Column("row_id", _ID, nullable=False),
        sa.Column("verdict", sa.String(length=8), nullable=False),
        sa.Column("reason", sa.String(length=40), nullable=True),
        sa.Column("note", sa.Text(), nullable=True),
        sa.Column("by", sa.String(length=200), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(
            ["campaign_id"], ["campaigns.id"], name=op.f("fk_reviews_campaign_id")
        ),
        sa.ForeignKeyConstraint(["row_id"], ["rows.id"], name=op.f("fk_reviews_row_id")),
        sa.ForeignKeyConstraint(["take_id"], ["takes.id"], name=op.f("fk_reviews_take_id")),
        sa.PrimaryKeyConstraint("take_id", name=op.f("pk_reviews")),
    )
    op.create_index(
        op.f("ix_reviews_campaign_id_verdict_row_id"),
        "reviews",
        ["campaign_id", "verdict", "row_id"],
        unique=False,
    )
    op.create_index(op.f("ix_reviews_row_id"), "reviews", ["row_id"], unique=False)
    op.add_column("takes", sa.Column("checks", sa.Text(), nullable=True))
    op.add_column("takes", sa.Column("flagged", sa.Integer(), nullable=True))
    op.add_column("takes", sa.Column("pictures", sa.Text(), nullable=True))
    op.create_index(
        "ix_takes_flagged",
        "takes",
        ["campaign_id", "flagged", "row_id"],
        unique=False,
        sqlite_where=sa.text("flagged > 0"),
        postgresql_where=sa.text("flagged > 0"),
    )
