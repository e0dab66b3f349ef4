"""An engine at a service that is an object, without a store: on a virtual clock where wanted."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection
from typing import Any, cast

from callsheet.tasks.engine.context import Context
from callsheet.tasks.engine.engine import Engine
from callsheet.tasks.engine.evidence import Baseline
from callsheet.tasks.ledger.values import CampaignRow
from callsheet.tasks.runtime.errors import Conflict, ServerTrouble, ServiceError
from callsheet.tasks.runtime.settings import load_settings
from callsheet.tasks.service import Created, Gate, SignedUrl, Video
from tests.campaigns import NOW, Stage, brief
from tests.model.plain_ledger import PlainLedger
from tests.model.virtual_time import Fuse, VirtualTime

DEADLINE = 600.0
TROUBLE = ServerTrouble("500", operation="get", status=500)


def context(
    service: object = None, ledger: object = None, *, clock: Callable[[], float], **settings: str
) -> Context:
    """What a run opens, with nothing to store videos in."""
    none, there = cast(Any, None), cast(Any, service)
    return Context(
        settings=load_settings(environ=settings),
        ledger=cast(Any, ledger),
        service=there,
        store=none,
        fetcher=none,
        baseline=Baseline(cast(Any, ledger), there, "studio"),
        clock=clock,
    )


class Service:
    """Renders that never end; some cannot be asked for, and the list may be refused."""

    def __init__(self, *, sick: Collection[str] = (), listing: ServiceError | None = None) -> None:
        self._sick, self._listing = sick, listing
        self.gate = Gate()

    async def get(self, video_id: str) -> Video:
        if video_id in self._sick:
            raise TROUBLE
        return Video(id=video_id, status="generating", poll_after=None, charged=None)

    async def download(self, video_id: str) -> SignedUrl:
        raise Conflict("409", operation="download", status=409)

    async def list_videos(self) -> AsyncIterator[Video]:
        if self._listing is not None:
            raise self._listing
        yield Video(id="vid_of_somebody", status="completed", poll_after=None, charged=None)

    async def templates(self) -> list[object]:
        if self._listing is not None:
            raise self._listing
        return []

    async def make(self, operation: str, body: bytes, *, key: str | None) -> Created:
        return Created(video_id="vid_new", status="generating", poll_after=None)


class Play:
    """A campaign on a virtual clock: an engine, and what becomes of it."""

    def __init__(self, service: Service) -> None:
        self.time = VirtualTime(NOW)
        self.ledger = cast(Any, PlainLedger(Fuse()))
        self.at = context(
            service, self.ledger, clock=self.time.seconds, CALLSHEET_DEADLINE=f"{DEADLINE:.0f}s"
        )

    async def render(self, *names: str, hinted: bool) -> tuple[Engine, list[CampaignRow]]:
        """Carry rows that are rendering until they are settled or the run stops."""
        stage = await Stage.set(self.ledger, *(brief(name, f"Tea {name}") for name in names))
        rows = [await stage.rendering(name) for name in names]
        async with Engine(stage.campaign, self.at) as engine:
            engine.rely_on_hints(hinted)
            await engine.process(rows)
        return engine, await stage.rows()
