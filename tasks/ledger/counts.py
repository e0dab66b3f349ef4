"""How many rows of a campaign there are of a kind, for whoever chooses among them. Reads only."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from callsheet.tasks.ledger.filters import RowFilter, verdicts, video, with_video
from callsheet.tasks.ledger.schema import rows
from callsheet.tasks.ledger.shown import count_shown
from callsheet.tasks.ledger.states import STATES, State


@dataclass(frozen=True, kw_only=True, slots=True)
class Counts:
    """Rows of a campaign in all, by state and by tag; its videos by verdict, and how many of them
    something was found wrong with. Only what there is any of is listed but for `reviews`."""

    total: int
    states: Mapping[State, int]
    tags: Mapping[str, int]
    videos: int
    reviews: Mapping[str, int]
    flagged: int


def counts_of(connection: Connection, campaign_id: int) -> Counts:
    """Return the counts of all rows of a campaign."""
    mine = rows.c.campaign_id == campaign_id
    counted = select(rows.c.state, func.count()).where(mine).group_by(rows.c.state)
    by_state: dict[State, int] = dict(connection.execute(counted).tuples().all())
    said = _reviews(connection, campaign_id)
    videos = sum(said.values())
    return Counts(
        total=sum(by_state.values()),
        states={state: by_state[state] for state in STATES if state in by_state},
        tags=tags_of(connection, campaign_id),
        videos=videos,
        reviews={verdict: said.get(verdict, 0) for verdict in ("keep", "reject", "none")},
        flagged=count_shown(connection, campaign_id, RowFilter(flagged=True)),
    )


def _reviews(connection: Connection, campaign_id: int) -> dict[str, int]:
    """Return how many rows have a video with each verdict, and `none` with none."""
    said = func.coalesce(verdicts.c.verdict, "none")
    query = with_video(select(said, func.count()).select_from(rows))
    query = query.where(rows.c.campaign_id == campaign_id, video.c.id.is_not(None))
    return dict(connection.execute(query.group_by(verdicts.c.verdict)).tuples().all())


def tags_of(connection: Connection, campaign_id: int) -> Mapping[str, int]:
    """Return how many rows of a campaign have each tag."""
    query = (
        select(rows.c.tags, func.count())
        .where(rows.c.campaign_id == campaign_id, rows.c.tags != "[]")
        .group_by(rows.c.tags)
    )
    found: Counter[str] = Counter()
    for several, number in connection.execute(query):
        found.update(dict.fromkeys(set(json.loads(several)), number))
    return dict(sorted(found.items()))
