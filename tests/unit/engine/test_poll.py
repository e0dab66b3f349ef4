"""Which requests one poll makes, in which order, what they tell, and when a price is too old."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from types import SimpleNamespace
from typing import Any, cast

import pytest

from callsheet.tasks.engine.context import Context
from callsheet.tasks.engine.evidence import Before, before
from callsheet.tasks.engine.free_calls import ask_price, before_spending, is_priced, poll
from callsheet.tasks.engine.policy import decision
from callsheet.tasks.runtime import errors
from callsheet.tasks.service import SignedUrl, Video
from tests.campaigns import T0, a_row, brief
from tests.unit.engine.play import context

VIDEO = "https://video.example/a?signature=s"


class Service:
    """Answers a status and a download as told, and keeps the list of requests."""

    def __init__(
        self,
        status: str | errors.ServiceError,
        video: errors.ServiceError | None = None,
        renders: int = 1,
    ) -> None:
        self._status, self._video, self._renders = status, video, renders
        self.requests: list[str] = []

    async def get(self, video_id: str) -> Video:
        self.requests.append("status")
        if isinstance(self._status, errors.ServiceError):
            raise self._status
        return Video(id=video_id, status=self._status, poll_after=None, charged=Decimal(7))

    async def download(self, video_id: str) -> SignedUrl:
        self.requests.append("video")
        if self._video is not None:
            raise self._video
        return SignedUrl(url=VIDEO)

    async def renders(self, video_id: str) -> list[int]:
        return [*range(self._renders)]

    async def estimate(self, request: object) -> None:
        raise errors.RateLimited("slow down", operation="estimate", status=429)


def told(kind: type[errors.ServiceError], status: int) -> errors.ServiceError:
    return kind(str(status), operation="get", status=status)


def at(service: Service, now: float = T0) -> Context:
    return context(service, clock=lambda: now)


NOT_READY = told(errors.Conflict, 409)
HINT, FIRST, FIFTH = decision.Memory(hint=1), decision.Memory(), decision.Memory(polls=4)
GONE, SICK = told(errors.NotFound, 404), told(errors.ServerTrouble, 500)


@pytest.mark.parametrize(("memory", "late", "service", "requests", "observation"), [
    (HINT, 0, Service("completed"), ["video", "status"], decision.VideoReady(VIDEO, Decimal(7))),
    (HINT, 0, Service("generating"), ["video", "status"], decision.VideoReady(VIDEO)),
    (HINT, 0, Service(SICK), ["video", "status"], decision.VideoReady(VIDEO)),
    (HINT, 0, Service("generating", NOT_READY), ["video", "status"],
     decision.Polled("generating", downloadable=False)),
    (HINT, 0, Service(SICK, NOT_READY), ["video", "status"], decision.Troubled("500")),
    (HINT, 0, Service("completed", GONE), ["video"], decision.Missing()),
    (HINT, 0, Service("completed", SICK), ["video"], decision.Troubled("500")),
    (FIRST, 0, Service("generating"), ["status"], decision.Polled("generating")),
    (FIRST, 0, Service(GONE), ["status"], decision.Missing()),
    (FIRST, 0, Service("wrapped-v2"), ["status", "video"], decision.VideoReady(VIDEO, Decimal(7))),
    (FIRST, 0, Service("failed", NOT_READY), ["status", "video"],
     decision.Polled("failed", charged=Decimal(7), downloadable=False)),
    (FIFTH, 0, Service("generating"), ["status", "video"], decision.VideoReady(VIDEO)),
    (FIRST, 99_999, Service("generating", NOT_READY), ["status", "video"],
     decision.Polled("generating", downloadable=False)),
])  # fmt: skip
async def test_what_a_poll_asks_and_in_which_order(memory, late, service, requests, observation):
    row = a_row("rendering", accepted=T0)
    assert row.take is not None
    row = replace(row, take=replace(row.take, video_id="vid_1"))
    assert await poll(row, memory, at(service, T0 + late)) == observation
    assert service.requests == requests


class Calls:
    """A ledger that has one call: the edit, with the video as it was before."""

    def __init__(self, earlier: Before) -> None:
        self._call = SimpleNamespace(before=earlier.as_text())

    async def read(self, query: object, **named: object) -> list[SimpleNamespace]:
        return [self._call]


RUNNING = decision.Memory(seen_running=True)


@pytest.mark.safeguard("tasks/engine/evidence.py", "max(charged - before, Decimal(0))", "charged")
@pytest.mark.safeguard(
    "tasks/engine/free_calls.py",
    "begun = memory.seen_running or earlier.changed_to(now)",
    "begun = True",
)
@pytest.mark.parametrize(("memory", "now", "observation"), [
    # The status, the exports or an earlier poll show that it was rendered again.
    (FIRST, Service("completed", renders=2), decision.VideoReady(VIDEO, Decimal(3))),
    (RUNNING, Service("completed"), decision.VideoReady(VIDEO, Decimal(3))),
    (FIRST, Service("edited"), decision.VideoReady(VIDEO, Decimal(3))),
    # Until then the video is the one from before the edit.
    (FIRST, Service("completed"), decision.Polled("completed", downloadable=False)),
    (HINT, Service("completed"), decision.Polled("completed", downloadable=False)),
    (replace(RUNNING, polls=4), Service("generating"),
     decision.Polled("generating", downloadable=False)),
    (FIRST, Service("generating", renders=2), decision.Polled("generating")),
])  # fmt: skip
async def test_an_edit_is_ready_once_its_video_was_rendered_again(memory, now, observation):
    row = replace(a_row("rendering", accepted=T0), operation="edit-voice")
    assert row.take is not None
    row = replace(row, take=replace(row.take, video_id="vid_1"))
    earlier = replace(await before(cast(Any, Service("completed")), "vid_1"), charged="4")
    here = replace(at(now), ledger=cast(Any, Calls(earlier)))
    assert await poll(row, memory, here) == observation


async def test_a_limit_that_names_no_moment_is_counted_from_the_clock_of_the_run() -> None:
    limit = told(errors.RateLimited, 429)
    row = a_row("rendering", accepted=T0)
    assert row.take is not None
    row = replace(row, take=replace(row.take, video_id="vid_1"))
    observation = await poll(row, decision.Memory(), at(Service(limit)))
    assert observation == decision.Closed(datetime.fromtimestamp(T0 + 60, UTC), "429")
    with pytest.raises(errors.RateLimited) as limited:
        await ask_price(cast(Any, Service("")), brief())
    parked = before_spending(limited.value, T0)
    assert isinstance(parked, errors.Parked)
    assert parked.until == datetime.fromtimestamp(T0 + 300, UTC)


NOW = 1_800_000_000.0


@pytest.mark.safeguard(
    "tasks/engine/free_calls.py", "0 <= age < at.settings.quote_age", "age < at.settings.quote_age"
)
@pytest.mark.parametrize(
    ("age", "young"),
    # The last: the clock was set back since, so its age is not known.
    [(0, True), (60, True), (10**6, False), (-60, False)],
)
def test_a_quote_ages(age: float, young: bool) -> None:
    at = context(clock=lambda: NOW)
    assert is_priced(replace(a_row("quoted"), quoted_at=NOW - age), at) is young
