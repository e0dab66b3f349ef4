"""Requests to cancel: what has not begun is cancelled here, what is under way is marked.

The ledger passes a request from the process that makes it to the process that has the row. A mark
belongs to one take: it never cancels another take of the row.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from sqlalchemy import Connection, Select, bindparam, func, select, update

from callsheet.tasks.ledger.campaigns import Campaign
from callsheet.tasks.ledger.moves import move, note, note_campaign
from callsheet.tasks.ledger.schema import CANCELLED, campaigns, rows, takes
from callsheet.tasks.ledger.values import NOT_BEGUN, UNDER_WAY, CampaignRow, rows_of
from callsheet.tasks.runtime.suggest import suggest
from callsheet.tasks.values.amounts import to_micro

_MARK = (
    update(takes)
    .where(takes.c.id == bindparam("the_take"), takes.c.cancel_requested_at.is_(None))
    .values(cancel_requested_at=bindparam("moment"))
)


@dataclass(frozen=True, slots=True)
class CancelRequests:
    """What a process that has rows must heed: takes to cancel by row, and rows that are."""

    takes: Mapping[int, int]
    cancelled: frozenset[int]


#: Changes with what there is to heed, and costs next to nothing to ask for.
CancelMark = tuple[int, ...]


def ask_to_cancel(
    connection: Connection,
    campaign: Campaign,
    *,
    only: Collection[str] | None,
    at: float,
    begun: bool = True,
) -> list[CampaignRow]:
    """Cancel rows that have not begun and mark the takes that are under way.

    `only` names the rows; None is the whole campaign, and whatever is about to be approved in it.
    Without `begun` what is under way is left to go on. Returns the rows as they were before.
    Asking twice changes nothing more.
    """
    if only is None:
        this = campaigns.c.id == campaign.id
        connection.execute(update(campaigns).where(this).values(cancel_requested_at=at))
        note_campaign(connection, campaign.id, "cancel", "the whole campaign", at=at)
    found = [row for row in rows_of(connection, campaign.id) if only is None or row.row in only]
    for row in found:
        waits = row.state in NOT_BEGUN or (row.state == "held" and not is_paid(row))
        if waits and _has_video(row):
            _put_back(connection, row, at)
        elif waits:
            retake = suggest("retake", row.campaign, row.row, "--run")
            reason = f"cancelled by a person before it began: `{retake}` has it made after all"
            move(connection, row, "cancelled", at=at, reason=reason)
        elif begun and row.state in ("submitting", "rendering", "stalled"):
            _mark(connection, row, at)
    return found


def is_paid(row: CampaignRow) -> bool:
    """Whether the row's present brief has a video that is made and paid for."""
    take = row.take
    if take is None or not take.stands or take.ready_at is None:
        return False
    return (take.digest, take.nth) == (row.digest, row.nth)


def cancel_requests(connection: Connection, campaign_id: int) -> CancelRequests:
    """Return what is to be heeded in a campaign now."""
    marked: Select[tuple[int, int]] = (
        select(rows.c.id, takes.c.id)
        .join(rows, (rows.c.id == takes.c.row_id) & (rows.c.take_id == takes.c.id))
        .where(
            takes.c.campaign_id == campaign_id,
            rows.c.state.in_(UNDER_WAY),
            CANCELLED,
        )
    )
    over = select(rows.c.id).where(rows.c.campaign_id == campaign_id, rows.c.state == "cancelled")
    return CancelRequests(
        dict(connection.execute(marked).tuples().all()),
        frozenset(connection.scalars(over)),
    )


def cancel_mark(connection: Connection, campaign_id: int) -> CancelMark:
    """Return how many takes are to be cancelled and rows are, and the sums of their numbers."""
    marked = select(func.count(), func.sum(takes.c.id)).where(
        takes.c.campaign_id == campaign_id, CANCELLED
    )
    over = select(func.count(), func.sum(rows.c.id)).where(
        rows.c.campaign_id == campaign_id, rows.c.state == "cancelled"
    )
    return tuple(int(n or 0) for query in (marked, over) for n in connection.execute(query).one())


def wake_stalled(connection: Connection, found: Collection[CampaignRow], *, at: float) -> int:
    """Put stalled rows whose take is marked back to `rendering`; return how many."""
    return sum(
        move(connection, row, "rendering", at=at, words="to be cancelled")
        for row in found
        if row.state == "stalled" and row.take and row.take.cancel_requested_at is not None
    )


def end_cancel(connection: Connection, campaign: Campaign) -> bool:
    """Let an approval end a request to cancel the campaign, if it is none newer than `campaign`.

    Returns False for a newer one: anyone who approves began before it and must not go on.
    """
    changed = connection.execute(
        update(campaigns)
        .where(
            campaigns.c.id == campaign.id,
            campaigns.c.cancel_requested_at.is_not_distinct_from(campaign.cancel_requested_at),
        )
        .values(cancel_requested_at=None)
    )
    return changed.rowcount == 1


def _has_video(row: CampaignRow) -> bool:
    """Whether what has not begun is another take of a video that is delivered."""
    take = row.take
    return take is not None and take.delivered_at is not None and take.digest == row.digest


def _put_back(connection: Connection, row: CampaignRow, at: float) -> None:
    """Take back that another take was wanted: the row is as delivered as it was before."""
    take = row.take
    assert take is not None
    if row.state != "planned":
        words = "the other take is not wanted any more"
        if not move(connection, row, "planned", at=at, words=words):
            return
        row = replace(row, state="planned")
    words = f"take {take.number} stands"
    if move(connection, row, "delivered", at=at, words=words, take=take):
        price = to_micro(take.quoted)
        connection.execute(
            update(rows).where(rows.c.id == row.id).values(nth=take.nth, quoted=price)
        )


def _mark(connection: Connection, row: CampaignRow, at: float) -> None:
    assert row.take is not None, "a row under way has a take"
    if connection.execute(_MARK, {"the_take": row.take.id, "moment": at}).rowcount:
        note(connection, row, "cancel", "asked for by a person", at=at, take=row.take)
