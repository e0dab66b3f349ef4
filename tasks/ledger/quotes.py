"""Quotes and approval: `planned -> quoted -> approved`, in bulk."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from sqlalchemy import Connection, bindparam, update

from tasks.credits import as_text, to_micro
from tasks.ledger.moves import move_row
from tasks.ledger.schema import rows
from tasks.ledger.values import CampaignRow

_QUOTE = (
    update(rows)
    .where(rows.c.id == bindparam("the_row"), rows.c.state == bindparam("old"))
    .values(quoted=bindparam("price"), quoted_at=bindparam("moment"))
)


@dataclass(frozen=True, slots=True)
class Quoted:
    """What the service says a row costs (None: not readable), or why it will not quote it."""

    row: CampaignRow
    amount: Decimal | None
    refusal: str | None = None


def record_quote(connection: Connection, quoted: Quoted, *, at: float) -> None:
    """Record a quote: the row becomes `quoted`, `rejected` (refused) or `held` (too dear)."""
    row = quoted.row
    price = None if quoted.amount is None else to_micro(quoted.amount)
    changed = connection.execute(
        _QUOTE, {"the_row": row.id, "old": row.state, "price": price, "moment": at}
    )
    if changed.rowcount != 1:
        return
    if quoted.refusal is not None:
        move_row(connection, row, "rejected", at=at, reason=quoted.refusal)
    elif _too_dear(quoted):
        reason = (
            f"the quote ({as_text(quoted.amount)} credits) is above the row's max_credits "
            f"({as_text(row.max_credits)}): raise it in the sheet, or ask for less"
        )
        move_row(connection, row, "held", at=at, reason=reason)
    elif row.state == "planned":
        words = f"{as_text(quoted.amount)} credits"
        move_row(connection, row, "quoted", at=at, words=words)


def _too_dear(quoted: Quoted) -> bool:
    limit = quoted.row.max_credits
    return limit is not None and (quoted.amount is None or quoted.amount > limit)


def approve(connection: Connection, found: Iterable[CampaignRow], *, by: str, at: float) -> int:
    """Approve quoted rows at their present quotes; return how many were approved."""
    approved = 0
    for row in found:
        approved += move_row(connection, row, "approved", at=at, words=by)
    return approved
