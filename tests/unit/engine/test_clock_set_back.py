"""A clock that was set back makes no create look young: the service's own tells its age."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from callsheet.tasks.engine.policy.decision import Accepted, NothingFound
from callsheet.tasks.engine.submit import submit
from callsheet.tasks.service import Created, Video
from tests.campaigns import NOW, Stage, brief
from tests.unit.engine.play import context

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


@pytest.mark.safeguard(
    "tasks/engine/submit.py",
    "is_young(row.take, await at.service_time(), Rules.of(at.settings))",
    "is_young(row.take, at.clock(), Rules.of(at.settings))",
)
@pytest.mark.parametrize(
    ("ahead", "observed", "creates"), [(HOUR, Accepted, 1), (25 * HOUR, NothingFound, 0)]
)
async def test_what_the_service_may_have_forgotten_is_looked_for(ledger, ahead, observed, creates):
    stage = await Stage.set(ledger, brief())
    await stage.open(await stage.approve(), at=NOW - HOUR)
    service = Service(ahead)
    at = context(service, ledger, clock=lambda: NOW)

    submitted = await submit(await stage.row(), at)

    assert submitted is not None
    assert isinstance(submitted[1], observed)
    assert service.creates == creates
