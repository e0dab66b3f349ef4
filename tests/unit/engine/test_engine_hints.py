"""What the engine does when it hears of webhooks: polls sooner, or knows that it need not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from callsheet.tasks.engine.engine import Engine
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.runtime.errors import Conflict
from callsheet.tasks.service import SignedUrl, Video
from tests.campaigns import NOW, Stage, brief
from tests.unit.engine.play import context


class Service:
    """Renders that are never finished; counts who was polled, and whose video was asked for."""

    def __init__(self) -> None:
        self.polled: list[str] = []
        self.asked: list[str] = []

    async def get(self, video_id: str) -> Video:
        self.polled.append(video_id)
        # Whoever has polled once is told to come back in four minutes.
        return Video(id=video_id, status="generating", poll_after=240.0, charged=None)

    async def download(self, video_id: str) -> SignedUrl:
        self.asked.append(video_id)
        raise Conflict("not ready", operation="download", status=409)


@asynccontextmanager
async def at_work(ledger: Ledger, service: Service) -> AsyncIterator[Engine]:
    """Carry two rows that are rendering, each polled once."""
    stage = await Stage.set(ledger, brief("a"), brief("b", "Milk"))
    rows = [await stage.rendering("a"), await stage.rendering("b")]
    at = context(service, ledger, clock=lambda: NOW + 1)
    async with Engine(stage.campaign, at) as engine:
        processing = asyncio.create_task(engine.process(rows))
        await until(lambda: sorted(service.polled) == ["vid_a", "vid_b"])
        # Until the last of them waits for its next poll.
        await asyncio.sleep(0.2)
        yield engine
        engine.stop("the test is over")
        await processing


async def until(true: Callable[[], bool]) -> None:
    """Wait until something is so."""
    for _ in range(1200):
        if true():
            return
        await asyncio.sleep(0.05)
    raise AssertionError


@pytest.fixture
def service() -> Service:
    return Service()


async def test_a_hint_has_its_video_polled_and_its_video_asked_for(
    ledger: Ledger, service: Service
) -> None:
    async with at_work(ledger, service) as engine:
        engine.notify({"vid_b", "vid_of_somebody_else"})
        await until(lambda: service.asked == ["vid_b"])
        # The hint was too early, as hints may be: its video alone is polled again soon.
        await until(lambda: service.asked == ["vid_b"] * 2)
    assert service.polled.count("vid_a") == 1
    assert set(service.polled) == {"vid_a", "vid_b"}


async def test_once_webhooks_are_well_every_render_is_polled_a_last_time(
    ledger: Ledger, service: Service
) -> None:
    async with at_work(ledger, service) as engine:
        engine.rely_on_hints(True)
        await until(lambda: len(service.polled) == 4)
        await asyncio.sleep(0.2)
        engine.rely_on_hints(True)
        await asyncio.sleep(0.5)
        assert len(service.polled) == 4
    assert service.asked == []


async def test_a_sweep_polls_everything_once(ledger: Ledger, service: Service) -> None:
    async with at_work(ledger, service) as engine:
        engine.sweep()
        await until(lambda: len(service.polled) == 4)
    assert sorted(service.polled) == ["vid_a"] * 2 + ["vid_b"] * 2


@pytest.mark.merge
async def test_when_webhooks_fail_polls_are_planned_as_without_them(
    ledger: Ledger, service: Service
) -> None:
    async with at_work(ledger, service) as engine:
        engine.rely_on_hints(True)
        await until(lambda: len(service.polled) == 4)
        await asyncio.sleep(0.2)
        engine.rely_on_hints(False)
        # Nothing is known of such renders: the next poll is some seconds away, not five minutes.
        await until(lambda: len(service.polled) == 6)
