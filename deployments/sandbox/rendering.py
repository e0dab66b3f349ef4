"""Renders under way: processed, and ended in one of four ways.

Each step is one transaction, guarded by the state and the render it starts from, and moves the
credits with it.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from callsheet.deployments.sandbox import accounting
from callsheet.deployments.sandbox.database import Database, every, find, put
from callsheet.deployments.sandbox.faults.fault import Fault
from callsheet.deployments.sandbox.faults.planned import Faults
from callsheet.deployments.sandbox.files import (
    RenderFailed,
    add_manifest,
    copy_marked,
    damage,
    make_video,
    sha256_of,
)
from callsheet.deployments.sandbox.mp4.script import Scene
from callsheet.deployments.sandbox.options import Options
from callsheet.deployments.sandbox.video import (
    CANCELLED,
    COMPLETED,
    DELETED,
    FAILED,
    GENERATING,
    Render,
    Video,
    render_of,
)
from callsheet.deployments.sandbox.webhooks.dispatcher import Dispatcher
from callsheet.deployments.sandbox.webhooks.webhook import READY, emit


def finish(
    db: sqlite3.Connection, video: Video, *, file: str, sha256: str, size: int, now: float
) -> bool:
    """Take the video and the credits, and tell of it; False when it was stopped in the meantime."""
    left = leave(db, video, COMPLETED, now, file=file, sha256=sha256, bytes=size)
    if left is None:
        return False
    finished, render = left
    finished = finished.changed(finished_at=now)
    if render.kind == "voice":
        # From now on the video speaks with this voice, in the next generate too.
        finished = finished.changed(voice_id=render.voice_id)
    put(db, finished)
    shown = finished.at(now).model_dump(mode="json")
    emit(db, kind=READY, data={**shown, "render_kind": render.kind}, now=now)
    return True


def fail(db: sqlite3.Connection, video: Video, *, reason: str, now: float) -> None:
    """Give up a render and give its credits back, unless it was stopped in the meantime."""
    left = leave(db, video, FAILED, now, failure_reason=reason)
    if left is not None:
        put(db, left[0].changed(failure_reason=reason))


def leave(
    db: sqlite3.Connection, video: Video, status: str, now: float, **made: str | int
) -> tuple[Video, Render] | None:
    """Leave the state and the render that were seen, and settle what was reserved for it.

    Gives the video and the render that ended, with what was `made`; None when none was running, or
    when the video has moved on since it was seen.
    """
    seen = find(db, Video, video.id)
    if seen is None or (seen.status, seen.render) != (video.status, video.render):
        return None
    charged = seen.credits_charged + (seen.credits_reserved if status == COMPLETED else 0)
    left = seen.changed(status=status, credits_reserved=0, credits_charged=charged, updated_at=now)
    put(db, left)
    render = render_of(db, video.id, video.render)
    if seen.status != GENERATING or render is None:
        return None
    event = "charge" if status == COMPLETED else "release"
    accounting.move(db, event, seen, render, now=now)
    ended = CANCELLED if status == DELETED else status
    return left, put(db, render.changed(status=ended, finished_at=now, **made))


def strike_render(db: sqlite3.Connection, video: Video, fault: Fault) -> Render:
    """Write down what goes wrong with the running render of a video, and how late it will be."""
    late = fault.seconds if fault.do == "slow" else 0.0
    render, seen = render_of(db, video.id, video.render), find(db, Video, video.id)
    assert render is not None
    assert seen is not None
    due_at = render.due_at + late
    if (seen.status, seen.render) == (video.status, video.render):
        put(db, seen.changed(due_at=due_at))
    return put(db, render.changed(fault=fault.do, reason=fault.message, due_at=due_at))


#: What is done to the file of a render, by its fault.
_CHANGES: Mapping[str, Callable[[Path], None]] = {"corrupt": damage, "ai-mark": add_manifest}

# Owns renders under way: as many video processes at once as there are processors, every video
# finished when it is due and ready, and no video process left behind.


class RenderPool:
    """Makes the videos of a sandbox in the background."""

    def __init__(
        self, database: Database, options: Options, faults: Faults, webhooks: Dispatcher
    ) -> None:
        self._database = database
        self._videos = options.state / "videos"
        self._instant = options.render == "instant"
        self._faults = faults
        self._webhooks = webhooks
        self._desks = asyncio.Semaphore(os.cpu_count() or 1)
        self._under_way: dict[str, asyncio.Task[None]] = {}
        self._samples: dict[str, asyncio.Task[None]] = {}

    async def reopen(self) -> None:
        """Begin again what was under way when the sandbox stopped."""
        for scrap in self._videos.glob("*.part"):
            scrap.unlink(missing_ok=True)
        for video in await self._database.run(every, Video, state=GENERATING):
            self._keep(video.id, self._produce(video, None))

    def begin(self, video: Video) -> None:
        """Start the render of a video that was just moved to generating."""
        strikes = self._faults.strike("render", video=video.id)
        self._keep(video.id, self._produce(video, strikes))

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

    async def _produce(self, video: Video, strikes: Fault | None) -> None:
        """Have a render come to its end, as the fault that strikes it, now or before, wants."""
        if strikes is not None:
            render = await self._database.run(strike_render, video, strikes)
        else:
            found = await self._database.run(render_of, video.id, video.render)
            assert found is not None
            render = found
        do = render.fault
        if do == "never":
            return
        try:
            if do == "fail":
                await self._until(render.due_at)
                raise RenderFailed(render.reason or "The video could not be made.")
            change = _CHANGES.get(do or "")
            file = await self._make(render.plan, own=change is not None)
            if change is not None:
                await asyncio.to_thread(change, self._videos / file)
            sha256 = await asyncio.to_thread(sha256_of, self._videos / file)
        except (RenderFailed, OSError) as error:
            reason = str(error)
            await self._database.run(fail, video, reason=reason, now=time.time())
            return
        await self._until(render.due_at)
        size, now = (self._videos / file).stat().st_size, time.time()
        if await self._database.run(finish, video, file=file, sha256=sha256, size=size, now=now):
            self._webhooks.wake()

    async def _until(self, moment: float) -> None:
        await asyncio.sleep(max(0.0, moment - time.time()))

    async def _make(self, plan: Video, *, own: bool) -> str:
        """Make the file of a render; give its name.

        Instant videos are copies: first videos of all videos share one, unless `own` is asked for.
        """
        file = f"{plan.id}-{plan.render}.mp4"
        if not self._instant:
            async with self._desks:
                await make_video(plan, self._videos / file)
            return file
        sample = await self._sample(plan.aspect_ratio)
        if plan.render == 1 and plan.kind == "video" and not own:
            return sample
        mark = f"{plan.id} render {plan.render}"
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


def _sample_plan(aspect_ratio: str) -> Video:
    scene = Scene(number=1, narration="A video made at once.", start=0.0, end=1.0)
    return Video(
        id="vid_sample", number=len(aspect_ratio), status=GENERATING, title="Sample", render=1,
        aspect_ratio=aspect_ratio, duration_seconds=1, scenes=[scene], created_at=0, updated_at=0,
    )  # fmt: skip
