"""Rows whose videos another ledger has delivered, and the service has no more.

A ledger that was restored from a backup made while they rendered would look for them in vain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Connection

from callsheet.tasks.campaign.manifest import (
    Line,
    Manifest,
    files_of_line,
    findings_of_line,
    reviews_of_line,
)
from callsheet.tasks.engine.context import Context
from callsheet.tasks.ledger.campaigns import Campaign
from callsheet.tasks.ledger.deletions import mark_deleted
from callsheet.tasks.ledger.deliveries import Delivered, deliver
from callsheet.tasks.ledger.figures import pages_of
from callsheet.tasks.ledger.moves import move
from callsheet.tasks.ledger.reviews import restore_reviews
from callsheet.tasks.ledger.takes import accept, settle
from callsheet.tasks.ledger.values import CampaignRow, State, Take, rows_of
from callsheet.tasks.values.amounts import parse_credits

#: Where a row is whose video this ledger has not delivered.
_OPEN: tuple[State, ...] = ("submitting", "rendering", "ready", "stalled", "held")


async def deliver_late(at: Context, campaign: Campaign, found: Manifest) -> int:
    """Deliver rows from files that a manifest tells of and that are in the store intact.

    Only of videos that were deleted at the service: all others are fetched there, at no cost.
    Returns how many rows that were.
    """
    done = 0
    for page in pages_of(line for line in found.lines() if line["deleted_at"] is not None):
        lines = {line["row"]: line for line in page}
        for row in await at.ledger.read(rows_of, campaign_id=campaign.id, named=list(lines)):
            line, take = lines[row.row], row.take
            if take is None or row.state not in _OPEN or not _made(take, line):
                continue
            if take.delivered_at is not None or not take.stands:
                continue
            if (take.number, take.digest, take.nth) != (line["take"], line["digest"], line["nth"]):
                continue
            if files := await files_of_line(at, row, line, take.number):
                done += await at.ledger.write(
                    _deliver, row=row, line=line, files=files, at=at.clock()
                )
    return done


def _made(take: Take, line: Line) -> bool:
    """Whether a take made the video of a line: by its id, or by its key before that is known."""
    by_key = take.video_id is None and take.keyed
    known, told = (take.key, line["key"]) if by_key else (take.video_id, line["video_id"])
    return line["video_id"] is not None and known == told


def _deliver(
    connection: Connection,
    row: CampaignRow,
    line: Line,
    files: Sequence[Delivered],
    at: float,
) -> bool:
    """Take a row to its delivery; what its video cost is what was reserved, or what is told."""
    take = row.take
    assert take is not None
    words = f"take {take.number} was delivered before: the store's manifest has its files"
    if row.state == "submitting":
        if not accept(connection, row, take, video_id=str(line["video_id"]), at=at):
            return False
        row = replace(row, state="rendering")
    if row.state in ("stalled", "held") and take.ready_at is None:
        if not move(connection, row, "rendering", at=at, words=words, take=take):
            return False
        row = replace(row, state="rendering")
    if row.state == "rendering":
        # With several takes the manifest tells what they cost together.
        charged = parse_credits(line["charged"]) if take.number == 1 else None
        if not settle(connection, row, take, new="ready", charged=charged, at=at):
            return False
        row = replace(row, state="ready")
    findings = findings_of_line(line)
    if not deliver(connection, row, take, files=files, at=at, findings=findings):
        return False
    restore_reviews(connection, row, take.id, reviews_of_line(line, at), at=at)
    mark_deleted(connection, take, at=float(line["deleted_at"] or at), by=line["deleted_by"])
    return True
