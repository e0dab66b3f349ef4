"""How many videos people keep, and what a kept one costs, of each kind of video. Reads only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from sqlalchemy import Connection, case, func, select

from callsheet.tasks.credits import from_micro
from callsheet.tasks.ledger.deliveries import VIDEO_TAKE
from callsheet.tasks.ledger.figures import total
from callsheet.tasks.ledger.filters import asked
from callsheet.tasks.ledger.schema import reviews, rows, takes

By = Literal["tool", "language", "ratio"]
#: What videos are told apart by, and the member of a request that says it.
KINDS: Mapping[By, str] = {"tool": "tool", "language": "language", "ratio": "aspect_ratio"}


@dataclass(frozen=True, kw_only=True, slots=True)
class KeepRate:
    """Videos of one kind: how many rows have one, how many takes were kept and rejected, and what
    all takes have cost. `name` is empty where the rows do not say."""

    name: str
    videos: int
    kept: int
    rejected: int
    charged: Decimal

    @property
    def rate(self) -> float | None:
        """The part of what was decided on that is kept; None where nothing was."""
        decided = self.kept + self.rejected
        return self.kept / decided if decided else None

    @property
    def each(self) -> Decimal | None:
        """What a kept video has cost, with all that came to nothing; None where none is kept."""
        return (self.charged / self.kept).quantize(Decimal("0.01")) if self.kept else None


def keep_rates(connection: Connection, campaign_id: int, by: By | None = None) -> list[KeepRate]:
    """Return the videos of a campaign by kind, the most costly first; all in one without `by`."""
    paid = (
        select(takes.c.row_id, total(takes.c.charged).label("charged"))
        .where(takes.c.campaign_id == campaign_id)
        .group_by(takes.c.row_id)
        .subquery()
    )
    # Of every take: a video that was made once more after a rejection has cost its rate.
    said = (
        select(
            reviews.c.row_id,
            func.count(case((reviews.c.verdict == "keep", 1))).label("kept"),
            func.count(case((reviews.c.verdict == "reject", 1))).label("rejected"),
        )
        .where(reviews.c.campaign_id == campaign_id)
        .group_by(reviews.c.row_id)
        .subquery()
    )
    name = func.coalesce(asked(KINDS[by]), "") if by else func.coalesce(None, "")
    query = (
        select(
            name.label("name"),
            func.count(VIDEO_TAKE).label("videos"),
            func.coalesce(total(said.c.kept), 0).label("kept"),
            func.coalesce(total(said.c.rejected), 0).label("rejected"),
            func.coalesce(total(paid.c.charged), 0).label("charged"),
        )
        .select_from(rows)
        .outerjoin(said, said.c.row_id == rows.c.id)
        .outerjoin(paid, paid.c.row_id == rows.c.id)
        .where(rows.c.campaign_id == campaign_id)
        .group_by(name)
    )
    found = [
        KeepRate(
            name=line.name,
            videos=line.videos,
            kept=line.kept,
            rejected=line.rejected,
            charged=from_micro(line.charged),
        )
        for line in connection.execute(query)
    ]
    return sorted(found, key=lambda one: (-one.charged, one.name))
