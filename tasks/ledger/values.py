"""Rows, takes and events of the ledger as frozen values, and the states of a row.

Owns the way from a database row to a value; a change makes a new value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from itertools import pairwise
from statistics import median
from typing import Literal, NamedTuple, cast, get_args

from sqlalchemy import Connection, bindparam, select, update

from callsheet.tasks.ledger.records import Records
from callsheet.tasks.ledger.schema import campaigns, rows, takes
from callsheet.tasks.runtime.redact import one_line
from callsheet.tasks.values.amounts import from_micro
from callsheet.tasks.values.briefs import CaptionFormat, Json, frozen_body, idempotency_key
from callsheet.tasks.values.edits import made_by

#: Finished renders that are asked for at most.
LENGTHS = 500
#: Numbers in one question: SQLite allows no more than some thousands.
AT_ONCE = 500
#: Where a body says how long the video is to be; in a text, its quotes would be escaped.
_LENGTH = re.compile(rb'"duration_seconds": ?([0-9]+)')
#: What a take's body holds besides the brief.
OURS = ("start_generation", "idempotency_key")


@dataclass(frozen=True, kw_only=True, slots=True)
class Take:
    """One paid attempt at a row; `body` is what was, or will be, sent. Moments in Unix seconds."""

    id: int
    number: int
    nth: int
    key: str
    digest: str
    body: bytes = field(repr=False)
    quoted: Decimal | None
    reserved: Decimal
    charged: Decimal | None = None
    video_id: str | None = None
    intended_at: float
    accepted_at: float | None = None
    refused_at: float | None = None
    ready_at: float | None = None
    delivered_at: float | None = None
    abandoned_at: float | None = None
    cancel_requested_at: float | None = None
    #: The service that its request goes to, where this ledger sends it.
    service: str | None = None
    #: When it was found: another ledger paid for it, or it was made elsewhere.
    found_at: float | None = None
    #: Whether the body holds the key, where the body itself is not in memory.
    key_in_body: bool | None = None
    #: The length asked for, in seconds, where the body itself is not in memory.
    asked_seconds: float | None = None
    #: When its video was deleted at the service, and by whom.
    deleted_at: float | None = None
    deleted_by: str | None = None

    @property
    def stands(self) -> bool:
        """Whether a video may come of it: it was sent, or may have been, and not refused since."""
        return self.refused_at is None and self.abandoned_at is None

    @property
    def adopted(self) -> bool:
        """Whether its video was made elsewhere: what that cost is no cost of its campaign."""
        return self.found_at is not None and self.quoted == self.charged == 0

    @property
    def deletion(self) -> str | None:
        """When its video was deleted at the service, and by whom, in words."""
        if self.deleted_at is None:
            return None
        day = datetime.fromtimestamp(self.deleted_at, UTC)
        return f"deleted at the service on {day:%Y-%m-%d} by {self.deleted_by}"

    @property
    def keyed(self) -> bool:
        """Whether its body holds its key, so that the same bytes may be sent again."""
        if self.key_in_body is not None:
            return self.key_in_body
        return f'"{self.key}"'.encode() in self.body

    def wanted_seconds(self) -> float | None:
        """Return the length that was asked for, in seconds, if one was."""
        if self.asked_seconds is None and (said := _LENGTH.search(self.body)):
            return float(said[1])
        return self.asked_seconds

    def asked(self) -> dict[str, Json]:
        """Return what was asked of the service, without key and start."""
        body = cast("dict[str, Json]", json.loads(self.body))
        return {name: value for name, value in body.items() if name not in OURS}


@dataclass(frozen=True, kw_only=True, slots=True)
class CampaignRow:
    """One row of a campaign, with its present take."""

    id: int
    campaign_id: int
    campaign: str
    row: str
    position: int
    line: int
    state: State
    since: float
    reason: str | None
    operation: str
    request: str = field(repr=False)
    digest: str
    nth: int
    captions: tuple[CaptionFormat, ...]
    enabled: bool
    priority: int
    max_credits: Decimal | None
    tags: tuple[str, ...]
    cost_center: str | None
    notes: str | None
    #: What its files are called (`values.names`); None: as by default.
    name: str | None = None
    quoted: Decimal | None
    quoted_at: float | None
    take: Take | None
    #: The price that was agreed to, while the row is approved.
    approved: Decimal | None = None
    #: How many more takes were approved with it, for renders that fail at the service.
    retries: int | None = None
    #: The id that it had first, where it was renamed.
    first_id: str | None = None
    #: It is not made before the first moment, and late after the second (Unix seconds).
    deliver_after: float | None = None
    deliver_by: float | None = None

    def asked(self) -> dict[str, Json]:
        """Return what the row asks of the service, as the body without key and start."""
        return cast("dict[str, Json]", json.loads(self.request))

    def key(self, nth: int | None = None) -> str:
        """Return the key of the attempt at its brief that comes now, or of the `nth`."""
        return idempotency_key(
            campaign=self.campaign,
            row=self.first_id or self.row,
            operation=self.operation,
            digest=self.digest,
            nth=nth or self.nth,
        )

    def body(self, key: str | None) -> bytes:
        """Return what a take of it sends under a key, or once without."""
        return frozen_body(self.asked(), key=key, operation=self.operation)

    def for_new_video(self) -> CampaignRow:
        """Return the row as one that gets a new video, and no edit of the one that it has."""
        return replace(self, operation=made_by(self.operation))

    @property
    def title(self) -> str:
        """A few words for people."""
        return title_of(self.request, self.row)


def title_of(request: str, row: str) -> str:
    """Return a few words on a row for people, by what it asks for, as JSON, and its id."""
    asked = json.loads(request)
    return one_line(str(asked.get("title") or asked.get("topic") or row))


TAKES = Records(Take, takes)
#: Changes one take, which its parameter `the_take` names.
THIS_TAKE = update(takes).where(takes.c.id == bindparam("the_take"))
ROWS = Records(
    CampaignRow,
    rows,
    joined=rows.join(campaigns, campaigns.c.id == rows.c.campaign_id).outerjoin(
        takes, takes.c.id == rows.c.take_id
    ),
    words={"captions": " "},
    campaign=campaigns.c.name,
    take=TAKES,
)


def rows_of(
    connection: Connection,
    campaign_id: int,
    *,
    states: Iterable[State] | None = None,
    row: str | None = None,
    named: Iterable[str] | None = None,
    numbers: Iterable[int] | None = None,
) -> list[CampaignRow]:
    """Return a campaign's rows in sheet order, optionally those in `states`, of one id, of some,
    or of some numbers in the ledger."""
    query = ROWS.query.where(rows.c.campaign_id == campaign_id)
    every = states is None and row is None and named is None and numbers is None
    # As it stands, SQLite would find some by walking through all in the order of the sheet.
    query = query.order_by(rows.c.position if every else rows.c.position + 0, rows.c.id)
    if states is not None:
        query = query.where(rows.c.state.in_(list(states)))
    if row is not None:
        query = query.where(rows.c.row == row)
    if named is not None:
        query = query.where(rows.c.row.in_(list(named)))
    if numbers is not None:
        query = query.where(rows.c.id.in_(list(numbers)))
    return ROWS.all(connection, query)


def rows_by_number(connection: Connection, numbers: Sequence[int]) -> list[CampaignRow]:
    """Return the rows of these numbers (`CampaignRow.id`), in the order of the numbers."""
    found: dict[int, CampaignRow] = {}
    for start in range(0, len(numbers), AT_ONCE):
        query = ROWS.query.where(rows.c.id.in_(numbers[start : start + AT_ONCE]))
        found |= {row.id: row for row in ROWS.all(connection, query)}
    return [found[number] for number in numbers]


def takes_of(
    connection: Connection, campaign_id: int, *, numbers: Iterable[int] | None = None
) -> list[tuple[int, Take]]:
    """Return every take of a campaign with the number of its row, oldest first; optionally those
    of some rows, by their numbers in the ledger."""
    query = TAKES.query.add_columns(takes.c.row_id).where(takes.c.campaign_id == campaign_id)
    if numbers is not None:
        query = query.where(takes.c.row_id.in_(list(numbers)))
    query = query.order_by(takes.c.row_id, takes.c.number)
    return [(line[-1], TAKES.read(line)) for line in connection.execute(query)]


def delivered_briefs(
    connection: Connection, campaign_id: int, digests: Sequence[str]
) -> dict[str, list[str]]:
    """Return the rows of a campaign that have a delivered video of these briefs, by digest."""
    query = (
        select(takes.c.digest, rows.c.row)
        .join(rows, rows.c.id == takes.c.row_id)
        .where(takes.c.campaign_id == campaign_id, takes.c.digest.in_(digests))
        .where(takes.c.delivered_at.is_not(None), takes.c.abandoned_at.is_(None))
        .order_by(rows.c.position, takes.c.id)
    )
    found: dict[str, list[str]] = {}
    for digest, row in connection.execute(query):
        found.setdefault(digest, []).append(row)
    return found


def last_made(takes: Sequence[Take]) -> Take | None:
    """Return the take of a row, of all its takes oldest first, whose video an edit may change.

    The last take that was sent, once it is delivered. None while it may still change its video. One
    that was given up at no cost was not sent, and one with a key has made another video.
    """
    for take in reversed(takes):
        given_up = take.abandoned_at is not None and (take.keyed or take.charged == 0)
        if take.refused_at is None and not given_up:
            made = take.stands and take.delivered_at is not None and take.video_id is not None
            made = made and not take.deletion
            return take if made else None
    return None


def cells_of(
    connection: Connection, campaign_id: int, *, numbers: Iterable[int] | None = None
) -> Mapping[int, list[tuple[str, str]]]:
    """Return the sheet's own headers and texts, by row (of some, by their numbers)."""
    query = select(rows.c.id, rows.c.cells).where(rows.c.campaign_id == campaign_id)
    if numbers is not None:
        query = query.where(rows.c.id.in_(list(numbers)))
    return {
        found.id: [(header, text) for header, text in json.loads(found.cells)]
        for found in connection.execute(query)
    }


