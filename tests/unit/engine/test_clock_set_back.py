"""A clock that was set back makes no create look young: the service's own tells its age."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest
from sqlalchemy import Connection, update

from callsheet.tasks.engine.context import Context
from callsheet.tasks.engine.policy.decision import Accepted, NothingFound
from callsheet.tasks.engine.submit import submit
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.schema import rows, takes
from callsheet.tasks.ledger.values import rows_by_number
from callsheet.tasks.runtime.settings import load_settings
from callsheet.tasks.service import Created, Video
from tests.campaigns import NOW
from tests.unit.engine.carrying import add_rendering

HOUR = 3600.0


class Service:
    """Lists no video, takes every create, and its clock is ahead of ours."""

    def __init__(self, ahead: float) -> None:
        self.ahead = ahead
        self.creates = 0

    async def behind(self) -> float:
        return self.ahead

    async def list_videos(self) -> AsyncIterator[Video]:
        for none in ():
            yield none

    async def make(self, operation: str, body: bytes, *, key: str | None) -> Created:
        self.creates += 1
        return Created(video_id="vid_1", status="generating", poll_after=None)


def _lose_answer(connection: Connection) -> None:
    """Leave one create in the ledger whose answer never came."""
    add_rendering(connection, 1, at=NOW - HOUR)
    connection.execute(update(takes).values(accepted_at=None, video_id=None))
    connection.execute(update(rows).values(state="submitting"))


@pytest.mark.parametrize(
    ("ahead", "observed", "creates"), [(HOUR, Accepted, 1), (25 * HOUR, NothingFound, 0)]
)
async def test_what_the_service_may_have_forgotten_is_looked_for(
    ledger: Ledger, tmp_path: Path, ahead: float, observed: type, creates: int
) -> None:
    await ledger.write(_lose_answer)
    (row,) = await ledger.read(rows_by_number, numbers=[1])
    service, none = Service(ahead), cast(Any, None)
    at = Context(
        settings=load_settings(environ={}, folder=tmp_path),
        ledger=ledger,
        service=cast(Any, service),
        store=none,
        fetcher=none,
        baseline=none,
        clock=lambda: NOW,
    )

    submitted = await submit(row, at)

    assert submitted is not None
    assert isinstance(submitted[1], observed)
    assert service.creates == creates
