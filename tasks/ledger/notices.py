"""Notices to people as the ledger keeps them, and what it knows that they tell. No address in it.

A notice is written down before it is sent, one for each address. Anyone who is about to send it
takes it first, so that two processes never send the same one at once; a process that dies over it
leaves it to the next one after a while.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from decimal import Decimal

from sqlalchemy import Connection, func, or_, select, update

from callsheet.tasks.ledger.database import insert_unless_there
from callsheet.tasks.ledger.figures import total
from callsheet.tasks.ledger.records import Records
from callsheet.tasks.ledger.schema import rows, takes
from callsheet.tasks.ledger.schema_runs import nights, notices, plans
from callsheet.tasks.ledger.values import NOT_BEGUN
from callsheet.tasks.values.amounts import from_micro

#: For so long, in seconds, a notice belongs to the process that took it.
TAKEN = 600.0
#: Nights that are looked back on at most.
NIGHTS = 60


@dataclass(frozen=True, kw_only=True)
class Notice:
    """A notice; `letter` is what is to be sent, None once it was or was given up."""

    key: str
    inbox: str
    kind: str
    address: str
    subject: str
    about: str
    letter: str | None
    made_at: float
    sent_at: float | None = None
    tries: int = 0
    error: str | None = None


def keep_notices(connection: Connection, several: Iterable[Notice]) -> None:
    """Write notices down, all or none; one whose key already exists stays as it is.

    Those of one digest go together: once one of them is there, the digest counts as told.
    """
    for notice in several:
        insert_unless_there(connection, notices, _NOTICES.line(notice))


def waiting_notices(connection: Connection, inbox: str, *, since: float) -> list[Notice]:
    """Return what was written down since a moment and is still to be sent, the first one first."""
    query = _NOTICES.query.where(
        notices.c.inbox == inbox,
        notices.c.made_at >= since,
        notices.c.sent_at.is_(None),
        notices.c.letter.is_not(None),
    )
    return _NOTICES.all(connection, query.order_by(notices.c.id))


def take_notice(connection: Connection, key: str, *, at: float) -> bool:
    """Take a notice to send it; False where it was sent, or another process is sending it."""
    taken = connection.execute(
        update(notices)
        .where(
            notices.c.key == key,
            notices.c.sent_at.is_(None),
            or_(
                notices.c.tried_at.is_(None),
                notices.c.tried_at <= at - TAKEN,
                # By a clock that was set back since.
                notices.c.tried_at > at + TAKEN,
                # The last try has ended.
                notices.c.error.is_not(None),
            ),
        )
        .values(tries=notices.c.tries + 1, tried_at=at, error=None)
    )
    return taken.rowcount == 1


def note_sent(connection: Connection, key: str, *, at: float) -> None:
    """Note that a notice was sent, and forget its letter."""
    connection.execute(
        update(notices).where(notices.c.key == key).values(sent_at=at, letter=None, error=None)
    )


def note_unsent(connection: Connection, key: str, *, because: str) -> None:
    """Note why a notice could not be sent; it is tried again later."""
    connection.execute(update(notices).where(notices.c.key == key).values(error=because))


def drop_old_letters(connection: Connection, *, before: float) -> None:
    """Give up what was made before a moment and could not be sent."""
    connection.execute(
        update(notices)
        .where(notices.c.made_at < before, notices.c.letter.is_not(None))
        .values(letter=None)
    )


def last_notice(connection: Connection, inbox: str, kind: str) -> Notice | None:
    """Return the newest notice of a kind, sent or not."""
    query = _NOTICES.query.where(notices.c.inbox == inbox, notices.c.kind == kind)
    return _NOTICES.first(connection, query.order_by(notices.c.id.desc()).limit(1))


_NOTICES = Records(Notice, notices)


def reports_of(connection: Connection, inbox: str, *, until: str | None = None) -> list[str]:
    """Return what came of the nights of an inbox that have ended, the last first; as text.

    `until` is the date of the last of them that is asked for.
    """
    query = select(nights.c.report).where(
        nights.c.inbox == inbox, nights.c.ended_at.is_not(None), nights.c.report.is_not(None)
    )
    if until is not None:
        query = query.where(nights.c.date <= until)
    found = connection.scalars(query.order_by(nights.c.date.desc()).limit(NIGHTS))
    return [report for report in found if report is not None]


def last_video_at(connection: Connection) -> float | None:
    """Return when a video was delivered last, of any campaign."""
    found: float | None = connection.scalar(select(func.max(takes.c.delivered_at)))
    return found


def still_to_pay(connection: Connection, campaign_id: int) -> Decimal:
    """Return what the rows of a campaign that wait to be made are quoted at."""
    waiting = rows.c.state.in_(sorted({*NOT_BEGUN, "held"}))
    query = select(func.coalesce(total(rows.c.quoted), 0)).where(
        rows.c.campaign_id == campaign_id, waiting
    )
    return from_micro(int(connection.scalar(query) or 0))


def numbers_of_rows(
    connection: Connection, campaign_id: int, names: Collection[str]
) -> dict[str, int]:
    """Return the numbers in the ledger of some rows of a campaign, by their ids."""
    query = select(rows.c.row, rows.c.id).where(
        rows.c.campaign_id == campaign_id, rows.c.row.in_(sorted(names))
    )
    return {found.row: found.id for found in connection.execute(query)}


def plans_expiring(
    connection: Connection, names: Collection[str], *, after: float, until: float
) -> list[tuple[str, str, float]]:
    """Return plans that wait for approval and lapse between two moments: campaign, id, when."""
    query = select(plans.c.campaign, plans.c.id, plans.c.expires_at).where(
        plans.c.campaign.in_(sorted(names)),
        plans.c.state == "ready",
        plans.c.expires_at > after,
        plans.c.expires_at <= until,
    )
    return [(one.campaign, one.id, one.expires_at) for one in connection.execute(query)]
