"""The ledger's tables of crews: what several machines carry together, and who has which rows.

The same database as `schema`. Moments are Unix seconds (UTC) by the database's own clock.
"""

from __future__ import annotations

from sqlalchemy import Boolean, Column, Float, ForeignKey, Index, Integer, String, Table, Text

from callsheet.tasks.ledger.schema import Id, metadata

# What one run has crews carry: its rows as they stood when it began to produce.
productions = Table(
    "productions",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("campaign_id", Id, ForeignKey("campaigns.id"), nullable=False),
    # Who must have the campaign's lease for anything to be begun.
    Column("owner", String(200), nullable=False),
    Column("crews", Integer, nullable=False),
    # Rows that are claimed at once.
    Column("batch_size", Integer, nullable=False),
    # Which service and which store it is for, so that a crew with other settings leaves it alone.
    Column("organisation", String(64), nullable=False),
    Column("store", Text, nullable=False),
    # On what terms credits are set aside, as JSON.
    Column("terms", Text, nullable=False),
    Column("begun_at", Float, nullable=False),
    # Whether webhooks tell of videos, so that polls are a safety net.
    Column("hinted", Boolean, nullable=False),
    # Why nothing more of it is begun, and when to come back.
    Column("stopped", Text),
    Column("stopped_until", Float),
    Column("ended_at", Float),
    Index(None, "campaign_id"),
)

# Rows that a crew has claimed together. Its number is the fencing token of each of them.
batches = Table(
    "batches",
    metadata,
    Column("id", Id, primary_key=True),
    Column("production_id", String(32), ForeignKey("productions.id"), nullable=False),
    # Which of the crews, from 1; 0 for rows that nobody has claimed yet.
    Column("crew", Integer, nullable=False),
    # The process, by an id of its own for each start; its lease (`worker:ID`) is for all it has.
    Column("holder", String(200), nullable=False),
    Column("size", Integer, nullable=False),
    Column("claimed_at", Float, nullable=False),
    # Each of its rows is done for this production.
    Column("ended_at", Float),
    # Let go, or lapsed: its rows may be claimed.
    Column("freed_at", Float),
    Index(None, "production_id", "holder"),
)
