"""New takes of rows whose renders fail at the service, as far as a person approved them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from sqlalchemy import Connection, bindparam, exists, func, or_, select, update

from callsheet.tasks.ledger.decisions import next_attempt, renew
from callsheet.tasks.ledger.figures import pages_of
from callsheet.tasks.ledger.moves import move, remark
from callsheet.tasks.ledger.schema import campaigns, earlier_takes, rows, takes
from callsheet.tasks.ledger.values import UNDER_WAY, CampaignRow, rows_by_number
from callsheet.tasks.values.amounts import as_text, from_micro, in_credits, to_micro
from callsheet.tasks.values.briefs import Brief

# What all takes of a row have cost or set aside; whether someone cancels it, or another ledger may
# have paid for one; what its campaign may still spend, and what approved rows will need of that.
_WAITING = (
    select(func.coalesce(func.sum(rows.c.quoted), 0))
    .where(rows.c.campaign_id == campaigns.c.id, rows.c.state == "approved")
    .correlate(campaigns)
    .scalar_subquery()
)
_BEFORE_RETRY = (
    select(
        select(func.sum(func.coalesce(takes.c.charged, 0) + takes.c.reserved))
        .where(takes.c.row_id == rows.c.id)
        .correlate(rows)
        .scalar_subquery()
        .label("spent"),
        or_(
            campaigns.c.cancel_requested_at.is_not(None), takes.c.cancel_requested_at.is_not(None)
        ).label("cancelled"),
        exists()
        .where(earlier_takes.c.campaign_id == rows.c.campaign_id, earlier_takes.c.row == rows.c.row)
        .correlate(rows)
        .label("known_elsewhere"),
        rows.c.retries,
        campaigns.c.budget,
        (campaigns.c.budget - campaigns.c.reserved - campaigns.c.charged - _WAITING).label("left"),
    )
    .select_from(rows)
    .join(campaigns, campaigns.c.id == rows.c.campaign_id)
    .join(takes, takes.c.id == rows.c.take_id)
    .where(rows.c.id == bindparam("the_row"))
)


def end_retries(
    connection: Connection, campaign_id: int, briefs: Iterable[Brief], *, skipped: Collection[str]
) -> None:
    """Have no other take made by itself of rows under way that the sheet wants no more as they are.

    `briefs` are those of the sheet; rows that are `skipped` are in it, but not to be touched.
    """
    query = select(rows.c.id, rows.c.row, rows.c.digest).where(
        rows.c.campaign_id == campaign_id, rows.c.state.in_(UNDER_WAY), rows.c.retries > 0
    )
    found = connection.execute(query).all()
    wanted = {one.row: one.digest for one in briefs if one.enabled} if found else {}
    ended = [n for n, row, digest in found if row not in skipped and wanted.get(row) != digest]
    for page in pages_of(ended):
        connection.execute(update(rows).where(rows.c.id.in_(page)).values(retries=None))


def retake_failed(connection: Connection, row: CampaignRow, *, at: float) -> CampaignRow | None:
    """Approve another take of a row whose render has just failed, out of its `retries`.

    Returns the row as it then is, or None where it stays as it is: someone cancels it, the sheet
    wants it no more (`end_retries`), another ledger may have paid for it, or a limit has no room.
    Call it in the transaction that settles the failed take, with a row that has a price.
    """
    assert row.retries, "none is made that nobody has approved"
    now = connection.execute(_BEFORE_RETRY, {"the_row": row.id}).one()
    if now.cancelled or now.known_elsewhere or not now.retries:
        return None
    price = to_micro(row.quoted) or 0
    limit = to_micro(row.max_credits)
    refusal = None
    if limit is not None and now.spent + price > limit:
        refusal = f"its takes would cost {in_credits(from_micro(now.spent + price))} together, and "
        refusal += f"max_credits is {as_text(row.max_credits)}"
    elif now.left is not None and price > now.left:
        refusal = "the campaign's budget has no room for it beside the rows that are approved"
    if refusal is not None:
        remark(connection, row, f"{row.reason}; not made again by itself: {refusal}", at=at)
        return None
    attempt = next_attempt(connection, row)
    left = row.retries - 1
    move(connection, row, "planned", at=at, words="another take, since the render failed")
    by = f"approved beforehand with the plan (--retry-failed), {left} more after this one"
    renew(connection, replace(row, retries=left), attempt=attempt, by=by, at=at)
    return rows_by_number(connection, [row.id])[0]
