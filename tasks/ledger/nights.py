"""Nights: which was swept by whom, what its standing approval has approved, and pauses.

A night is one row for each inbox and date, whatever happens to the processes that sweep it:
whoever sweeps claims it first, and approves only as long as the night is theirs. Amounts in
credits, moments in Unix seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, Row, Update, case, func, or_, select, true, update

from tasks.credits import as_text, from_micro, in_credits, to_micro
from tasks.errors import SpendRefused
from tasks.ledger.database import insert_unless_there, wait_for_turn
from tasks.ledger.figures import total
from tasks.ledger.schema import campaigns, events, takes
from tasks.ledger.schema_board import acts
from tasks.ledger.schema_nights import inbox_campaigns, inbox_sheets, nights, pauses
from tasks.ledger.states import NOT_BEGUN

#: What is said of a night whose sweep ended without a word, once a later one begins.
LEFT = "its sweep ended without a word"
#: Under this name all inboxes are paused.
EVERY_INBOX = "*"


@dataclass(frozen=True, kw_only=True, slots=True)
class KeptNight:
    """A night of an inbox as the ledger has it; `place` is the process or flow run that sweeps.

    `approved` is what the standing approval has approved in it so far; `report` is what came of
    it so far, over all its sweeps (`tasks.nights.values.NightReport.as_text`).
    """

    id: int
    inbox: str
    date: str
    zone: str
    place: str | None
    begun_at: float
    renewed_at: float
    ended_at: float | None
    exit: int | None
    approved: Decimal
    skipped: str | None
    report: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Pause:
    """Nights of an inbox (`*`: of all) that are not wanted until a moment (None: nobody said)."""

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
    lapse: float,
    is_dead: Callable[[str | None], bool],
) -> KeptNight:
    """Make `place` the one that sweeps an inbox; return the night, or the one that is swept.

    Whoever is given a night with another place has none: an inbox is swept by one at a time,
    whatever the date. A sweep that was silent for `lapse` seconds, or whose process is known to
    be dead, is over.
    """
    # A night of another date that is claimed in the same moment is not there yet to be locked.
    wait_for_turn(connection, f"night of {inbox}")
    query = select(nights).where(nights.c.inbox == inbox, nights.c.ended_at.is_(None))
    others = [_night(found) for found in connection.execute(query.with_for_update())]
    gone = [other for other in others if other.renewed_at <= at - lapse or is_dead(other.place)]
    alive = [other for other in others if other not in gone and other.place != place]
    if alive:
        return alive[0]
    for left in gone:
        if left.date != date:
            this = update(nights).where(nights.c.id == left.id)
            connection.execute(this.values(ended_at=at, skipped=LEFT))
    fresh = {"inbox": inbox, "date": date, "zone": zone, "place": place}
    if not insert_unless_there(connection, nights, {**fresh, "begun_at": at, "renewed_at": at}):
        taken = {"place": place, "zone": zone, "renewed_at": at, "ended_at": None, "skipped": None}
        this = update(nights).where(nights.c.inbox == inbox, nights.c.date == date)
        connection.execute(this.values(**taken))
    night = find_night(connection, inbox, date)
    assert night is not None, "it was inserted unless it was there"
    return night


def renew_night(connection: Connection, night_id: int, *, place: str, at: float) -> bool:
    """Say that the night is still being swept; False where that is somebody else's by now."""
    return connection.execute(_held(night_id, place).values(renewed_at=at)).rowcount == 1


def keep_report(connection: Connection, night_id: int, *, place: str, report: str) -> bool:
    """Keep what came of the night so far; False where it is somebody else's by now."""
    return connection.execute(_held(night_id, place).values(report=report)).rowcount == 1


def end_night(
    connection: Connection, night_id: int, *, place: str, exit_status: int, at: float
) -> bool:
    """Note that the sweep of a night is over, and its exit status."""
    this = _held(night_id, place)
    return connection.execute(this.values(ended_at=at, exit=exit_status)).rowcount == 1


def skip_night(
    connection: Connection, *, inbox: str, date: str, zone: str, why: str, at: float
) -> bool:
    """Record a night in which nothing is swept, and why; False where it was swept, or is."""
    values = {"inbox": inbox, "date": date, "zone": zone, "skipped": why}
    moments = {"begun_at": at, "renewed_at": at, "ended_at": at}
    return insert_unless_there(connection, nights, {**values, **moments})


def find_night(connection: Connection, inbox: str, date: str) -> KeptNight | None:
    """Return the night of a date."""
    query = select(nights).where(nights.c.inbox == inbox, nights.c.date == date)
    found = connection.execute(query).first()
    return None if found is None else _night(found)


