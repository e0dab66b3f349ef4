"""Nights: which was swept by whom, what its standing approval has approved, and pauses.

A night is one row for each inbox and date, whatever happens to the processes that sweep it: a sweep
acquires the inbox's lease first (`leases`, night:INBOX), and approves only as long as it has that.
Amounts in credits, moments in Unix seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from math import inf

from sqlalchemy import ColumnElement, Connection, Update, case, func, or_, select, true, update

from callsheet.tasks.ledger.audit_log import note_act
from callsheet.tasks.ledger.database import insert_unless_there
from callsheet.tasks.ledger.figures import total
from callsheet.tasks.ledger.leases import (
    NIGHT,
    Lease,
    acquire,
    holds,
    name_in_sql,
    night_lease,
    release,
    renew,
)
from callsheet.tasks.ledger.records import Records
from callsheet.tasks.ledger.schema import FOUND, campaigns, takes
from callsheet.tasks.ledger.schema_runs import acts, inbox_campaigns, inbox_sheets, nights, pauses
from callsheet.tasks.runtime.errors import SpendRefused
from callsheet.tasks.values.amounts import (
    CreditPrice,
    as_text,
    from_micro,
    in_credits,
    to_micro,
    with_money,
)

#: What is said of a night whose sweep ended without a word, once a later one begins.
LEFT = "it stopped without reporting a result"
#: Under this name all inboxes are paused.
EVERY_INBOX = "*"


@dataclass(frozen=True, kw_only=True, slots=True)
class KeptNight:
    """A night of an inbox as the ledger has it.

    `approved` is what the standing approval has approved in it so far; `report` is what came of
    it so far, over all its sweeps (`tasks.nights.reports.NightReport.as_text`).
    """

    id: int
    inbox: str
    date: str
    zone: str
    begun_at: float
    ended_at: float | None
    exit: int | None
    approved: Decimal
    skipped: str | None
    report: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Pause:
    """Nights of an inbox (`*`: of all) that are not wanted until a moment (None: no one said)."""

    inbox: str
    until: float | None
    by: str
    at: float


def claim_night(
    connection: Connection,
    *,
    inbox: str,
    date: str,
    zone: str,
    place: str,
    at: float,
    seconds: float,
    is_dead: Callable[[str], bool],
) -> KeptNight | Lease:
    """Make `place` the one that sweeps an inbox; return the night, or the lease of another sweep.

    An inbox is swept by one at a time, whatever the date. A sweep whose lease has lapsed, or whose
    process is known to be dead, is over.
    """
    name = night_lease(inbox)
    lease = acquire(connection, name, owner=place, seconds=seconds, is_dead=is_dead)
    if lease.owner != place:
        return lease
    left = (nights.c.inbox == inbox, nights.c.date != date, nights.c.ended_at.is_(None))
    connection.execute(update(nights).where(*left).values(ended_at=at, skipped=LEFT))
    fresh = {"inbox": inbox, "date": date, "zone": zone}
    if not insert_unless_there(connection, nights, {**fresh, "begun_at": at}):
        this = update(nights).where(nights.c.inbox == inbox, nights.c.date == date)
        connection.execute(this.values(zone=zone, ended_at=None, skipped=None))
    night = find_night(connection, inbox, date)
    assert night is not None, "it was inserted unless it was there"
    return night


def renew_night(connection: Connection, inbox: str, *, place: str, seconds: float) -> bool:
    """Say that an inbox is still being swept; False where another sweep has it by now."""
    return renew(connection, night_lease(inbox), owner=place, seconds=seconds)


def keep_report(connection: Connection, night_id: int, *, place: str, report: str) -> bool:
    """Keep what came of the night so far; False where another sweep has the inbox by now."""
    if not _has(connection, night_id, place):
        return False
    return connection.execute(_open(night_id).values(report=report)).rowcount == 1


def end_night(
    connection: Connection, night_id: int, *, place: str, exit_status: int, at: float
) -> bool:
    """Note that the sweep of a night is over, and its exit status; release the inbox's lease."""
    if not release(connection, _lease_of(night_id), owner=place):
        return False
    ended = _open(night_id).values(ended_at=at, exit=exit_status)
    return connection.execute(ended).rowcount == 1


