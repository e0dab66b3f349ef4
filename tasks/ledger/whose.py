"""Whose a video is that a hint names: its campaign and row, and whether anybody carries them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import Connection, select

from tasks.ledger.inbox import AT_ONCE
from tasks.ledger.schema import campaigns, rows, takes
from tasks.ledger.states import UNDER_WAY


@dataclass(frozen=True, kw_only=True)
class Whose:
    """A video of ours, and the lease on its campaign as the ledger has it (Unix seconds)."""

    video_id: str
    campaign: str
    row: str
    sheet: str | None
    owner: str | None
    owner_until: float | None
    #: Whether a run would carry the row on: this take of it was asked for, and is not delivered.
    under_way: bool


def whose_videos(connection: Connection, videos: Collection[str]) -> list[Whose]:
    """Return those of `videos` that this ledger knows, each once: of several takes the newest."""
    wanted = sorted(videos)
    found: dict[str, Whose] = {}
    for start in range(0, len(wanted), AT_ONCE):
        query = (
            select(
                takes.c.video_id,
                campaigns.c.name,
                campaigns.c.sheet,
                campaigns.c.owner,
                campaigns.c.owner_until,
                rows.c.row,
                rows.c.state,
                (rows.c.take_id == takes.c.id).label("present"),
            )
            .join(rows, rows.c.id == takes.c.row_id)
            .join(campaigns, campaigns.c.id == rows.c.campaign_id)
            .where(takes.c.video_id.in_(wanted[start : start + AT_ONCE]))
            .order_by(takes.c.id)
        )
        for one in connection.execute(query):
            found[one.video_id] = Whose(
                video_id=one.video_id,
                campaign=one.name,
                row=one.row,
                sheet=one.sheet,
                owner=one.owner,
                owner_until=one.owner_until,
                under_way=bool(one.present) and one.state in UNDER_WAY,
            )
    return list(found.values())
