"""The video of one take with its captions, its pictures, and what checks found wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlalchemy import Connection, select

from callsheet.tasks.ledger.deliveries import Delivered
from callsheet.tasks.ledger.schema import campaigns, deliveries, rows, takes
from callsheet.tasks.ledger.video_findings import VideoFindings, findings_in


@dataclass(frozen=True, kw_only=True, slots=True)
class TakeVideo:
    """The video of one take: its files by kind, and its findings."""

    campaign: str
    row: str
    take: int
    take_id: int
    files: Mapping[str, Delivered]
    findings: VideoFindings = field(default_factory=VideoFindings)


def find_take_video(
    connection: Connection, *, campaign: str, row: str, take: int
) -> TakeVideo | None:
    """Return what is in the store of a take, by its number in its row; None where nothing is."""
    query = (
        select(takes.c.checks, takes.c.pictures, deliveries)
        .join(rows, rows.c.id == takes.c.row_id)
        .join(campaigns, campaigns.c.id == rows.c.campaign_id)
        .join(deliveries, deliveries.c.take_id == takes.c.id)
        .where(campaigns.c.name == campaign, rows.c.row == row, takes.c.number == take)
    )
    found = connection.execute(query).all()
    if not found:
        return None
    names = ("kind", "uri", "sha256", "bytes", "seconds")
    files = {one.kind: Delivered(**{name: getattr(one, name) for name in names}) for one in found}
    findings = findings_in(found[0].checks, found[0].pictures)
    take_id = int(found[0].take_id)
    return TakeVideo(
        campaign=campaign, row=row, take=take, take_id=take_id, files=files, findings=findings
    )
