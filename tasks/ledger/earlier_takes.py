"""Takes that another ledger may have paid for.

Remembered, looked up, and restored without paying again.

Owns the table `earlier_takes`: what a manifest or the service's list says of them, which rows no
run pays for because of that, and a person's decision to pay all the same. Knows no HTTP and no
store.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, exists, func, insert, select, update

from callsheet.tasks.ledger.accounts import count_past
from callsheet.tasks.ledger.deliveries import Delivered, VideoFindings, keep_files, keep_findings
from callsheet.tasks.ledger.figures import pages_of
from callsheet.tasks.ledger.moves import move, note
from callsheet.tasks.ledger.records import Records
from callsheet.tasks.ledger.renames import UNMADE, first_ids, set_first_ids
from callsheet.tasks.ledger.reviews import Review, Side, restore_reviews
from callsheet.tasks.ledger.schema import earlier_takes, rows, takes
from callsheet.tasks.ledger.told_costs import drop_told
from callsheet.tasks.ledger.values import CampaignRow, State, rows_of
from callsheet.tasks.values.amounts import to_micro

#: Why no run pays for a row, where more is not known.
MAYBE_PAID = (
    "another ledger may have paid for it: put that ledger back, write the id of its video into the "
    "column video_id to take it over, or run the sheet with --pay-again to pay for it again"
)
#: Where a row rests before anything was paid for its present brief.
UNPAID: tuple[State, ...] = ("planned", "quoted", "approved", "held")


@dataclass(frozen=True, kw_only=True, slots=True)
class EarlierTake:
    """A take that this ledger does not have. Moments in Unix seconds, None where not known.

    `nth` is the attempt at the brief of this digest, 0 where that is not known; `line` is its line
    of a manifest, as JSON.
    """

    row: str
    digest: str
    nth: int = 0
    sent_at: float | None = None
    video_id: str | None = None
    line: str | None = None
    noted_at: float = 0.0
    refused_at: float | None = None
    #: What shows that it may be paid for.
    why: str | None = None
    allowed_at: float | None = None

    @property
    def refused(self) -> bool:
        """Whether no run pays for the row until a person says so."""
        return self.refused_at is not None and self.allowed_at is None

    @property
    def told(self) -> Mapping[str, Any]:
        """Its line of a manifest; empty where there is none."""
        return json.loads(self.line) if self.line else {}

    @property
    def known_since(self) -> float:
        """When it was sent, or else became known here."""
        return self.noted_at if self.sent_at is None else self.sent_at

    def as_json(self) -> dict[str, str | int | float | None]:
        """Return what a manifest says of it."""
        known: dict[str, str | int | float | None] = {"digest": self.digest, "nth": self.nth}
        known |= {"sent_at": self.known_since, "video_id": self.video_id}
        return known if self.line is None else {**known, "line": self.line}


class UnpaidRow(NamedTuple):
    """A row whose present brief this ledger has not paid for."""

    id: int
    row: str
    operation: str
    digest: str
    nth: int
    first_id: str | None = None


_UNPAID = Records(UnpaidRow, rows)


def unpaid_rows(connection: Connection, campaign_id: int) -> list[UnpaidRow]:
    """Return the rows of a campaign that a run could pay for, in sheet order."""
    # A take that the service refused has made nothing: its key goes out again.
    paid = and_(
        takes.c.digest == rows.c.digest, takes.c.nth == rows.c.nth, takes.c.refused_at.is_(None)
    )
    query = (
        _UNPAID.query.outerjoin(takes, and_(takes.c.id == rows.c.take_id, paid))
        .where(
            rows.c.campaign_id == campaign_id,
            rows.c.state.in_(UNPAID),
            rows.c.enabled,
            takes.c.id.is_(None),
        )
        .order_by(rows.c.position + 0, rows.c.id)
    )
    return _UNPAID.all(connection, query)


def taken_keys(connection: Connection, keys: Collection[str]) -> set[str]:
    """Return those of the keys that a take of this ledger has."""
    found: set[str] = set()
    for page in pages_of(sorted(keys)):
        found.update(connection.scalars(select(takes.c.key).where(takes.c.key.in_(page))))
    return found


def keep_earlier(
    connection: Connection,
    campaign_id: int,
    found: Iterable[EarlierTake],
    *,
    at: float,
    first: Iterable[tuple[str, str]] = (),
) -> None:
    """Remember earlier takes that this ledger has no take of.

    What is known of the same attempt already, a refusal or a decision among it, stays as it is.
    `first` are rows with the ids that they had first; what is known of a row under its first id is
    known of the row.
    """
    first = list(first)
    set_first_ids(connection, campaign_id, first)
    renamed = dict(first_ids(connection, campaign_id))
    renamed |= {row: renamed[was] for row, was in first if was in renamed}
    found = (replace(one, row=renamed.get(one.row, one.row)) for one in found)
    for page in pages_of(found):
        named = sorted({one.row for one in page})
        known = {(o.row, o.digest, o.nth) for o in earlier_of(connection, campaign_id, named=named)}
        known |= _paid(connection, campaign_id, named)
        for one in page:
            if (one.row, one.digest, one.nth) not in known:
                _put(connection, campaign_id, replace(one, noted_at=at))


def earlier_of(
    connection: Connection, campaign_id: int, *, named: Sequence[str] | None = None
) -> list[EarlierTake]:
    """Return the earlier takes that are known of a campaign, or of some of its rows."""
    query = _EARLIER.query.where(earlier_takes.c.campaign_id == campaign_id)
    if named is not None:
        query = query.where(earlier_takes.c.row.in_(named))
    return _EARLIER.all(connection, query)


def refuse_to_pay(
    connection: Connection, campaign_id: int, found: Sequence[EarlierTake], *, at: float
) -> None:
    """Have no run pay for rows until a person decides; put them on hold, each with its reason.

    A decision that was made before stands, and a row that moved on stays where it is.
    """
    for page in pages_of(found):
        named = [one.row for one in page]
        known = {
            (o.row, o.digest, o.nth): o for o in earlier_of(connection, campaign_id, named=named)
        }
        there = {row.row: row for row in rows_of(connection, campaign_id, named=named)}
        for one in page:
            row, before = there.get(one.row), known.get((one.row, one.digest, one.nth))
            if row is None or row.state not in UNPAID:
                continue
            if one.digest != row.digest or one.nth not in (0, row.nth):
                continue
            if before is not None and before.allowed_at is not None:
                continue
            since = at if before is None or before.refused_at is None else before.refused_at
            _put(connection, campaign_id, replace(one, noted_at=at, refused_at=since))
            if row.state != "held":
                move(connection, row, "held", at=at, reason=say_held(one))


def say_held(one: EarlierTake) -> str:
    """Say why a row is on hold, and what a person can do."""
    return f"{MAYBE_PAID} ({one.why})" if one.why else MAYBE_PAID


def refused_rows(connection: Connection, campaign_id: int) -> dict[str, EarlierTake]:
    """Return the rows of a campaign that no run pays for until a person decides, by row id."""
    query = _EARLIER.query.join(rows, _SAME_ATTEMPT)
    query = query.where(earlier_takes.c.campaign_id == campaign_id, _REFUSED)
    return {found.row: found for found in _EARLIER.all(connection, query)}


def is_refused() -> ColumnElement[bool]:
    """Return what is true of a line of `rows` that no run may pay for."""
    return exists(select(earlier_takes.c.row).where(_SAME_ATTEMPT, _REFUSED)).correlate(rows)


def allow_to_pay(
    connection: Connection, campaign_id: int, wanted: Collection[str], *, by: str, at: float
) -> None:
    """Let runs pay for refused rows after all, since a person says so."""
    refused = refused_rows(connection, campaign_id)
    for page in pages_of(sorted(refused.keys() & set(wanted))):
        for row in rows_of(connection, campaign_id, named=page):
            this = _this(campaign_id, refused[row.row])
            allowed = update(earlier_takes).where(*this).values(allowed_at=at, allowed_by=by)
            connection.execute(allowed)
            note(connection, row, "pay-again", f"may be paid for a second time: {by}", at=at)


def forget_earlier(connection: Connection, row: CampaignRow, *, digest: str, nth: int) -> None:
    """Forget an earlier take, which this ledger has from now on."""
    for number in (0, nth):
        one = EarlierTake(row=row.row, digest=digest, nth=number)
        connection.execute(earlier_takes.delete().where(*_this(row.campaign_id, one)))


_EARLIER = Records(EarlierTake, earlier_takes)
_REFUSED = and_(earlier_takes.c.refused_at.is_not(None), earlier_takes.c.allowed_at.is_(None))
_SAME_ATTEMPT = and_(
    earlier_takes.c.campaign_id == rows.c.campaign_id,
    earlier_takes.c.row == rows.c.row,
    earlier_takes.c.digest == rows.c.digest,
    earlier_takes.c.nth.in_([0, rows.c.nth]),
)


def _this(campaign_id: int, one: EarlierTake) -> tuple[ColumnElement[bool], ...]:
    this = {"campaign_id": campaign_id, "row": one.row, "digest": one.digest, "nth": one.nth}
    return tuple(earlier_takes.c[name] == value for name, value in this.items())


def _put(connection: Connection, campaign_id: int, one: EarlierTake) -> None:
    """Write an earlier take in the place of what was known of the same attempt."""
    connection.execute(earlier_takes.delete().where(*_this(campaign_id, one)))
    values = _EARLIER.line(one, campaign_id=campaign_id)
    connection.execute(insert(earlier_takes).values(values))


def _paid(
    connection: Connection, campaign_id: int, named: Sequence[str]
) -> set[tuple[str, str, int]]:
    """Return row, digest and attempt of every take that stands, and 0 for an unknown attempt."""
    query = (
        select(rows.c.row, takes.c.digest, takes.c.nth)
        .join(rows, rows.c.id == takes.c.row_id)
        .where(
            rows.c.campaign_id == campaign_id,
            rows.c.row.in_(named),
            takes.c.refused_at.is_(None),
        )
    )
    found = [(row, digest, nth) for row, digest, nth in connection.execute(query)]
    return {*found, *((row, digest, 0) for row, digest, _ in found)}


# Restores a take that another ledger paid for: nothing of it is paid for again.


@dataclass(frozen=True, kw_only=True)
class PastTake:
    """A take as it was remembered elsewhere; moments in Unix seconds."""

    number: int
    nth: int
    key: str
    body: bytes
    quoted: Decimal | None
    charged: Decimal | None
    video_id: str
    sent_at: float
    #: When its video was deleted at the service, and by whom.
    deleted_at: float | None = None
    deleted_by: str | None = None
    #: Where it is known from, for people.
    source: str = "the store's manifest"
    #: Whether `charged` is all that its row cost and no other take of this ledger shows.
    is_whole: bool = False
    files: Sequence[Delivered] = ()
    #: What people said of its video, and what was found when that was inspected.
    reviews: Mapping[Side, Review] = field(default_factory=dict)
    findings: VideoFindings | None = None


def restore_count(connection: Connection, row: CampaignRow, *, nth: int) -> None:
    """Remember which attempt at its brief a row is at, so that its next key is the right one."""
    untouched = UNMADE & rows.c.state.in_(["planned", "held"])
    connection.execute(update(rows).where(rows.c.id == row.id, untouched).values(nth=nth))


def restore_take(connection: Connection, row: CampaignRow, past: PastTake, *, at: float) -> bool:
    """Restore a take: the row becomes `delivered` with its files, else `rendering`.

    Returns False when the row had moved on, or the ledger has that take.
    """
    new: State = "delivered" if past.files else "rendering"
    known = connection.execute(_BY_KEY.where(takes.c.key == past.key)).first()
    if known is not None and known.refused_at is None:
        return False
    words = f"take {past.number} was found in {past.source}: {past.video_id}"
    if row.state in ("quoted", "approved"):
        if not move(connection, row, "planned", at=at, words=words):
            return False
        row = replace(row, state="planned")
    if not move(connection, row, new, at=at, words=words):
        return False
    if past.is_whole:
        drop_told(connection, row.campaign_id, row.id)
    take_id = _write_take(connection, row, past, known.id if known else None, at=at)
    has_video = any(file.kind == "mp4" for file in past.files)
    connection.execute(
        update(rows)
        .where(rows.c.id == row.id)
        .values(
            take_id=take_id,
            quoted=to_micro(past.quoted),
            nth=past.nth,
            **({"video_take_id": take_id} if has_video else {}),
        )
    )
    keep_files(connection, take_id, past.files)
    if past.files and past.findings is not None:
        keep_findings(connection, take_id, past.findings)
    if past.files:
        restore_reviews(connection, row, take_id, past.reviews, at=at)
    reserved, cost = _amounts(past)
    count_past(connection, row, take_id=take_id, at=past.sent_at, reserved=reserved, cost=cost or 0)
    forget_earlier(connection, row, digest=row.digest, nth=past.nth)
    return True


_BY_KEY = select(takes.c.id, takes.c.refused_at)


def _write_take(
    connection: Connection, row: CampaignRow, past: PastTake, refused: int | None, *, at: float
) -> int:
    """Insert the take, or write it over the one with its key that the service `refused` here."""
    reserved, cost = _amounts(past)
    there = at if past.files else None
    values: dict[str, Any] = {
        "nth": past.nth, "key": past.key, "digest": row.digest, "body": past.body,
        "quoted": to_micro(past.quoted), "reserved": reserved, "charged": cost,
        "video_id": past.video_id, "intended_at": past.sent_at, "accepted_at": past.sent_at,
        "refused_at": None, "ready_at": there, "delivered_at": there, "found_at": at,
        "deleted_at": past.deleted_at, "deleted_by": past.deleted_by,
    }  # fmt: skip
    if refused is not None:
        connection.execute(update(takes).where(takes.c.id == refused).values(**values))
        return refused
    last = select(func.max(takes.c.number)).where(takes.c.row_id == row.id)
    number = max(past.number, (connection.scalar(last) or 0) + 1)
    whose = {"row_id": row.id, "campaign_id": row.campaign_id, "number": number}
    made = connection.execute(insert(takes).values(**whose, **values))
    return int(made.inserted_primary_key[0])  # type: ignore[index]


def _amounts(past: PastTake) -> tuple[int, int | None]:
    """Return what a take has set aside and what it cost (None: not known yet), in millionths."""
    price = to_micro(past.quoted) or 0
    if past.charged is not None:
        return 0, to_micro(past.charged)
    return (0, price) if past.files else (price, None)