def texts_of(
    connection: Connection, campaign_id: int, named: Sequence[str]
) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield each of these rows, by id, with the sheet's own texts by header."""
    this = (rows.c.campaign_id == campaign_id, rows.c.row.in_(named))
    for row, text in connection.execute(select(rows.c.row, rows.c.cells).where(*this)):
        yield row, dict(json.loads(text))


def video_named(connection: Connection, row: CampaignRow) -> str | None:
    """Return the video that a row's cell `video_id` names, if it names one."""
    cells = cells_of(connection, row.campaign_id, numbers=[row.id])[row.id]
    named = (text for header, text in cells if header.strip().casefold() == "video_id")
    return next(named, None) or None


def lengths_of(connection: Connection, campaign_id: int) -> list[tuple[str, Decimal | None, float]]:
    """Return operation, price and seconds of the latest finished renders: of the campaign, else
    of any other in the ledger."""
    query = (
        select(rows.c.operation, takes.c.quoted, takes.c.ready_at - takes.c.accepted_at)
        .join(rows, rows.c.id == takes.c.row_id)
        .where(takes.c.ready_at.is_not(None), takes.c.accepted_at.is_not(None))
        .order_by(takes.c.id.desc())
        .limit(LENGTHS)
    )
    own = connection.execute(query.where(takes.c.campaign_id == campaign_id)).all()
    return [
        (operation, from_micro(price), max(0.0, seconds))
        for operation, price, seconds in own or connection.execute(query).all()
    ]


