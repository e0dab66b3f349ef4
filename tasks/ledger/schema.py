"""The ledger's tables. Amounts are millionths of a credit, moments are Unix seconds (UTC).

Owns what the database looks like now; how it came to look so is in `migrations/`.
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
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    func,
    literal_column,
)

#: The newest migration: `callsheet ledger upgrade` brings an older ledger to it; a newer one is
#: refused.
REVISION = "0034"
#: The oldest that a program can upgrade: of the first release. What came before is refused.
FIRST = "0034"
#: The table that says which one a database is at. Alembic's own name for it is in the database of
#: every application that uses Alembic, Prefect's among them.
VERSION_TABLE = "callsheet_version"

#: SQLite counts up only in a column that it calls INTEGER.
Id = BigInteger().with_variant(Integer, "sqlite")

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

campaigns = Table(
    "campaigns",
    metadata,
    Column("id", Id, primary_key=True),
    Column("name", String(200), nullable=False, unique=True),
    Column("sheet", Text),
    Column("sheet_digest", String(64)),
    Column("budget", BigInteger),
    # The account: kept by the same transactions that change a take, so that the budget is one
    # guarded UPDATE for every process.
    Column("reserved", BigInteger, nullable=False, default=0),
    Column("charged", BigInteger, nullable=False, default=0),
    Column("created_at", Float, nullable=False),
    Column("cancel_requested_at", Float),
    # Whether a sandbox of our own made its videos; unknown where this was not kept yet.
    Column("sandbox", Boolean),
    # For how many seconds the service keeps delivered videos; null: until a person deletes them.
    Column("keep_at_service", Float),
    # The last number that was given to workers, or to rows for them to claim.
    Column("claims", BigInteger, nullable=False, default=0, server_default="0"),
    # What the files of the report in the store were made of: while it is so, they stand.
    Column("reported", Text),
)

# Who is at work on what (`leases`); moments are those of the database's own clock. A line whose
# owner is null was released: it stays, so that its token goes on growing.
leases = Table(
    "leases",
    metadata,
    # campaign:ID, night:INBOX, run:ID or worker:ID
    Column("name", String(250), primary_key=True),
    Column("owner", String(200)),
    Column("since", Float, nullable=False),
    Column("until", Float, nullable=False),
    # One more for each new owner.
    Column("token", BigInteger, nullable=False),
)

# Where a campaign was run from; found by digest, since an address may be of any length.
origins = Table(
    "origins",
    metadata,
    Column("campaign_id", Id, ForeignKey("campaigns.id"), primary_key=True),
    Column("digest", String(64), primary_key=True),
    Column("place", Text, nullable=False),
    Column("worksheet", Text),
    Column("at", Float, nullable=False),
    Index(None, "digest"),
)

# Pairs that a person wants both of, though rows are the same; the lower number first.
separations = Table(
    "separations",
    metadata,
    Column("campaign_id", Id, ForeignKey("campaigns.id"), primary_key=True),
    Column("other_id", Id, ForeignKey("campaigns.id"), primary_key=True),
)

rows = Table(
    "rows",
    metadata,
    Column("id", Id, primary_key=True),
    Column("campaign_id", Id, ForeignKey("campaigns.id"), nullable=False),
    Column("row", String(200), nullable=False),
    Column("position", Integer, nullable=False),
    Column("line", Integer, nullable=False),
    Column("state", String(16), nullable=False),
    Column("since", Float, nullable=False),
    Column("reason", Text),
    Column("operation", String(40), nullable=False),
    # What rows are told apart by: the same as in `request` and `cells`, which are JSON. As `title`
    # its topic, where it has none.
    Column("title", Text),
    Column("tool", Text),
    Column("language", Text),
    Column("ratio", Text),
    Column("brand", Text),
    Column("variant_of", String(200)),
    Column("request", Text, nullable=False),
    Column("digest", String(64), nullable=False),
    Column("nth", Integer, nullable=False, default=1),
    Column("captions", String(40), nullable=False),
    Column("enabled", Boolean, nullable=False),
    Column("priority", Integer, nullable=False),
    Column("max_credits", BigInteger),
    Column("tags", Text, nullable=False),
    Column("cost_center", Text),
    Column("notes", Text),
    # What its files are called, with the campaign and the take left open; null: as by default.
    Column("name", Text),
    # Where its files are copied to, as JSON: pairs of a place and a name in it; null: nowhere.
    Column("copies", Text),
    Column("cells", Text, nullable=False),
    # A digest of captions to cells; unknown for rows of before this was kept.
    Column("wishes", String(32)),
    Column("quoted", BigInteger),
    Column("quoted_at", Float),
    # The price that someone agreed to: a newer quote above it is agreed to again.
    Column("approved", BigInteger),
    # How many more takes were approved with it, for renders that fail at the service.
    Column("retries", Integer),
    # The row is not made before the first moment, and late after the second.
    Column("deliver_after", Float),
    Column("deliver_by", Float),
    Column("take_id", Id),
    # The take whose video is the row's, which may be an earlier one; null while it has none.
    Column("video_take_id", Id),
    # The number of the worker that has it, or had it last, which grows: of two who believe that
    # they have a row one is known to be wrong.
    Column("claim", BigInteger),
    # The id that it had first, where it was renamed: its keys are made of it.
    Column("first_id", String(200)),
    UniqueConstraint("campaign_id", "row"),
    # All that counting rows by state, with their prices, and videos needs to look at.
    Index("ix_rows_counts", "campaign_id", "state", "quoted", "take_id", "video_take_id"),
    # In the order of the sheet, page by page.
    Index(None, "campaign_id", "position", "id"),
)
#: When a row is to be delivered that does not say it: after all others.
NEVER = 1e12
#: The order in which rows are made, by one process and by workers: higher priority first, then what
#: is to be delivered earlier, then in the sheet's order.
MADE_FIRST = (
    rows.c.priority.desc(),
    # Not a parameter: the index has the number, too.
    func.coalesce(rows.c.deliver_by, literal_column(str(NEVER))),
    rows.c.position,
    rows.c.id,
)
#: Rows that workers process, or have processed, in the order in which they are claimed: none where
#: a campaign is processed by one process.
Index(
    "ix_rows_claims",
    *(rows.c.campaign_id, rows.c.claim, rows.c.state, *MADE_FIRST),
    sqlite_where=rows.c.claim.is_not(None),
)

#: Rows that were renamed: few, if any.
RENAMED = rows.c.first_id.is_not(None)
Index("ix_rows_renamed", rows.c.campaign_id, rows.c.first_id, sqlite_where=RENAMED)
#: Rows with a day by which they are wanted: `status` asks each time which are late.
DUE = rows.c.deliver_by.is_not(None)
Index("ix_rows_due", rows.c.campaign_id, rows.c.deliver_by, sqlite_where=DUE)

takes = Table(
    "takes",
    metadata,
    Column("id", Id, primary_key=True),
    Column("row_id", Id, ForeignKey("rows.id"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("nth", Integer, nullable=False),
    Column("key", String(64), nullable=False),
    Column("digest", String(64), nullable=False),
    Column("body", LargeBinary, nullable=False),
    # Null where the service gave no readable quote.
    Column("quoted", BigInteger),
    Column("reserved", BigInteger, nullable=False, default=0),
    Column("charged", BigInteger),
    Column("video_id", Text),
    Column("intended_at", Float, nullable=False),
    Column("accepted_at", Float),
    # The service said no and made nothing: the same take may be sent again.
    Column("refused_at", Float),
    Column("ready_at", Float),
    Column("delivered_at", Float),
    # A person gave it up without knowing whether it was made: it is never taken up again.
    Column("abandoned_at", Float),
    # Someone wants it cancelled; obeyed by the process that processes its row.
    Column("cancel_requested_at", Float),
    # The service that its request goes to. Null where another ledger sent it.
    Column("service", Text),
    # The accounts it counts in, besides its campaign's: the same until it is settled.
    Column("day", String(10)),
    Column("cost_center", Text),
    Column("run", String(40)),
    # Its row's, kept next to it so that a campaign's takes are found without its rows. Null for
    # none, though SQLite adds no column that may not be without writing the table again.
    Column("campaign_id", Id),
    # What was found when its video was looked at, as JSON: name to "ok" or what is wrong; and how
    # many were wrong, so that the worst videos are found first. Null: no one looked.
    Column("checks", Text),
    Column("flagged", Integer),
    # Poster and scrub strip next to its video, as JSON. Null: there are none.
    Column("pictures", Text),
    # Whether a C2PA manifest is in its video's file: found or none. Null: no one looked.
    Column("ai_mark", String(8)),
    # Since when it is known here, where another ledger paid for it.
    Column("found_at", Float),
    # When its video was deleted at the service, and by whom, for people.
    Column("deleted_at", Float),
    Column("deleted_by", String(200)),
    # What a person says of its video (keep or reject) and why: one verdict, which stands until it
    # is changed by someone who knew it. What it was before is in the events.
    Column("review", String(8)),
    Column("review_reason", String(40)),
    Column("review_note", Text),
    Column("reviewed_by", String(200)),
    Column("reviewed_at", Float),
    # What the client says of it, who came by a link: beside the team's verdict, never in its place.
    Column("client_review", String(8)),
    Column("client_reason", String(40)),
    Column("client_note", Text),
    Column("client_by", String(200)),
    Column("client_at", Float),
    # What of it is in the store, verified there, as JSON: each kind (mp4, srt, vtt) with uri,
    # sha256, bytes and seconds, in the order of delivery. Changed under the row's lock.
    Column("files", Text),
    # Its files at the other places that they are copied to, as JSON: proved to be the same there,
    # or why they are not. Changed by whoever has the campaign's lease.
    Column("copied", Text),
    UniqueConstraint("row_id", "number"),
    UniqueConstraint("key"),
    Index(None, "video_id"),
    # Who has paid for this brief? Asked of every new campaign.
    Index(None, "digest"),
    Index(None, "campaign_id", "row_id", "number"),
)
#: Takes that stand for few, by what is said of them: a question that names it reads those alone.
CANCELLED = takes.c.cancel_requested_at.is_not(None)
VARIED = takes.c.charged != takes.c.quoted
NOT_FIRST = takes.c.number > literal_column("1")
FOUND = takes.c.found_at.is_not(None)
#: What another ledger was charged for a row, of which no more is known (`told_costs`).
TOLD = takes.c.nth == literal_column("0")
FLAGGED = takes.c.flagged > literal_column("0")
REVIEWED = takes.c.review.is_not(None)
CLIENT_REVIEWED = takes.c.client_review.is_not(None)
COPIED = takes.c.copied.is_not(None)
for name, columns, which in (
    ("ix_takes_cancelled", (takes.c.campaign_id,), CANCELLED),
    ("ix_takes_varied", (takes.c.campaign_id, takes.c.charged, takes.c.quoted), VARIED),
    ("ix_takes_not_first", (takes.c.campaign_id, takes.c.number, takes.c.row_id), NOT_FIRST),
    ("ix_takes_found", (takes.c.campaign_id, takes.c.charged), FOUND),
    ("ix_takes_flagged", (takes.c.campaign_id, takes.c.flagged, takes.c.row_id), FLAGGED),
    ("ix_takes_copied", (takes.c.campaign_id, takes.c.row_id), COPIED),
    ("ix_takes_reviewed", (takes.c.campaign_id, takes.c.review, takes.c.row_id), REVIEWED),
    (
        "ix_takes_client_reviewed",
        (takes.c.campaign_id, takes.c.client_review, takes.c.row_id),
        CLIENT_REVIEWED,
    ),
):
    # PostgreSQL's are the same (`migrations`): to name it would load what only it needs.
    Index(name, *columns, sqlite_where=which)

# What is known of takes that another ledger may have paid for and that this one does not have: from
# its manifest in the store, or from the service's list. The row need not be in this ledger.
earlier_takes = Table(
    "earlier_takes",
    metadata,
    Column("campaign_id", Id, ForeignKey("campaigns.id"), primary_key=True),
    Column("row", String(200), primary_key=True),
    Column("digest", String(64), primary_key=True),
    # The attempt at that brief; 0 where it is not known.
    Column("nth", Integer, primary_key=True, autoincrement=False),
    # When it was, or may have been, sent; null where it is not known.
    Column("sent_at", Float),
    Column("video_id", Text),
    # Its line of the manifest, as JSON.
    Column("line", Text),
    Column("noted_at", Float, nullable=False),
    # Since when no run pays for the row, and why; who said that one may pay again all the same.
    Column("refused_at", Float),
    Column("why", Text),
    Column("allowed_at", Float),
    Column("allowed_by", String(200)),
)

events = Table(
    "events",
    metadata,
    Column("id", Id, primary_key=True),
    Column("campaign_id", Id, ForeignKey("campaigns.id"), nullable=False),
    Column("row_id", Id, ForeignKey("rows.id")),
    Column("take_id", Id, ForeignKey("takes.id")),
    Column("at", Float, nullable=False),
    Column("kind", String(20), nullable=False),
    Column("old", String(16)),
    Column("new", String(16)),
    Column("words", Text),
    Index(None, "campaign_id", "id"),
    Index(None, "row_id"),
)

# What a month, a day, a cost center and a run have set aside and paid; kept like a campaign's
# account.
accounts = Table(
    "accounts",
    metadata,
    Column("id", Id, primary_key=True),
    Column("kind", String(16), nullable=False),
    Column("name", Text, nullable=False),
    # What limited it at the last reservation.
    Column("budget", BigInteger),
    Column("reserved", BigInteger, nullable=False, default=0),
    Column("charged", BigInteger, nullable=False, default=0),
    UniqueConstraint("kind", "name"),
)

gates = Table(
    "gates",
    metadata,
    # A fingerprint of the organisation's key, never the key.
    Column("organisation", String(64), primary_key=True),
    Column("closed_until", Float, nullable=False),
)

# What was counted on every machine: requests, polls, hints, seconds to delivery.
counters = Table(
    "counters",
    metadata,
    Column("name", String(40), primary_key=True),
    Column("label", String(80), primary_key=True),
    Column("value", Float, nullable=False),
)

# Paid calls that take no idempotency key: each is sent once, and at most one is open for a target.
calls = Table(
    "calls",
    metadata,
    Column("id", Id, primary_key=True),
    Column("organisation", String(64), nullable=False),
    # The id of the video it changes; empty for a call that makes one.
    Column("target", Text, nullable=False),
    Column("operation", String(40), nullable=False),
    Column("take_id", Id, ForeignKey("takes.id")),
    Column("body", LargeBinary, nullable=False),
    Column("opened_at", Float, nullable=False),
    Column("closed_at", Float),
    # made, refused or unknown; an unknown one waits for a person until it is resolved.
    Column("outcome", String(16)),
    Column("video_id", Text),
    Column("resolved_at", Float),
    # How the video that it changes was before, as JSON: what shows later that it was changed.
    Column("before", Text),
    Index(None, "take_id"),
)
Index(
    "ix_calls_open",
    calls.c.organisation,
    calls.c.target,
    unique=True,
    sqlite_where=calls.c.closed_at.is_(None),
)

# Videos that were in the service's list before a call without a key was sent: not made by it.
videos_seen = Table(
    "videos_seen",
    metadata,
    Column("organisation", String(64), primary_key=True),
    Column("video_id", String(200), primary_key=True),
    Column("seen_at", Float, nullable=False),
)

# Hints: every signed delivery of a webhook, once. Kept for longer than the service retries.
hints = Table(
    "hints",
    metadata,
    Column("id", Id, primary_key=True),
    # Not signed, and empty where another body had it first.
    Column("event_id", String(200), unique=True),
    Column("digest", String(64), nullable=False, unique=True),
    # The subscription whose secret signed it.
    Column("nonce", String(40), nullable=False),
    Column("kind", String(60)),
    Column("ping", Boolean, nullable=False),
    Column("attempt", Integer),
    Column("told_at", Float),
    Column("heard_at", Float, nullable=False),
    Index(None, "heard_at"),
    Index(None, "nonce", "heard_at"),
)

# The videos that a hint names.
hinted = Table(
    "hinted",
    metadata,
    Column("hint_id", Id, ForeignKey("hints.id", ondelete="CASCADE"), primary_key=True),
    Column("video_id", String(200), primary_key=True),
    Index(None, "video_id"),
)

# What a service told of what it offers, newest only. Sheets are compared with it offline.
catalogues = Table(
    "catalogues",
    metadata,
    Column("base_url", String(500), primary_key=True),
    Column("told_at", Float, nullable=False),
    # The sha256 (hex) of the body: whether anything is new.
    Column("digest", String(64), nullable=False),
    Column("body", Text, nullable=False),
)
