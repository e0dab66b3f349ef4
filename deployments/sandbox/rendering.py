"""Renders under way: started, processed, ended in one of four ways.

Each step is one transaction, guarded by the state and the render it starts from, and moves the
credits with it.
"""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
from collections.abc import Callable, Coroutine
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from callsheet.deployments.sandbox import accounting
from callsheet.deployments.sandbox.accounting import CallTerms, Render, RenderOrder
from callsheet.deployments.sandbox.database import Database
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
    Video,
    generating,
    get,
)
from callsheet.deployments.sandbox.webhooks.webhook import READY, emit


def refuse_if_generating(video: Video) -> None:
    """Refuse with 409 to start a second render."""
    if video.status == GENERATING:
        raise Refusal(409, "already_generating", "This video is already being generated.")


def start(db: sqlite3.Connection, video: Video, order: RenderOrder, call: CallTerms) -> Video:
    """Begin a render: reserve its credits and move the video to generating.

    Raises 402 without credits and 429 over the spend limit; nothing has happened then.
    """
    number, now = video.render + 1, call.now
    render = Render(
        video_id=video.id, number=number, kind=order.kind, status=accounting.RUNNING,
        operation=call.operation, key=call.key, credits=order.credits,
        plan=replace(order.plan, render=number).to_json(), scene=order.scene, started_at=now,
        due_at=now + call.timing.render_seconds(video.id, order.seconds),
    )  # fmt: skip
    accounting.reserve(db, video, render, now=now)
    call.spend(order.credits)
    accounting.add(db, render)
    db.execute(
        "UPDATE videos SET status = ?, render = ?, plan = ?, reserved = ?, started_at = ?,"
        " due_at = ?, finished_at = NULL, failure = NULL, updated_at = ?"
        " WHERE id = ? AND status = ?",
        (
            *(GENERATING, number, render.plan, render.credits, now),
            *(render.due_at, now, video.id, video.status),
        ),
    )
    return get(db, video.id)


def finish(
    db: sqlite3.Connection, video: Video, *, file: str, sha256: str, size: int, now: float
) -> bool:
    """Take the video and the credits, and tell of it; False when it was stopped in the meantime."""
    ended = leave(db, video, COMPLETED, now, file=file, sha256=sha256, bytes=size)
    if ended is None:
        return False
    db.execute("UPDATE videos SET finished_at = ? WHERE id = ?", (now, video.id))
    if ended.kind == "voice":
        # From now on the video speaks with this voice, in the next generate too.
        voice = json.loads(ended.plan)["voice"]
        db.execute(
            "UPDATE videos SET asked = json_set(asked, '$.voice_id', ?) WHERE id = ?",
            (voice, video.id),
        )
    shown = get(db, video.id).shown(now)
    emit(db, kind=READY, data={**shown, "render_kind": ended.kind}, now=now)
    return True


def fail(db: sqlite3.Connection, video: Video, *, reason: str, now: float) -> None:
    """Give up a render and give its credits back, unless it was stopped in the meantime."""
    if leave(db, video, FAILED, now, failure=reason):
        db.execute("UPDATE videos SET failure = ? WHERE id = ?", (reason, video.id))


def leave(
    db: sqlite3.Connection, video: Video, status: str, now: float, **made: str | int
) -> Render | None:
    """Leave the state and the render that were seen, and settle what was reserved for it.

    Gives the render that ended, with what was `made`; None when none was running, or when the
    video has moved on since it was seen.
    """
    charged = video.reserved if status == COMPLETED else 0
    moved = db.execute(
        "UPDATE videos SET status = ?, reserved = 0, charged = charged + ?, updated_at = ?"
        " WHERE id = ? AND status = ? AND render = ?",
        (status, charged, now, video.id, video.status, video.render),
    )
    running = accounting.find(db, video.id, video.render)
    if not moved.rowcount or video.status != GENERATING or running is None:
        return None
    move = accounting.charge if status == COMPLETED else accounting.release
    move(db, video, running, now=now)
    ended = replace(running, **made)  # type: ignore[arg-type]
    return accounting.end(db, ended, CANCELLED if status == DELETED else status, now)


@dataclass(frozen=True, kw_only=True)
class RenderFault:
    """`do` is fail, never, slow or corrupt; `message` is the reason of a failure."""

    do: str
    message: str | None = None


def strike_render(db: sqlite3.Connection, video: Video, fault: Fault) -> tuple[Video, RenderFault]:
    """Write down what goes wrong with the running render of a video, and how late it will be."""
    struck = RenderFault(do=fault.do, message=fault.message)
    late = fault.seconds if fault.do == "slow" else 0.0
    db.execute(
        "UPDATE renders SET fault = ?, due_at = due_at + ? WHERE video_id = ? AND number = ?",
        (json.dumps(asdict(struck)), late, video.id, video.render),
    )
    db.execute(
        "UPDATE videos SET due_at = due_at + ? WHERE id = ? AND render = ?",
        (late, video.id, video.render),
    )
    assert video.due_at is not None
    return replace(video, due_at=video.due_at + late), struck


def kept_fault(db: sqlite3.Connection, video: Video) -> RenderFault | None:
    """Give what was to go wrong with the latest render of a video, if anything."""
    render = accounting.find(db, video.id, video.render)
    if render is None or render.fault is None:
        return None
    return RenderFault(**json.loads(render.fault))


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
            await self._database.run(fail, video, reason=reason, now=self._now())
            return
        await self._until(video.due_at)
        finished = await self._database.run(
            finish,
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
