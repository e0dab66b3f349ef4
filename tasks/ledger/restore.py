"""Restores a take that another ledger paid for: nothing of it is paid for again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, func, insert, select, update

from callsheet.tasks.credits import to_micro
from callsheet.tasks.ledger.accounts import count_past
from callsheet.tasks.ledger.deliveries import Delivered, keep_files
from callsheet.tasks.ledger.earlier import forget_earlier
from callsheet.tasks.ledger.moves import move
from callsheet.tasks.ledger.reviews import Review, restore_review
from callsheet.tasks.ledger.schema import rows, takes
from callsheet.tasks.ledger.states import State
from callsheet.tasks.ledger.values import CampaignRow
from callsheet.tasks.ledger.video_findings import VideoFindings, keep_findings


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
    #: Where it is known from, for people.
    source: str = "the store's manifest"
    files: Sequence[Delivered] = ()
    #: What a person said of its video, and what was found when that was inspected.
    review: Review | None = None
    checks: Mapping[str, str] | None = None


def restore_count(connection: Connection, row: CampaignRow, *, nth: int) -> None:
    """Remember which attempt at its brief a row is at, so that its next key is the right one."""
    untouched = rows.c.take_id.is_(None) & rows.c.state.in_(["planned", "held"])
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
    take_id = _write_take(connection, row, past, known.id if known else None, at=at)
    connection.execute(
        update(rows)
        .where(rows.c.id == row.id)
        .values(take_id=take_id, quoted=to_micro(past.quoted), nth=past.nth)
    )
    keep_files(connection, take_id, past.files, at=at)
    if past.files and past.checks:
        keep_findings(connection, take_id, VideoFindings(checks=past.checks))
    if past.files and past.review is not None:
        restore_review(connection, row, take_id, past.review, at=at)
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