def nights_of(connection: Connection, inbox: str | None, *, limit: int) -> list[KeptNight]:
    """Return the latest nights, of an inbox or of all, the latest first."""
    query = select(nights) if inbox is None else select(nights).where(nights.c.inbox == inbox)
    query = query.order_by(nights.c.date.desc(), nights.c.id.desc()).limit(limit)
    return [_night(found) for found in connection.execute(query)]


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
) -> None:
    """Count what is approved in a night, and of a sheet in it; raise SpendRefused beyond a limit.

    In the transaction of the approval itself: both stand, or neither. Whoever has lost the night
    approves nothing. What was paid for in the night (from `since` on) and is known from elsewhere
    than this ledger counts as well; a ledger that was restored in the night does not know what else
    was approved, so nothing is.
    """
    amount = to_micro(credits)
    night = connection.execute(select(nights).where(nights.c.id == night_id)).one()
    _check_whole(connection, night.date, since)
    elsewhere = _paid_elsewhere(connection, night.inbox, since)
    within = nights.c.approved + amount + sum(elsewhere.values()) <= to_micro(per_night)
    spent = _held(night_id, place).where(within).values(approved=nights.c.approved + amount)
    if connection.execute(spent).rowcount != 1:
        found = from_micro(sum(elsewhere.values()))
        raise _refusal(connection, night_id, place, credits, per_night, found)
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
            f"{in_credits(credits)} more are beyond the {in_credits(per_sheet)} that may be spent "
            "on one sheet in a night without asking; nothing was spent"
        )


def pause(connection: Connection, found: Pause) -> None:
    """Have an inbox sleep; one that sleeps already does so until the new moment."""
    values = {name: getattr(found, name) for name in Pause.__dataclass_fields__}
    if not insert_unless_there(connection, pauses, values):
        this = update(pauses).where(pauses.c.inbox == found.inbox)
        connection.execute(this.values(**values))


def resume(connection: Connection, inbox: str) -> bool:
    """Have an inbox swept again; False where it does not sleep."""
    return connection.execute(pauses.delete().where(pauses.c.inbox == inbox)).rowcount == 1


def pauses_at(connection: Connection, at: float) -> list[Pause]:
    """Return the pauses that are in force at a moment."""
    query = select(pauses).where(or_(pauses.c.until.is_(None), pauses.c.until > at))
    return [Pause(**found._asdict()) for found in connection.execute(query)]


def pause_of(connection: Connection, inbox: str, *, at: float) -> Pause | None:
    """Return why an inbox is not swept at a moment: its own pause, or that of all."""
    found = {one.inbox: one for one in pauses_at(connection, at)}
    return found.get(inbox) or found.get(EVERY_INBOX)


def _held(night_id: int, place: str) -> Update:
    mine = (nights.c.place == place, nights.c.ended_at.is_(None))
    return update(nights).where(nights.c.id == night_id, *mine)


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
    """Return what was paid for of each sheet since a moment that this ledger did not begin itself.

    Takes of a lost ledger that were put back: their rows were never `submitting` here.
    """
    found = (
        select(events.c.id)
        .where(events.c.row_id == takes.c.row_id, events.c.old.in_(sorted(NOT_BEGUN)))
        .where(events.c.new.in_(("rendering", "ready", "delivered")))
    )
    paid = func.coalesce(takes.c.charged, takes.c.reserved)
    query = (
        select(inbox_campaigns.c.sheet, total(paid))
        .join(campaigns, campaigns.c.name == inbox_campaigns.c.campaign)
        .join(takes, takes.c.campaign_id == campaigns.c.id)
        .where(inbox_campaigns.c.inbox == inbox, takes.c.intended_at >= since, found.exists())
    )
    several = connection.execute(query.group_by(inbox_campaigns.c.sheet))
    return {sheet: int(credits) for sheet, credits in several}


def _refusal(
    connection: Connection,
    night_id: int,
    place: str,
    credits: Decimal,
    per_night: Decimal,
    elsewhere: Decimal,
) -> SpendRefused:
    night = _night(connection.execute(select(nights).where(nights.c.id == night_id)).one())
    if night.place != place or night.ended_at is not None:
        return SpendRefused("another sweep has this night by now; nothing was spent")
    left = max(per_night - night.approved - elsewhere, Decimal(0))
    return SpendRefused(
        f"it costs {in_credits(credits)}, and {as_text(left)} of the {in_credits(per_night)} that "
        f"may be spent in the night of {night.date} without asking are left; nothing was spent"
    )


def _night(found: Row[Any]) -> KeptNight:
    values = found._asdict()
    return KeptNight(**{**values, "approved": from_micro(values["approved"])})
