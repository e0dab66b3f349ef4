"""The tables of people, plans and runs: the board, nightly runs, and distributed runs.

Part of the same database as `schema`.

The same database as `schema`, in whose file the rest is. Amounts are millionths of a credit,
moments are Unix seconds (UTC). Of secrets only digests are kept: sha256 in hex.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
)
from sqlalchemy import UniqueConstraint as Unique

from callsheet.tasks.ledger.schema import Id, metadata

# Who may do what on the board and by its interface. Of a token only the sha256 (hex) is kept.
people = Table(
    "people",
    metadata,
    Column("id", Id, primary_key=True),
    Column("name", String(200), nullable=False, unique=True),
    # viewer, reviewer, agent, approver, admin
    Column("role", String(16), nullable=False),
    Column("token", String(64), unique=True),
    # Credits a day that the person may approve; null: no limit, for an agent 0.
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
    # Whether it shows videos, too, that nobody of the team keeps.
    Column("all_videos", Boolean, nullable=False),
    # Until when its guest is to decide.
    Column("due_at", Float),
    # Which rows it shows, as a filter of rows says it; all of them where it is null.
    Column("selection", Text),
    # The client's logo, as PNG.
    Column("logo", LargeBinary),
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
    # Who came by a link, as they call themselves.
    Column("called", String(200)),
    Column("made_at", Float, nullable=False),
    Column("seen_at", Float, nullable=False),
    Column("expires_at", Float, nullable=False),
)

# Settings that an admin has set on the board, as they are written in a profile.
board_settings = Table(
    "board_settings",
    metadata,
    Column("name", String(40), primary_key=True),
    Column("value", Text, nullable=False),
    Column("by", String(200), nullable=False),
    Column("at", Float, nullable=False),
)

# Sheets that were uploaded: where each is now, and what it was called.
sheets = Table(
    "sheets",
    metadata,
    Column("id", String(40), primary_key=True),
    Column("name", Text, nullable=False),
    # A path, an https:// or an s3:// address; what was uploaded is kept as a file.
    Column("place", Text, nullable=False),
    Column("digest", String(64), nullable=False),
    Column("added_by", String(200), nullable=False),
    Column("added_at", Float, nullable=False),
)

# What the headers of uploaded sheets mean, as a person confirmed it, by a digest of the headers.
header_columns = Table(
    "header_columns",
    metadata,
    Column("headers", String(64), primary_key=True),
    # Header to column, as JSON.
    Column("columns", Text, nullable=False),
    Column("by", String(200), nullable=False),
    Column("at", Float, nullable=False),
)

# Plans that wait for approval, or had it. What is in one never changes once it is ready.
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
    # The plan as `plan --json` says it, compressed, once it is ready.
    Column("document", LargeBinary),
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

# Every run, from whatever door: what it was asked for, how far it is, how it ended. The lease
# `run:ID` says who is at work; who had it last stays in the row. A run that has no end and no live
# owner has stopped, which is not written until a later run of its campaign finds it so.
runs = Table(
    "runs",
    metadata,
    # Of a flow its flow run's: one that Prefect starts again is the same run.
    Column("id", String(40), primary_key=True),
    # run, retake, approve, adopt, fetch, cancel, prune, repair, night, worker
    Column("kind", String(16), nullable=False),
    # terminal, flow, night, board, worker
    Column("door", String(16), nullable=False),
    # The run that it is a part of: a night, or a run that has workers.
    Column("parent", String(40)),
    # Empty: of several, as a night is.
    Column("campaign", String(200), nullable=False),
    # The plan that it makes, once that is approved.
    Column("plan_id", String(40), ForeignKey("plans.id"), unique=True),
    # What it was asked for and limited to, as JSON, without secrets.
    Column("options", Text),
    # The fingerprint of the service's key, and the address of the store.
    Column("organisation", String(32)),
    Column("store", Text),
    # The process that has or had its lease, as `tasks.engine.owner` names it.
    Column("owner", String(200)),
    Column("started_by", String(200), nullable=False),
    # planning, quoting, approving, producing, reporting; waiting, for another run
    Column("step", String(16)),
    # When it is expected to be done, by its own estimate.
    Column("expected_at", Float),
    # When it was approved on the board, else when it began.
    Column("asked_at", Float, nullable=False),
    # Of the board's: when it had its campaign.
    Column("begun_at", Float),
    Column("ended_at", Float),
    # As of the command line; null where it stopped without a word.
    Column("exit", Integer),
    Column("words", Text),
    # A parked one of the board is started again then.
    Column("due_at", Float),
    Index(None, "campaign", "asked_at"),
    Index(None, "parent"),
)
#: Runs that are not over.
OPEN = runs.c.ended_at.is_(None) | runs.c.due_at.is_not(None)
# As of takes: PostgreSQL's is the same.
Index("ix_runs_open", runs.c.asked_at, sqlite_where=OPEN)

# What people did, newest last: every change that someone asked for, and from where.
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


# The ledger's tables of nights: which were swept, what lies in the inboxes, pauses, notices.
#
# The same database as `schema`. Amounts are millionths of a credit, moments are Unix seconds (UTC).


# One sweep of an inbox of sheets, named by its date; the lease `night:INBOX` says who sweeps.
nights = Table(
    "nights",
    metadata,
    Column("id", Id, primary_key=True),
    # A name of `nights.toml`, or the place that was typed.
    Column("inbox", String(200), nullable=False),
    # The date in the schedule's zone, as 2026-11-22.
    Column("date", String(10), nullable=False),
    Column("zone", String(64), nullable=False),
    Column("begun_at", Float, nullable=False),
    Column("ended_at", Float),
    # As of the command line.
    Column("exit", Integer),
    # What the standing approval of this night has approved by now.
    Column("approved", BigInteger, nullable=False, server_default="0"),
    # Why nothing was swept: paused, superseded.
    Column("skipped", Text),
    # What came of it so far, as JSON, over all its sweeps: for the digest.
    Column("report", Text),
    Unique("inbox", "date"),
)

# Sheets as they were last seen in an inbox.
inbox_sheets = Table(
    "inbox_sheets",
    metadata,
    Column("id", Id, primary_key=True),
    Column("inbox", String(200), nullable=False),
    # Its path or key below the inbox.
    Column("name", Text, nullable=False),
    # Size and time of a file, size and ETag of an object; and since when they stand still.
    Column("version", String(200), nullable=False),
    Column("seen_at", Float, nullable=False),
    # Of the version that a night has dealt with: sha256 of the bytes (hex), and what came of it.
    Column("dealt_version", String(200)),
    Column("digest", String(64)),
    Column("campaign", String(200)),
    Column("outcome", String(20)),
    # What the standing approval has approved of it in the night of that date.
    Column("approved", BigInteger, nullable=False, server_default="0"),
    Column("approved_on", String(10)),
    # Nights in a row in which it failed, and the last of them.
    Column("failures", Integer, nullable=False, server_default="0"),
    Column("failed_on", String(10)),
    Column("set_aside_at", Float),
    Unique("inbox", "name"),
)

# The campaigns that a sheet has had, written before anything of one is paid for: a file may be
# removed, or used for another campaign, while videos are under way.
inbox_campaigns = Table(
    "inbox_campaigns",
    metadata,
    Column("id", Id, primary_key=True),
    Column("inbox", String(200), nullable=False),
    # As in inbox_sheets.
    Column("sheet", Text, nullable=False),
    Column("campaign", String(200), nullable=False),
    # While a scan processes it: what the campaign had been charged before, and its last event then.
    Column("charged_before", BigInteger),
    Column("event_before", BigInteger),
    Unique("inbox", "sheet", "campaign"),
)

# Nights that are not wanted for a while: of an inbox, or of all ("*").
pauses = Table(
    "pauses",
    metadata,
    Column("inbox", String(200), primary_key=True),
    # Null: until someone says so.
    Column("until", Float),
    Column("by", String(200), nullable=False),
    Column("at", Float, nullable=False),
)

# Messages to people, one for each address, written down before they are sent; each is made once,
# by its key.
notices = Table(
    "notices",
    metadata,
    Column("id", Id, primary_key=True),
    Column("key", String(200), nullable=False, unique=True),
    Column("inbox", String(200), nullable=False),
    # digest, trouble, quiet
    Column("kind", String(20), nullable=False),
    # The address that it is for: which of them, not what it is.
    Column("address", String(32), nullable=False),
    Column("subject", Text, nullable=False),
    # What it tells of, as JSON: the troubles with the night since which they last, the videos.
    Column("about", Text, nullable=False),
    # What is to be sent, as JSON; null once it was, or was given up.
    Column("letter", Text),
    Column("made_at", Float, nullable=False),
    Column("sent_at", Float),
    Column("tries", Integer, nullable=False, server_default="0"),
    Column("tried_at", Float),
    # Why the last try failed, without addresses.
    Column("error", Text),
    Index(None, "inbox", "made_at"),
)


# The ledger's tables of workers: what several machines process together, and who has which rows.
#
# The same database as `schema`. Moments are Unix seconds (UTC) by the database's own clock.


# What one run has workers process: its rows as they stood when it began to produce.
productions = Table(
    "productions",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("campaign_id", Id, ForeignKey("campaigns.id"), nullable=False),
    # The run that its workers are part of, and who must have the campaign's lease for anything to
    # be begun.
    Column("run_id", String(40)),
    Column("owner", String(200), nullable=False),
    Column("workers", Integer, nullable=False),
    # Rows that are claimed at once.
    Column("batch_size", Integer, nullable=False),
    # The number of its rows that no one has claimed.
    Column("free", BigInteger, nullable=False),
    # Which service and which store it is for, so that a worker with other settings leaves it alone.
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