def skip_night(
    connection: Connection, *, inbox: str, date: str, zone: str, why: str, at: float
) -> bool:
    """Record a night in which nothing is swept, and why; False where it was swept, or is."""
    values = {"inbox": inbox, "date": date, "zone": zone, "skipped": why}
    moments = {"begun_at": at, "ended_at": at}
    return insert_unless_there(connection, nights, {**values, **moments})


def find_night(connection: Connection, inbox: str, date: str) -> KeptNight | None:
    """Return the night of a date."""
    these = (nights.c.inbox == inbox, nights.c.date == date)
    return NIGHTS.first(connection, NIGHTS.query.where(*these))


def nights_of(connection: Connection, inbox: str | None, *, limit: int) -> list[KeptNight]:
    """Return the latest nights, of an inbox or of all, the latest first."""
    query = NIGHTS.query if inbox is None else NIGHTS.query.where(nights.c.inbox == inbox)
    query = query.order_by(nights.c.date.desc(), nights.c.id.desc()).limit(limit)
    return NIGHTS.all(connection, query)


def approve_in_night(
    connection: Connection,
    night_id: int,
    *,
    since: float,
    place: str,
    sheet: str,
    credits: Decimal,
    per_night: Decimal,
    per_sheet: Decimal | None,
    credit_price: CreditPrice | None = None,
) -> None:
    """Count what is approved in a night, and of a sheet in it; raise SpendRefused beyond a limit,
    in money too where the price of a credit is known.

    In the transaction of the approval itself: both stand, or neither. A run that has lost the
    inbox's lease approves nothing. What was paid for in the night (from `since` on) with another
    ledger, and was found, counts as well; a ledger that was restored in the night does not know
    what else was approved, so nothing is.
    """
    amount = to_micro(credits)
    night = connection.execute(select(nights).where(nights.c.id == night_id)).one()
    _check_whole(connection, night.date, since)
    if not _has(connection, night_id, place):
        raise SpendRefused("another nightly run has this night by now; nothing was spent")
    elsewhere = _paid_elsewhere(connection, night.inbox, since)
    within = nights.c.approved + amount + sum(elsewhere.values()) <= to_micro(per_night)
    spent = _open(night_id).where(within).values(approved=nights.c.approved + amount)
    if connection.execute(spent).rowcount != 1:
        found = from_micro(sum(elsewhere.values()))
        raise _refusal(connection, night_id, credits, per_night, found, credit_price)
    spent_on = elsewhere.get(sheet, 0)
    sofar = case((inbox_sheets.c.approved_on == night.date, inbox_sheets.c.approved), else_=0)
    this = update(inbox_sheets).where(
        inbox_sheets.c.inbox == night.inbox,
        inbox_sheets.c.name == sheet,
        true() if per_sheet is None else sofar + spent_on + amount <= to_micro(per_sheet),
    )
    counted = this.values(approved=sofar + amount, approved_on=night.date)
    if connection.execute(counted).rowcount != 1:
        assert per_sheet is not None, "a sheet is seen before anything of it is approved"
        raise SpendRefused(
            f"{in_credits(credits, credit_price)} more are beyond the "
            f"{in_credits(per_sheet, credit_price)} that may be spent on one sheet in a night "
            "without asking; nothing was spent"
        )


def pause(connection: Connection, found: Sequence[Pause]) -> None:
    """Pause inboxes, each until its moment, and note who did; an earlier pause of one ends."""
    for one in found:
        values = _PAUSES.line(one)
        if not insert_unless_there(connection, pauses, values):
            this = update(pauses).where(pauses.c.inbox == one.inbox)
            connection.execute(this.values(**values))
        note_act(connection, at=one.at, by=one.by, act="pause nights", words=whose(one.inbox))


