"""What the engine does when it hears of webhooks, or misses one: on a virtual clock."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable

import pytest

from callsheet.tasks.engine.context import Context
from callsheet.tasks.engine.engine import Engine
from callsheet.tasks.engine.policy.decision import FilesStored, Memory, Observation
from callsheet.tasks.ledger.values import CampaignRow
from callsheet.tasks.runtime.errors import Conflict
from callsheet.tasks.service import SignedUrl, Video
from tests.campaigns import NOW, VIDEO, Stage, brief
from tests.model.virtual_time import run_virtually
from tests.unit.engine.play import Play, Service

NAMES = "abcdefghij"
Story = Callable[[Engine], Awaitable[None]]


class Renders(Service):
    """Renders of so many seconds, or without end: who polls those is told to wait four minutes."""

    play: Play

    def __init__(self, seconds: float | None) -> None:
        super().__init__()
        self.seconds = seconds
        self.polled: Counter[str] = Counter()
        self.asked: Counter[str] = Counter()

    @property
    def is_done(self) -> bool:
        return self.seconds is not None and self.play.time.now >= NOW + self.seconds

    async def get(self, video_id: str) -> Video:
        self.polled[video_id] += 1
        status, after = (
            "completed" if self.is_done else "generating",
            None if self.seconds else 240.0,
        )
        return Video(id=video_id, status=status, poll_after=after, charged=None)

    async def download(self, video_id: str) -> SignedUrl:
        self.asked[video_id] += 1
        if not self.is_done:
            raise Conflict("not ready", operation="download", status=409)
        return SignedUrl(url="https://video.example/a")


async def _store(row: CampaignRow, memory: Memory, at: str | None, to: Context) -> Observation:
    return FilesStored((VIDEO,))


def carried(names: str, service: Renders, story: Story, *, hinted: bool) -> list[CampaignRow]:
    """Carry rows that are rendering, of which each was polled once; return what becomes of them."""
    play = service.play = Play(service)

    async def process() -> list[CampaignRow]:
        stage = await Stage.set(play.ledger, *(brief(name, f"Tea {name}") for name in names))
        rows = [await stage.rendering(name) for name in names]
        async with Engine(stage.campaign, play.at, deliver=_store) as engine:
            engine.rely_on_hints(hinted)
            processing = asyncio.create_task(engine.process(rows))
            await asyncio.sleep(1)
            service.polled.clear()
            await story(engine)
            if service.seconds is None:
                engine.stop("the test is over")
            await processing
        return await stage.rows()

    return run_virtually(process(), play.time)


def test_a_hint_has_its_video_polled_and_asked_for_and_no_other() -> None:
    service = Renders(None)

    async def story(engine: Engine) -> None:
        engine.notify({"vid_b", "vid_of_somebody_else"})
        await asyncio.sleep(0.5)
        assert service.asked == {"vid_b": 1}
        # The hint was too early, as hints may be: its video alone is polled again soon.
        await asyncio.sleep(5)
        assert service.asked["vid_b"] >= 2

    carried("ab", service, story, hinted=False)
    assert set(service.polled) == {"vid_b"}


@pytest.mark.parametrize("sweeps", [False, True])
def test_once_webhooks_are_well_every_render_is_polled_a_last_time_and_without_them_again(sweeps):
    service = Renders(None)

    async def story(engine: Engine) -> None:
        for _ in range(2):
            engine.sweep() if sweeps else engine.rely_on_hints(True)
            await asyncio.sleep(1)
        assert service.polled == ({"vid_a": 2, "vid_b": 2} if sweeps else {"vid_a": 1, "vid_b": 1})
        await asyncio.sleep(60)
        assert service.polled.total() == (4 if sweeps else 2)
        if not sweeps:
            # Nothing is known of such renders: the next poll is some seconds away.
            engine.rely_on_hints(False)
            await asyncio.sleep(60)
            assert service.polled.total() >= 4

    carried("ab", service, story, hinted=False)


def test_a_hint_that_is_lost_in_the_first_wave_costs_seconds_and_the_others_nothing() -> None:
    service = Renders(60)

    async def story(engine: Engine) -> None:
        await asyncio.sleep(60)
        for name in NAMES[1:]:
            engine.notify([f"vid_{name}"])
            await asyncio.sleep(0.1)

    rows = carried(NAMES, service, story, hinted=True)
    assert {row.state for row in rows} == {"delivered"}
    assert service.play.time.now - NOW < 75
    assert service.polled == Counter(f"vid_{name}" for name in NAMES)
