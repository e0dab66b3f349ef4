"""The ledger's tables of who works with it on the board: people, plans, runs, and what they did.

The same database as `schema`, in whose file the rest is. Amounts are millionths of a credit,
moments are Unix seconds (UTC). Of secrets only digests are kept: sha256 in hex.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Float, ForeignKey, Index, Integer, String, Table, Text

from callsheet.tasks.ledger.schema import Id, metadata

# Who may do what on the board and by its interface. Of a token only the sha256 (hex) is kept.
people = Table(
    "people",
    metadata,
    Column("id", Id, primary_key=True),
    Column("name", String(200), nullable=False, unique=True),
    # viewer, reviewer, approver, admin
    Column("role", String(16), nullable=False),
    Column("token", String(64), unique=True),
    # Credits a day that the person may approve; null: no limit.
    Column("allowance", BigInteger),
    Column("invited_by", String(200)),
    Column("invited_at", Float, nullable=False),
    Column("revoked_at", Float),
)

# One-time addresses for a browser to log in, by digest.
logins = Table(
    "logins",
    metadata,
    Column("digest", String(64), primary_key=True),
    Column("person_id", Id, ForeignKey("people.id"), nullable=False),
    Column("expires_at", Float, nullable=False),
    Column("used_at", Float),
)

# Addresses for people from outside: no account, some campaign, some rights, for a while.
links = Table(
    "links",
    metadata,
    Column("id", Id, primary_key=True),
    Column("digest", String(64), nullable=False, unique=True),
    Column("campaign_id", Id, ForeignKey("campaigns.id"), nullable=False),
    Column("name", String(200), nullable=False),
    # Some of see, decide, download, with commas between.
    Column("rights", String(40), nullable=False),
    Column("made_by", String(200), nullable=False),
    Column("made_at", Float, nullable=False),
    Column("expires_at", Float, nullable=False),
    Column("revoked_at", Float),
    Index(None, "campaign_id"),
)

# Browsers that are logged in, by the digest of their cookie: a person's, or a link's.
sessions = Table(
    "sessions",
    metadata,
    Column("digest", String(64), primary_key=True),
    Column("person_id", Id, ForeignKey("people.id")),
    Column("link_id", Id, ForeignKey("links.id")),
    Column("made_at", Float, nullable=False),
    Column("seen_at", Float, nullable=False),
    Column("expires_at", Float, nullable=False),
)

# Sheets that were handed in: where each is now, and what it was called.
sheets = Table(
    "sheets",
    metadata,
    Column("id", String(40), primary_key=True),
    Column("name", Text, nullable=False),
    # A path, an https:// or an s3:// address; what was handed in is kept as a file.
    Column("place", Text, nullable=False),
    Column("digest", String(64), nullable=False),
    Column("added_by", String(200), nullable=False),
    Column("added_at", Float, nullable=False),
)

# Plans that wait for somebody's word, or had it. What is in one never changes once it is ready.
plans = Table(
    "plans",
    metadata,
    Column("id", String(40), primary_key=True),
    # run: of a sheet; retake: other takes of rows of a campaign.
    Column("kind", String(8), nullable=False),
    Column("campaign", String(200), nullable=False),
    Column("sheet_id", String(40), ForeignKey("sheets.id")),
    # What was asked for, as JSON: selection, budget, rows, why.
    Column("terms", Text, nullable=False),
    # quoting, ready, approved, void, expired, failed
    Column("state", String(16), nullable=False),
    # The plan as `plan --json` says it, once it is ready.
    Column("document", Text),
    Column("total", BigInteger),
    # Why it is void or failed, for people.
    Column("words", Text),
    Column("made_by", String(200), nullable=False),
    Column("made_at", Float, nullable=False),
    Column("expires_at", Float),
    Column("approved_by", String(200)),
    Column("approved_at", Float),
    # The plan that took its place, since something had moved on.
    Column("replaced_by", String(40)),
    Index(None, "campaign", "made_at"),
    Index(None, "approved_by", "approved_at"),
)

# Runs that were started for an approved plan, and how each ended; the lease `run:ID` says who is
# at work.
runs = Table(
    "runs",
    metadata,
    Column("id", String(40), primary_key=True),
    Column("plan_id", String(40), ForeignKey("plans.id"), nullable=False, unique=True),
    Column("campaign", String(200), nullable=False),
    Column("started_by", String(200), nullable=False),
    Column("asked_at", Float, nullable=False),
    Column("begun_at", Float),
    Column("ended_at", Float),
    Column("exit", Integer),
    Column("words", Text),
    # A parked one is started again then.
    Column("due_at", Float),
    Index(None, "campaign", "asked_at"),
)

# What people did, newest last: every change that somebody asked for, and from where.
acts = Table(
    "acts",
    metadata,
    Column("id", Id, primary_key=True),
    Column("at", Float, nullable=False),
    Column("by", String(200), nullable=False),
    Column("act", String(40), nullable=False),
    Column("campaign", String(200)),
    # How many rows it was about, where it was about rows.
    Column("rows", Integer),
    Column("words", Text),
    Index(None, "campaign", "id"),
)

# What was answered to a call that may be sent again under the same Idempotency-Key.
answers = Table(
    "answers",
    metadata,
    # Of who asked, and the key.
    Column("digest", String(64), primary_key=True),
    # Of method, path and body.
    Column("request", String(64), nullable=False),
    Column("status", Integer),
    Column("body", Text),
    Column("at", Float, nullable=False),
    Index(None, "at"),
)
