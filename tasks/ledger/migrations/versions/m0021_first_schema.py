"""The first schema: what 21 steps before the first release had made."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = None
works_with = "0021"

#: SQLite counts up only in a column that it calls INTEGER.
ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    for name in ("works_with", "said_by"):
        op.add_column("callsheet_version", sa.Column(name, sa.String(32)))
    op.create_table(
        "accounts",
        sa.Column("id", ID, nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("budget", sa.BigInteger()),
        sa.Column("reserved", sa.BigInteger(), nullable=False),
        sa.Column("charged", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_accounts"),
        sa.UniqueConstraint("kind", "name", name="uq_accounts_kind_name"),
    )
    op.create_table(
        "acts",
        sa.Column("id", ID, nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("by", sa.String(length=200), nullable=False),
        sa.Column("act", sa.String(length=40), nullable=False),
        sa.Column("campaign", sa.String(length=200)),
        sa.Column("rows", sa.Integer()),
        sa.Column("words", sa.Text()),
        sa.PrimaryKeyConstraint("id", name="pk_acts"),
    )
    op.create_index("ix_acts_campaign_id", "acts", ["campaign", "id"])
    op.create_table(
        "campaigns",
        sa.Column("id", ID, nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("sheet", sa.Text()),
        sa.Column("sheet_digest", sa.String(length=64)),
        sa.Column("budget", sa.BigInteger()),
        sa.Column("reserved", sa.BigInteger(), nullable=False),
        sa.Column("charged", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("cancel_requested_at", sa.Float()),
        sa.Column("sandbox", sa.Boolean()),
        sa.Column("reported", sa.Text()),
        sa.PrimaryKeyConstraint("id", name="pk_campaigns"),
        sa.UniqueConstraint("name", name="uq_campaigns_name"),
    )
    op.create_table(
        "catalogues",
        sa.Column("base_url", sa.String(length=500), nullable=False),
        sa.Column("told_at", sa.Float(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("base_url", name="pk_catalogues"),
    )
    op.create_table(
        "counters",
        sa.Column("name", sa.String(length=40), nullable=False),
        sa.Column("label", sa.String(length=80), nullable=False),
        sa.Column("value", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("name", "label", name="pk_counters"),
    )
    op.create_table(
        "gates",
        sa.Column("organisation", sa.String(length=64), nullable=False),
        sa.Column("closed_until", sa.Float(), nullable=False),
        sa.Column("rate", sa.Float()),
        sa.Column("rate_since", sa.Float()),
        sa.Column("next_at", sa.Float()),
        sa.PrimaryKeyConstraint("organisation", name="pk_gates"),
    )
    op.create_table(
        "hints",
        sa.Column("id", ID, nullable=False),
        sa.Column("event_id", sa.String(length=200)),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("nonce", sa.String(length=40), nullable=False),
        sa.Column("kind", sa.String(length=60)),
        sa.Column("ping", sa.Boolean(), nullable=False),
        sa.Column("attempt", sa.Integer()),
        sa.Column("told_at", sa.Float()),
        sa.Column("heard_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_hints"),
        sa.UniqueConstraint("digest", name="uq_hints_digest"),
        sa.UniqueConstraint("event_id", name="uq_hints_event_id"),
    )
    op.create_index("ix_hints_heard_at", "hints", ["heard_at"])
    op.create_index("ix_hints_nonce_heard_at", "hints", ["nonce", "heard_at"])
    op.create_table(
        "inbox_campaigns",
        sa.Column("id", ID, nullable=False),
        sa.Column("inbox", sa.String(length=200), nullable=False),
        sa.Column("sheet", sa.Text(), nullable=False),
        sa.Column("campaign", sa.String(length=200), nullable=False),
        sa.Column("charged_before", sa.BigInteger()),
        sa.Column("event_before", sa.BigInteger()),
        sa.PrimaryKeyConstraint("id", name="pk_inbox_campaigns"),
        sa.UniqueConstraint(
            "inbox", "sheet", "campaign", name="uq_inbox_campaigns_inbox_sheet_campaign"
        ),
    )
    op.create_table(
        "inbox_sheets",
        sa.Column("id", ID, nullable=False),
        sa.Column("inbox", sa.String(length=200), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("version", sa.String(length=200), nullable=False),
        sa.Column("seen_at", sa.Float(), nullable=False),
        sa.Column("dealt_version", sa.String(length=200)),
        sa.Column("digest", sa.String(length=64)),
        sa.Column("campaign", sa.String(length=200)),
        sa.Column("outcome", sa.String(length=20)),
        sa.Column("approved", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("approved_on", sa.String(length=10)),
        sa.Column("failures", sa.Integer(), server_default="0", nullable=False),
        sa.Column("failed_on", sa.String(length=10)),
        sa.Column("set_aside_at", sa.Float()),
        sa.PrimaryKeyConstraint("id", name="pk_inbox_sheets"),
        sa.UniqueConstraint("inbox", "name", name="uq_inbox_sheets_inbox_name"),
    )
    op.create_table(
        "leases",
        sa.Column("name", sa.String(length=250), nullable=False),
        sa.Column("owner", sa.String(length=200)),
        sa.Column("since", sa.Float(), nullable=False),
        sa.Column("until", sa.Float(), nullable=False),
        sa.Column("token", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_leases"),
    )
    op.create_table(
        "nights",
        sa.Column("id", ID, nullable=False),
        sa.Column("inbox", sa.String(length=200), nullable=False),
        sa.Column("date", sa.String(length=10), nullable=False),
        sa.Column("zone", sa.String(length=64), nullable=False),
        sa.Column("begun_at", sa.Float(), nullable=False),
        sa.Column("ended_at", sa.Float()),
        sa.Column("exit", sa.Integer()),
        sa.Column("approved", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("skipped", sa.Text()),
        sa.Column("report", sa.Text()),
        sa.PrimaryKeyConstraint("id", name="pk_nights"),
        sa.UniqueConstraint("inbox", "date", name="uq_nights_inbox_date"),
    )
    op.create_table(
        "notices",
        sa.Column("id", ID, nullable=False),
        sa.Column("key", sa.String(length=200), nullable=False),
        sa.Column("inbox", sa.String(length=200), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("address", sa.String(length=32), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("about", sa.Text(), nullable=False),
        sa.Column("letter", sa.Text()),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.Column("sent_at", sa.Float()),
        sa.Column("tries", sa.Integer(), server_default="0", nullable=False),
        sa.Column("tried_at", sa.Float()),
        sa.Column("error", sa.Text()),
        sa.PrimaryKeyConstraint("id", name="pk_notices"),
        sa.UniqueConstraint("key", name="uq_notices_key"),
    )
    op.create_index("ix_notices_inbox_made_at", "notices", ["inbox", "made_at"])
    op.create_table(
        "pauses",
        sa.Column("inbox", sa.String(length=200), nullable=False),
        sa.Column("until", sa.Float()),
        sa.Column("by", sa.String(length=200), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("inbox", name="pk_pauses"),
    )
    op.create_table(
        "people",
        sa.Column("id", ID, nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("token", sa.String(length=64)),
        sa.Column("allowance", sa.BigInteger()),
        sa.Column("invited_by", sa.String(length=200)),
        sa.Column("invited_at", sa.Float(), nullable=False),
        sa.Column("revoked_at", sa.Float()),
        sa.PrimaryKeyConstraint("id", name="pk_people"),
        sa.UniqueConstraint("name", name="uq_people_name"),
        sa.UniqueConstraint("token", name="uq_people_token"),
    )
    op.create_table(
        "sheets",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("place", sa.Text(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("added_by", sa.String(length=200), nullable=False),
        sa.Column("added_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_sheets"),
    )
    op.create_table(
        "subscriptions",
        sa.Column("nonce", sa.String(length=40), nullable=False),
        sa.Column("organisation", sa.String(length=64), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("place", sa.Text(), nullable=False),
        sa.Column("webhook_id", sa.String(length=200)),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.Column("retired_at", sa.Float()),
        sa.PrimaryKeyConstraint("nonce", name="pk_subscriptions"),
    )
    op.create_table(
        "videos_seen",
        sa.Column("organisation", sa.String(length=64), nullable=False),
        sa.Column("video_id", sa.String(length=200), nullable=False),
        sa.Column("seen_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("organisation", "video_id", name="pk_videos_seen"),
    )
    op.create_table(
        "earlier_takes",
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("row", sa.String(length=200), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("nth", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("sent_at", sa.Float()),
        sa.Column("video_id", sa.Text()),
        sa.Column("line", sa.Text()),
        sa.Column("noted_at", sa.Float(), nullable=False),
        sa.Column("refused_at", sa.Float()),
        sa.Column("why", sa.Text()),
        sa.Column("allowed_at", sa.Float()),
        sa.Column("allowed_by", sa.String(length=200)),
        sa.ForeignKeyConstraint(
            ["campaign_id"], ["campaigns.id"], name="fk_earlier_takes_campaign_id"
        ),
        sa.PrimaryKeyConstraint("campaign_id", "row", "digest", "nth", name="pk_earlier_takes"),
    )
    op.create_table(
        "hinted",
        sa.Column("hint_id", ID, nullable=False),
        sa.Column("video_id", sa.String(length=200), nullable=False),
        sa.ForeignKeyConstraint(
            ["hint_id"], ["hints.id"], name="fk_hinted_hint_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("hint_id", "video_id", name="pk_hinted"),
    )
    op.create_index("ix_hinted_video_id", "hinted", ["video_id"])
    op.create_table(
        "links",
        sa.Column("id", ID, nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("rights", sa.String(length=40), nullable=False),
        sa.Column("made_by", sa.String(length=200), nullable=False),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.Column("expires_at", sa.Float(), nullable=False),
        sa.Column("revoked_at", sa.Float()),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaigns.id"], name="fk_links_campaign_id"),
        sa.PrimaryKeyConstraint("id", name="pk_links"),
        sa.UniqueConstraint("digest", name="uq_links_digest"),
    )
    op.create_index("ix_links_campaign_id", "links", ["campaign_id"])
    op.create_table(
        "logins",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("person_id", ID, nullable=False),
        sa.Column("expires_at", sa.Float(), nullable=False),
        sa.Column("used_at", sa.Float()),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name="fk_logins_person_id"),
        sa.PrimaryKeyConstraint("digest", name="pk_logins"),
    )
    op.create_table(
        "origins",
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("place", sa.Text(), nullable=False),
        sa.Column("worksheet", sa.Text()),
        sa.Column("at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaigns.id"], name="fk_origins_campaign_id"),
        sa.PrimaryKeyConstraint("campaign_id", "digest", name="pk_origins"),
    )
    op.create_index("ix_origins_digest", "origins", ["digest"])
    op.create_table(
        "plans",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("kind", sa.String(length=8), nullable=False),
        sa.Column("campaign", sa.String(length=200), nullable=False),
        sa.Column("sheet_id", sa.String(length=40)),
        sa.Column("terms", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("document", sa.Text()),
        sa.Column("total", sa.BigInteger()),
        sa.Column("words", sa.Text()),
        sa.Column("made_by", sa.String(length=200), nullable=False),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.Column("expires_at", sa.Float()),
        sa.Column("approved_by", sa.String(length=200)),
        sa.Column("approved_at", sa.Float()),
        sa.Column("replaced_by", sa.String(length=40)),
        sa.ForeignKeyConstraint(["sheet_id"], ["sheets.id"], name="fk_plans_sheet_id"),
        sa.PrimaryKeyConstraint("id", name="pk_plans"),
    )
    op.create_index("ix_plans_approved_by_approved_at", "plans", ["approved_by", "approved_at"])
    op.create_index("ix_plans_campaign_made_at", "plans", ["campaign", "made_at"])
    op.create_table(
        "productions",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("owner", sa.String(length=200), nullable=False),
        sa.Column("crews", sa.Integer(), nullable=False),
        sa.Column("batch_size", sa.Integer(), nullable=False),
        sa.Column("organisation", sa.String(length=64), nullable=False),
        sa.Column("store", sa.Text(), nullable=False),
        sa.Column("terms", sa.Text(), nullable=False),
        sa.Column("begun_at", sa.Float(), nullable=False),
        sa.Column("hinted", sa.Boolean(), nullable=False),
        sa.Column("stopped", sa.Text()),
        sa.Column("stopped_until", sa.Float()),
        sa.Column("ended_at", sa.Float()),
        sa.ForeignKeyConstraint(
            ["campaign_id"], ["campaigns.id"], name="fk_productions_campaign_id"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_productions"),
    )
    op.create_index("ix_productions_campaign_id", "productions", ["campaign_id"])
    op.create_table(
        "rows",
        sa.Column("id", ID, nullable=False),
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("row", sa.String(length=200), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("line", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("since", sa.Float(), nullable=False),
        sa.Column("reason", sa.Text()),
        sa.Column("operation", sa.String(length=40), nullable=False),
        sa.Column("request", sa.Text(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("nth", sa.Integer(), nullable=False),
        sa.Column("captions", sa.String(length=40), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("max_credits", sa.BigInteger()),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("cost_center", sa.Text()),
        sa.Column("notes", sa.Text()),
        sa.Column("cells", sa.Text(), nullable=False),
        sa.Column("wishes", sa.String(length=32)),
        sa.Column("quoted", sa.BigInteger()),
        sa.Column("quoted_at", sa.Float()),
        sa.Column("approved", sa.BigInteger()),
        sa.Column("take_id", ID),
        sa.Column("batch_id", ID),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaigns.id"], name="fk_rows_campaign_id"),
        sa.PrimaryKeyConstraint("id", name="pk_rows"),
        sa.UniqueConstraint("campaign_id", "row", name="uq_rows_campaign_id_row"),
    )
    op.create_index("ix_rows_campaign_id_position_id", "rows", ["campaign_id", "position", "id"])
    op.create_index(
        "ix_rows_campaign_id_state_quoted_take_id",
        "rows",
        ["campaign_id", "state", "quoted", "take_id"],
    )
    op.create_index(
        "ix_rows_claims",
        "rows",
        ["batch_id", "state", sa.text("priority DESC"), "position", "id"],
        sqlite_where=sa.text("batch_id IS NOT NULL"),
        postgresql_where=sa.text("batch_id IS NOT NULL"),
    )
    op.create_table(
        "separations",
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("other_id", ID, nullable=False),
        sa.ForeignKeyConstraint(
            ["campaign_id"], ["campaigns.id"], name="fk_separations_campaign_id"
        ),
        sa.ForeignKeyConstraint(["other_id"], ["campaigns.id"], name="fk_separations_other_id"),
        sa.PrimaryKeyConstraint("campaign_id", "other_id", name="pk_separations"),
    )
    op.create_table(
        "batches",
        sa.Column("id", ID, nullable=False),
        sa.Column("production_id", sa.String(length=32), nullable=False),
        sa.Column("crew", sa.Integer(), nullable=False),
        sa.Column("holder", sa.String(length=200), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("claimed_at", sa.Float(), nullable=False),
        sa.Column("ended_at", sa.Float()),
        sa.Column("freed_at", sa.Float()),
        sa.ForeignKeyConstraint(
            ["production_id"], ["productions.id"], name="fk_batches_production_id"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_batches"),
    )
    op.create_index("ix_batches_production_id_holder", "batches", ["production_id", "holder"])
    op.create_table(
        "runs",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("plan_id", sa.String(length=40), nullable=False),
        sa.Column("campaign", sa.String(length=200), nullable=False),
        sa.Column("started_by", sa.String(length=200), nullable=False),
        sa.Column("asked_at", sa.Float(), nullable=False),
        sa.Column("begun_at", sa.Float()),
        sa.Column("ended_at", sa.Float()),
        sa.Column("exit", sa.Integer()),
        sa.Column("words", sa.Text()),
        sa.Column("due_at", sa.Float()),
        sa.ForeignKeyConstraint(["plan_id"], ["plans.id"], name="fk_runs_plan_id"),
        sa.PrimaryKeyConstraint("id", name="pk_runs"),
        sa.UniqueConstraint("plan_id", name="uq_runs_plan_id"),
    )
    op.create_index("ix_runs_campaign_asked_at", "runs", ["campaign", "asked_at"])
    op.create_table(
        "sessions",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("person_id", ID),
        sa.Column("link_id", ID),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.Column("seen_at", sa.Float(), nullable=False),
        sa.Column("expires_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["link_id"], ["links.id"], name="fk_sessions_link_id"),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name="fk_sessions_person_id"),
        sa.PrimaryKeyConstraint("digest", name="pk_sessions"),
    )
    op.create_table(
        "takes",
        sa.Column("id", ID, nullable=False),
        sa.Column("row_id", ID, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("nth", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("quoted", sa.BigInteger()),
        sa.Column("reserved", sa.BigInteger(), nullable=False),
        sa.Column("charged", sa.BigInteger()),
        sa.Column("video_id", sa.Text()),
        sa.Column("intended_at", sa.Float(), nullable=False),
        sa.Column("accepted_at", sa.Float()),
        sa.Column("refused_at", sa.Float()),
        sa.Column("ready_at", sa.Float()),
        sa.Column("delivered_at", sa.Float()),
        sa.Column("abandoned_at", sa.Float()),
        sa.Column("cancel_requested_at", sa.Float()),
        sa.Column("day", sa.String(length=10)),
        sa.Column("cost_center", sa.Text()),
        sa.Column("run", sa.String(length=40)),
        sa.Column("campaign_id", ID),
        sa.Column("checks", sa.Text()),
        sa.Column("flagged", sa.Integer()),
        sa.Column("pictures", sa.Text()),
        sa.Column("found_at", sa.Float()),
        sa.ForeignKeyConstraint(["row_id"], ["rows.id"], name="fk_takes_row_id"),
        sa.PrimaryKeyConstraint("id", name="pk_takes"),
        sa.UniqueConstraint("key", name="uq_takes_key"),
        sa.UniqueConstraint("row_id", "number", name="uq_takes_row_id_number"),
    )
    op.create_index(
        "ix_takes_campaign_id_row_id_number", "takes", ["campaign_id", "row_id", "number"]
    )
    op.create_index(
        "ix_takes_cancelled",
        "takes",
        ["campaign_id"],
        sqlite_where=sa.text("cancel_requested_at IS NOT NULL"),
        postgresql_where=sa.text("cancel_requested_at IS NOT NULL"),
    )
    op.create_index("ix_takes_digest", "takes", ["digest"])
    op.create_index(
        "ix_takes_flagged",
        "takes",
        ["campaign_id", "flagged", "row_id"],
        sqlite_where=sa.text("flagged > 0"),
        postgresql_where=sa.text("flagged > 0"),
    )
    op.create_index(
        "ix_takes_found",
        "takes",
        ["campaign_id", "charged"],
        sqlite_where=sa.text("found_at IS NOT NULL"),
        postgresql_where=sa.text("found_at IS NOT NULL"),
    )
    op.create_index(
        "ix_takes_not_first",
        "takes",
        ["campaign_id", "number", "row_id"],
        sqlite_where=sa.text("number > 1"),
        postgresql_where=sa.text("number > 1"),
    )
    op.create_index(
        "ix_takes_varied",
        "takes",
        ["campaign_id", "charged", "quoted"],
        sqlite_where=sa.text("charged != quoted"),
        postgresql_where=sa.text("charged != quoted"),
    )
    op.create_index("ix_takes_video_id", "takes", ["video_id"])
    op.create_table(
        "calls",
        sa.Column("id", ID, nullable=False),
        sa.Column("organisation", sa.String(length=64), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("operation", sa.String(length=40), nullable=False),
        sa.Column("take_id", ID),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("opened_at", sa.Float(), nullable=False),
        sa.Column("closed_at", sa.Float()),
        sa.Column("outcome", sa.String(length=16)),
        sa.Column("video_id", sa.Text()),
        sa.Column("resolved_at", sa.Float()),
        sa.ForeignKeyConstraint(["take_id"], ["takes.id"], name="fk_calls_take_id"),
        sa.PrimaryKeyConstraint("id", name="pk_calls"),
    )
    op.create_index(
        "ix_calls_open",
        "calls",
        ["organisation", "target"],
        unique=True,
        sqlite_where=sa.text("closed_at IS NULL"),
        postgresql_where=sa.text("closed_at IS NULL"),
    )
    op.create_index("ix_calls_take_id", "calls", ["take_id"])
    op.create_table(
        "deliveries",
        sa.Column("id", ID, nullable=False),
        sa.Column("take_id", ID, nullable=False),
        sa.Column("kind", sa.String(length=8), nullable=False),
        sa.Column("uri", sa.Text(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("seconds", sa.Float()),
        sa.Column("verified_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["take_id"], ["takes.id"], name="fk_deliveries_take_id"),
        sa.PrimaryKeyConstraint("id", name="pk_deliveries"),
        sa.UniqueConstraint("take_id", "kind", name="uq_deliveries_take_id_kind"),
    )
    op.create_table(
        "events",
        sa.Column("id", ID, nullable=False),
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("row_id", ID),
        sa.Column("take_id", ID),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("old", sa.String(length=16)),
        sa.Column("new", sa.String(length=16)),
        sa.Column("words", sa.Text()),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaigns.id"], name="fk_events_campaign_id"),
        sa.ForeignKeyConstraint(["row_id"], ["rows.id"], name="fk_events_row_id"),
        sa.ForeignKeyConstraint(["take_id"], ["takes.id"], name="fk_events_take_id"),
        sa.PrimaryKeyConstraint("id", name="pk_events"),
    )
    op.create_index("ix_events_campaign_id_id", "events", ["campaign_id", "id"])
    op.create_index("ix_events_row_id", "events", ["row_id"])
    op.create_table(
        "reviews",
        sa.Column("take_id", ID, nullable=False),
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("row_id", ID, nullable=False),
        sa.Column("verdict", sa.String(length=8), nullable=False),
        sa.Column("reason", sa.String(length=40)),
        sa.Column("note", sa.Text()),
        sa.Column("by", sa.String(length=200), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaigns.id"], name="fk_reviews_campaign_id"),
        sa.ForeignKeyConstraint(["row_id"], ["rows.id"], name="fk_reviews_row_id"),
        sa.ForeignKeyConstraint(["take_id"], ["takes.id"], name="fk_reviews_take_id"),
        sa.PrimaryKeyConstraint("take_id", name="pk_reviews"),
    )
    op.create_index(
        "ix_reviews_campaign_id_verdict_row_id", "reviews", ["campaign_id", "verdict", "row_id"]
    )
    op.create_index("ix_reviews_row_id", "reviews", ["row_id"])
