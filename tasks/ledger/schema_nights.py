"""The ledger's tables of nights: which were swept, what lies in the inboxes, pauses, notices.

The same database as `schema`. Amounts are millionths of a credit, moments are Unix seconds (UTC).
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Float, Index, Integer, String, Table, Text
from sqlalchemy import UniqueConstraint as Unique

from callsheet.tasks.ledger.schema import Id, metadata

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
    # Null: until somebody says so.
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
    # digest, trouble, silence
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
