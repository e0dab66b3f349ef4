"""Puts a take back that an earlier, lost ledger knew: nothing of it is paid for again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from sqlalchemy import Connection, insert, update

from tasks.credits import to_micro
from tasks.ledger.accounts import count_past
from tasks.ledger.deliveries import Delivered, keep_files
from tasks.ledger.film_findings import FilmFindings, keep_findings
from tasks.ledger.moves import move
from tasks.ledger.reviews import Review, restore_review
from tasks.ledger.schema import rows, takes
from tasks.ledger.states import State
from tasks.ledger.values import CampaignRow


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
    files: Sequence[Delivered] = ()
    #: What somebody said of its film, and what was found when that was inspected.
    review: Review | None = None
    checks: Mapping[str, str] | None = None


def restore_count(connection: Connection, row: CampaignRow, *, nth: int) -> None:
    """Remember which attempt at its brief a row is at, so that its next key is the right one."""
    untouched = rows.c.take_id.is_(None) & rows.c.state.in_(["planned", "held"])
    connection.execute(update(rows).where(rows.c.id == row.id, untouched).values(nth=nth))


def restore_take(connection: Connection, row: CampaignRow, past: PastTake, *, at: float) -> bool:
    """Put a take back: a row without one becomes `delivered` with its files, else `rendering`.

    Returns False when the row had moved on, or has a take of its own.
    """
    new: State = "delivered" if past.files else "rendering"
    if row.take is not None:
        return False
    words = f"take {past.number} is known from the store's manifest: {past.video_id}"
    if not move(connection, row, new, at=at, words=words):
        return False
    price = to_micro(past.quoted)
    settled = past.charged is not None or bool(past.files)
    cost = to_micro(past.charged) if past.charged is not None else (price or 0)
    made = connection.execute(
        insert(takes).values(
            row_id=row.id,
            campaign_id=row.campaign_id,
            number=past.number,
            nth=past.nth,
            key=past.key,
            digest=row.digest,
            body=past.body,
            quoted=price,
            reserved=0 if settled else (price or 0),
            charged=cost if settled else None,
            video_id=past.video_id,
            intended_at=past.sent_at,
            accepted_at=past.sent_at,
            ready_at=at if past.files else None,
            delivered_at=at if past.files else None,
        )
    )
    take_id = int(made.inserted_primary_key[0])  # type: ignore[index]
    connection.execute(
        update(rows).where(rows.c.id == row.id).values(take_id=take_id, quoted=price, nth=past.nth)
    )
    keep_files(connection, take_id, past.files, at=at)
    if past.files and past.checks:
        keep_findings(connection, take_id, FilmFindings(checks=past.checks))
    if past.files and past.review is not None:
        restore_review(connection, row, take_id, past.review, at=at)
    held = 0 if settled else (price or 0)
    spent = cost if settled else 0
    count_past(connection, row, take_id=take_id, at=past.sent_at, reserved=held, cost=spent)
    return True
