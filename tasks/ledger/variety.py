"""What the rows of a campaign are told apart by: languages, ratios and tools. Reads only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from callsheet.tasks.ledger.filters import asked
from callsheet.tasks.ledger.schema import rows


@dataclass(frozen=True, kw_only=True, slots=True)
class Variety:
    """How many rows there are of each, the most common first; without what no row says."""

    languages: Mapping[str, int]
    ratios: Mapping[str, int]
    tools: Mapping[str, int]


def variety_of(connection: Connection, campaign_id: int) -> Variety:
    """Return what the rows of a campaign ask for; a look at every row."""
    columns = [asked(name) for name in ("language", "aspect_ratio", "tool")]
    mine = select(*columns, func.count()).where(rows.c.campaign_id == campaign_id)
    found: tuple[Counter[str], ...] = (Counter(), Counter(), Counter())
    for *values, number in connection.execute(mine.group_by(*columns)):
        for counter, value in zip(found, values, strict=True):
            if value:
                counter[value] += number
    languages, ratios, tools = (dict(counter.most_common()) for counter in found)
    return Variety(languages=languages, ratios=ratios, tools=tools)