def resume(
    connection: Connection, inboxes: Collection[str] | None, *, by: str, at: float
) -> tuple[list[str], list[str]]:
    """End the pauses of inboxes, or of all; return what was paused, and what still is."""
    held = [one.inbox for one in pauses_at(connection, at)]
    lifted = [name for name in held if inboxes is None or name in inboxes]
    connection.execute(pauses.delete().where(pauses.c.inbox.in_(lifted)))
    for name in lifted:
        note_act(connection, at=at, by=by, act="resume nights", words=whose(name))
    return lifted, [name for name in held if name not in lifted]


def whose(inbox: str) -> str:
    """Return the inbox of a pause in words."""
    return "all inboxes" if inbox == EVERY_INBOX else inbox


def pauses_at(connection: Connection, at: float) -> list[Pause]:
    """Return the pauses that are in force at a moment."""
    query = _PAUSES.query.where(or_(pauses.c.until.is_(None), pauses.c.until > at))
    return _PAUSES.all(connection, query)


def pause_of(connection: Connection, inbox: str, *, at: float) -> Pause | None:
    """Return why an inbox is not swept at a moment: the longer of its own pause and that of all."""
    found = [one for one in pauses_at(connection, at) if one.inbox in (inbox, EVERY_INBOX)]
    return max(found, key=lambda one: inf if one.until is None else one.until, default=None)


def _has(connection: Connection, night_id: int, place: str) -> bool:
    """Whether a sweep has the lease of the inbox of a night, until this transaction ends."""
    return holds(connection, _lease_of(night_id), owner=place)


def _lease_of(night_id: int) -> ColumnElement[str]:
    inbox = select(nights.c.inbox).where(nights.c.id == night_id).scalar_subquery()
    return name_in_sql(NIGHT, inbox)


def _open(night_id: int) -> Update:
    return update(nights).where(nights.c.id == night_id, nights.c.ended_at.is_(None))


def _check_whole(connection: Connection, date: str, since: float) -> None:
    """Raise SpendRefused where the ledger was restored from a backup since a moment."""
    restores = select(func.max(acts.c.at)).where(acts.c.act == "restore", acts.c.at >= since)
    at = connection.scalar(restores)
    if at is not None:
        raise SpendRefused(
            f"the ledger was restored from a backup at {datetime.fromtimestamp(at, UTC):%H:%M} "
            f"UTC, after the night of {date} began: what that night approved before is not known, "
            "so it approves nothing more by itself; nothing was spent"
        )


def _paid_elsewhere(connection: Connection, inbox: str, since: float) -> dict[str, int]:
    """Return what was paid for of each sheet since a moment with another ledger, and found."""
    paid = func.coalesce(takes.c.charged, takes.c.reserved)
    query = (
        select(inbox_campaigns.c.sheet, total(paid))
        .join(campaigns, campaigns.c.name == inbox_campaigns.c.campaign)
        .join(takes, takes.c.campaign_id == campaigns.c.id)
        .where(inbox_campaigns.c.inbox == inbox, takes.c.intended_at >= since, FOUND)
    )
    several = connection.execute(query.group_by(inbox_campaigns.c.sheet))
    return {sheet: int(credits) for sheet, credits in several}


def _refusal(
    connection: Connection,
    night_id: int,
    credits: Decimal,
    per_night: Decimal,
    elsewhere: Decimal,
    price: CreditPrice | None,
) -> SpendRefused:
    night = NIGHTS.first(connection, NIGHTS.query.where(nights.c.id == night_id))
    assert night is not None, "nothing removes a night"
    if night.ended_at is not None:
        return SpendRefused("this night has ended by now; nothing was spent")
    left = max(per_night - night.approved - elsewhere, Decimal(0))
    return SpendRefused(
        f"it costs {in_credits(credits, price)}, and {with_money(as_text(left), left, price)} of "
        f"the {in_credits(per_night, price)} that may be spent in the night of {night.date} "
        "without asking are left; nothing was spent"
    )


NIGHTS = Records(KeptNight, nights)
_PAUSES = Records(Pause, pauses)