class Pace(NamedTuple):
    """What a render takes, and how far apart two of them are finished: medians, in seconds."""

    render: float
    apart: float


def pace_of(connection: Connection, campaign_id: int) -> Pace | None:
    """Return the pace of the latest finished renders: of the campaign, else of any other."""
    query = (
        select(takes.c.accepted_at, takes.c.ready_at)
        .where(takes.c.ready_at.is_not(None), takes.c.accepted_at.is_not(None))
        .order_by(takes.c.id.desc())
        .limit(LENGTHS)
    )
    found = connection.execute(query.where(takes.c.campaign_id == campaign_id)).all()
    found = found or connection.execute(query).all()
    if not found:
        return None
    ends = sorted(ready for _, ready in found)
    apart = [after - before for before, after in pairwise(ends)] or [0.0]
    return Pace(median(ready - accepted for accepted, ready in found), median(apart))


# The life of a row: its states, and the moves between them.
#
#     planned -> quoted -> approved -> submitting -> rendering -> ready -> delivered
#
# Next to it stand the states that wait for a person. This dict is the only list of moves;
# the ledger refuses any other.


State = Literal[
    "planned",
    "quoted",
    "approved",
    "submitting",
    "rendering",
    "ready",
    "delivered",
    "held",
    "rejected",
    "failed",
    "stalled",
    "uncertain",
    "cancelled",
    "retired",
]
STATES: tuple[State, ...] = get_args(State)

#: A paid request may be under way: the row is resumed by any run, whatever the sheet says now.
UNDER_WAY: frozenset[State] = frozenset({"submitting", "rendering", "ready"})
#: Not begun: nothing has been asked of the service under the present brief.
NOT_BEGUN: frozenset[State] = frozenset({"planned", "quoted", "approved"})
#: Waiting for a person.
NEEDS_PERSON: frozenset[State] = frozenset({"held", "rejected", "failed", "stalled", "uncertain"})

TRANSITIONS: dict[State, frozenset[State]] = {
    # The last three: the sheet was changed back to a video that was already paid for.
    "planned": frozenset({"quoted", "held", "rejected", "cancelled", "retired",
                          "submitting", "rendering", "delivered"}),
    "quoted": frozenset({"planned", "approved", "held", "rejected", "cancelled", "retired"}),
    "approved": frozenset({"planned", "submitting", "held", "cancelled", "retired"}),
    # Back to approved, or cancelled: proved not to have been executed.
    "submitting": frozenset({"rendering", "approved", "held", "rejected", "uncertain",
                             "cancelled"}),
    "rendering": frozenset({"ready", "failed", "stalled", "cancelled"}),
    "ready": frozenset({"delivered", "held"}),
    "delivered": frozenset({"planned", "ready", "retired"}),
    "held": frozenset({"planned", "submitting", "rendering", "delivered", "cancelled", "retired"}),
    "rejected": frozenset({"planned", "retired"}),
    "failed": frozenset({"planned", "retired"}),
    "stalled": frozenset({"planned", "rendering", "cancelled", "retired"}),
    "uncertain": frozenset({"planned", "rendering", "cancelled", "retired"}),
    "cancelled": frozenset({"planned", "retired"}),
    "retired": frozenset({"planned", "submitting", "rendering", "delivered"}),
}  # fmt: skip
