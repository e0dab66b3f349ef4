"""A hint that is lost in the first wave costs seconds: the engine on a virtual clock."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import cast

from callsheet.tasks.engine.context import Context
from callsheet.tasks.engine.engine import Engine
from callsheet.tasks.engine.policy.decision import FilesStored, Memory, Observation
from callsheet.tasks.ledger.values import CampaignRow
from callsheet.tasks.runtime.errors import Conflict
from callsheet.tasks.service import SignedUrl, Video
from tests.campaigns import NOW, VIDEO, Stage, brief
from tests.model.virtual_time import VirtualTime, run_virtually
from tests.unit.engine.play import Play, Service

NAMES = "abcdefghij"


class Minute(Service):
    """Renders that take a minute."""

    def __init__(self) -> None:
        super().__init__()
        self.polled: Counter[str] = Counter()
        self.time = VirtualTime()

    async def get(self, video_id: str) -> Video:
        self.polled[video_id] += 1
        done = self.time.now >= NOW + 60
        status = "completed" if done else "generating"
        return Video(id=video_id, status=status, poll_after=None, charged=None)

    async def download(self, video_id: str) -> SignedUrl:
        if self.time.now < NOW + 60:
            raise Conflict("409", operation="download", status=409)
        return SignedUrl(url="https://video.example/a")


async def _store(row: CampaignRow, memory: Memory, at: str | None, to: Context) -> Observation:
    return FilesStored((VIDEO,))


async def _process(play: Play, service: Minute) -> list[CampaignRow]:
    stage = await Stage.set(play.ledger, *(brief(name, f"Tea {name}") for name in NAMES))
    rows = [await stage.rendering(name) for name in NAMES]
    async with Engine(stage.campaign, play.at, deliver=_store) as engine:
        engine.rely_on_hints(True)
        processing = asyncio.create_task(engine.process(rows))
        await asyncio.sleep(1)
        service.polled.clear()
        await asyncio.sleep(60)
        for name in NAMES[1:]:
            engine.notify([f"vid_{name}"])
            await asyncio.sleep(0.1)
        await processing
    return await stage.rows()


def test_a_hint_that_is_lost_in_the_first_wave_costs_seconds_and_the_others_nothing() -> None:
    service = Minute()
    play = Play(service)
    service.time = cast(VirtualTime, play.time)
    rows = run_virtually(_process(play, service), play.time)
    assert {row.state for row in rows} == {"delivered"}
    assert play.time.now - NOW < 75
    assert service.polled == Counter(f"vid_{name}" for name in NAMES)
