"""Renders under way: started, processed, ended in one of four ways.

Each step is one transaction, guarded by the state and the render it starts from, and moves the
credits with it.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter

from callsheet.deployments.sandbox import accounting
from callsheet.deployments.sandbox.accounting import CallTerms
from callsheet.deployments.sandbox.database import Database, every, find, put
from callsheet.deployments.sandbox.envelope import Refusal
from callsheet.deployments.sandbox.faults.fault import Fault
from callsheet.deployments.sandbox.mp4.video_plan import Scene, VideoPlan
from callsheet.deployments.sandbox.rendered_files import (
    RenderFailed,
    copy_marked,
    damage,
    fingerprint,
    make_video,
)
from callsheet.deployments.sandbox.video import (
    CANCELLED,
    COMPLETED,
    DELETED,
    FAILED,
    GENERATING,
    RUNNING,
    Render,
    RenderFault,
    Video,
    VideoShown,
    render_of,
)
from callsheet.deployments.sandbox.webhooks.webhook import READY, emit


@dataclass(frozen=True, kw_only=True)
class RenderOrder:
    """A video that is wanted. `seconds` of it are made again, which says how long it takes."""

    kind: Literal["generate", "scene", "voice", "export"]
    plan: VideoPlan
    credits: int
    seconds: float
    scene: int | None = None


def refuse_if_generating(video: Video) -> None:
    """Refuse with 409 to start a second render."""
    if video.status == GENERATING:
        raise Refusal(409, "already_generating", "This video is already being generated.")


def start(db: sqlite3.Connection, video: Video, order: RenderOrder, call: CallTerms) -> Video:
    """Begin a render: reserve its credits and move the video to generating.

    Raises 402 without credits and 429 over the spend limit; nothing has happened then.
    """
    number, now = video.render + 1, call.now
    due_at = now + call.timing.render_seconds(video.id, order.seconds)
    render = Render(
        id=f"{video.id} {number}", video_id=video.id, number=number, kind=order.kind,
        status=RUNNING, operation=call.operation, key=call.key, credits=order.credits,
        plan=order.plan.but(render=number), voice_id=order.plan.voice,
        aspect_ratio=order.plan.aspect_ratio, scene=order.scene, started_at=now, due_at=due_at,
    )  # fmt: skip
    accounting.reserve(db, video, render, now=now)
    call.spend(order.credits)
    put(db, render)
    begun = video.changed(
        status=GENERATING, render=number, scenes=order.plan.scenes, due_at=due_at,
        credits_reserved=order.credits, started_at=now, finished_at=None, failure_reason=None,
        updated_at=now,
    )  # fmt: skip
    return put(db, begun)


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
        finished = finished.changed(voice_id=render.plan.voice)
    put(db, finished)
    shown = TypeAdapter(VideoShown).dump_python(finished.at(now), mode="json")
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
    move = accounting.charge if status == COMPLETED else accounting.release
    move(db, seen, render, now=now)
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
    struck = RenderFault(do=fault.do, message=fault.message)
    return put(db, render.changed(fault=struck, due_at=due_at))


# Owns renders under way: as many video processes at once as there are processors, every video
# finished when it is due and ready, and no video process left behind.


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
        for video in await self._database.run(every, Video, state=GENERATING):
            self._keep(video.id, self._produce(video, None))

    def begin(self, video: Video) -> None:
        """Start the render of a video that was just moved to generating."""
        self._keep(video.id, self._produce(video, self._strike(video.id)))

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
        do, due_at = render.fault.do if render.fault else None, render.due_at
        if do == "never":
            return
        try:
            if render.fault is not None and do == "fail":
                await self._until(due_at)
                raise RenderFailed(render.fault.message or "The video could not be made.")
            file = await self._make(render.plan, own=do == "corrupt")
            if do == "corrupt":
                await asyncio.to_thread(damage, self._videos / file)
            made = await asyncio.to_thread(fingerprint, self._videos / file)
        except (RenderFailed, OSError) as error:
            reason = str(error)
            await self._database.run(fail, video, reason=reason, now=self._now())
            return
        await self._until(due_at)
        size, now = made.bytes, self._now()
        told = await self._database.run(
            finish, video, file=file, sha256=made.sha256, size=size, now=now
        )
        if told:
            self._ready()

    async def _until(self, moment: float) -> None:
        await asyncio.sleep(max(0.0, moment - self._now()))

    async def _make(self, plan: VideoPlan, *, own: bool) -> str:
        """Make the file of a render; give its name.

        Instant videos are copies: first videos of all videos share one, unless `own` is asked for.
        """
        file = f"{plan.id}-{plan.render}.mp4"
        if not self._instant:
            async with self._desks:
                await make_video(plan, self._videos / file)
            return file
        sample = await self._sample(plan.aspect_ratio)
        if plan.render == 1 and plan.clip is None and not own:
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


def _sample_plan(aspect_ratio: str) -> VideoPlan:
    scene = Scene(number=1, narration="A video made at once.", visual="", start=0.0, end=1.0)
    return VideoPlan(
        id="vid_sample", seed=len(aspect_ratio), title="Sample", topic="", language="en",
        aspect_ratio=aspect_ratio, duration=1, scenes=[scene],
    )  # fmt: skip
