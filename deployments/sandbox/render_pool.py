"""Owns renders under way: as many video processes at once as there are processors, every video
finished when it is due and ready, and no video process left behind."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

from callsheet.deployments.sandbox import rendering
from callsheet.deployments.sandbox.database import Database
from callsheet.deployments.sandbox.faults.kinds import Fault
from callsheet.deployments.sandbox.mp4.video_plan import VideoPlan
from callsheet.deployments.sandbox.rendered_files import (
    RenderFailed,
    copy_marked,
    damage,
    fingerprint,
    make_video,
)
from callsheet.deployments.sandbox.rendering import RenderFault, kept_fault, strike_render
from callsheet.deployments.sandbox.script import Scene
from callsheet.deployments.sandbox.video import Video, generating


class RenderPool:
    """Makes videos in the background.

    `strike` says what is to go wrong with the render of a video, if anything; `ready` is called
    after a video was finished and that is on the disk.
    """

    def __init__(
        self,
        database: Database,
        videos: Path,
        *,
        instant: bool,
        now: Callable[[], float],
        strike: Callable[[str], Fault | None],
        ready: Callable[[], None],
    ) -> None:
        self._database = database
        self._videos = videos
        self._instant = instant
        self._now = now
        self._strike = strike
        self._ready = ready
        self._desks = asyncio.Semaphore(os.cpu_count() or 1)
        self._under_way: dict[str, asyncio.Task[None]] = {}
        self._samples: dict[str, asyncio.Task[None]] = {}

    async def reopen(self) -> None:
        """Begin again what was under way when the sandbox stopped."""
        for scrap in self._videos.glob("*.part"):
            scrap.unlink(missing_ok=True)
        for video in await self._database.run(generating):
            self._keep(video.id, self._begin_again(video))

    def begin(self, video: Video) -> None:
        """Start the render of a video that was just moved to generating."""
        fault = self._strike(video.id)
        work = self._produce(video, None) if fault is None else self._begin_struck(video, fault)
        self._keep(video.id, work)

    def stop(self, video_id: str) -> None:
        """Stop the render of a video, if one is under way."""
        task = self._under_way.get(video_id)
        if task is not None:
            task.cancel()

    def discard(self, video_id: str) -> None:
        """Stop the render of a video and remove every file made for it."""
        self.stop(video_id)
        for file in self._videos.glob(f"{video_id}-*"):
            file.unlink(missing_ok=True)

    async def close(self) -> None:
        """Stop everything; what was under way begins again at the next start."""
        tasks = [*self._under_way.values(), *self._samples.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _keep(self, video_id: str, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._under_way[video_id] = task
        task.add_done_callback(partial(self._forget, video_id))

    def _forget(self, video_id: str, task: asyncio.Task[None]) -> None:
        if self._under_way.get(video_id) is task:
            del self._under_way[video_id]

    async def _begin_struck(self, video: Video, fault: Fault) -> None:
        begun, spoilt = await self._database.run(strike_render, video, fault)
        await self._produce(begun, spoilt)

    async def _begin_again(self, video: Video) -> None:
        fault = await self._database.run(kept_fault, video)
        await self._produce(video, fault)

    async def _produce(self, video: Video, fault: RenderFault | None) -> None:
        assert video.due_at is not None
        do = fault.do if fault else None
        if do == "never":
            return
        try:
            if fault is not None and do == "fail":
                await self._until(video.due_at)
                raise RenderFailed(fault.message or "The video could not be made.")
            file = await self._make(video, own=do == "corrupt")
            if do == "corrupt":
                await asyncio.to_thread(damage, self._videos / file)
            rendered = await asyncio.to_thread(fingerprint, self._videos / file)
        except (RenderFailed, OSError) as error:
            reason = str(error)
            await self._database.run(rendering.fail, video, reason=reason, now=self._now())
            return
        await self._until(video.due_at)
        finished = await self._database.run(
            rendering.finish,
            video,
            file=file,
            sha256=rendered.sha256,
            size=rendered.bytes,
            now=self._now(),
        )
        if finished:
            self._ready()

    async def _until(self, moment: float) -> None:
        await asyncio.sleep(max(0.0, moment - self._now()))

    async def _make(self, video: Video, *, own: bool) -> str:
        """Make the file of a video's latest render; give the name of its file.

        Instant videos are copies: first videos of all videos share one, unless `own` is asked for.
        """
        assert video.plan is not None
        plan = VideoPlan.from_json(video.plan)
        file = f"{video.id}-{video.render}.mp4"
        if not self._instant:
            async with self._desks:
                await make_video(plan, self._videos / file)
            return file
        sample = await self._sample(plan.aspect_ratio)
        if plan.render == 1 and plan.clip is None and not own:
            return sample
        mark = f"{video.id} render {plan.render}"
        await asyncio.to_thread(copy_marked, self._videos / sample, self._videos / file, mark)
        return file

    async def _sample(self, aspect_ratio: str) -> str:
        """Give the one video that stands in for all of this shape; make it the first time."""
        file = f"sample-{aspect_ratio.replace(':', 'x')}.mp4"
        if not (self._videos / file).exists():
            if aspect_ratio not in self._samples:
                making = make_video(_sample_plan(aspect_ratio), self._videos / file)
                self._samples[aspect_ratio] = asyncio.create_task(making)
            await asyncio.shield(self._samples[aspect_ratio])
        return file


def _sample_plan(aspect_ratio: str) -> VideoPlan:
    scene = Scene(number=1, narration="A video made at once.", visual="", start=0.0, end=1.0)
    return VideoPlan(
        id="vid_sample", seed=len(aspect_ratio), title="Sample", topic="", language="en",
        aspect_ratio=aspect_ratio, duration=1, scenes=[scene],
    )  # fmt: skip
