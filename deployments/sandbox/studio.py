"""Owns renders under way: as many film processes at once as there are processors, every film
finished when it is due and ready, and no film process left behind."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from deployments.sandbox import moves
from deployments.sandbox.database import Database
from deployments.sandbox.film.plan import FilmPlan
from deployments.sandbox.script import Scene
from deployments.sandbox.video import Video, generating


class RenderFailed(Exception):
    """The film could not be made."""


class Studio:
    """Makes films in the background."""

    def __init__(
        self, database: Database, films: Path, *, instant: bool, now: Callable[[], float]
    ) -> None:
        self._database = database
        self._films = films
        self._instant = instant
        self._now = now
        self._desks = asyncio.Semaphore(os.cpu_count() or 1)
        self._under_way: dict[str, asyncio.Task[None]] = {}
        self._samples: dict[str, asyncio.Task[None]] = {}

    async def reopen(self) -> None:
        """Begin again what was under way when the sandbox stopped."""
        for scrap in self._films.glob("*.part"):
            scrap.unlink(missing_ok=True)
        for video in await self._database.run(generating):
            self.begin(video)

    def begin(self, video: Video) -> None:
        """Start the render of a video that was just moved to generating."""
        task = asyncio.create_task(self._produce(video))
        self._under_way[video.id] = task
        task.add_done_callback(partial(self._forget, video.id))

    def stop(self, video_id: str) -> None:
        """Stop the render of a video, if one is under way."""
        task = self._under_way.get(video_id)
        if task is not None:
            task.cancel()

    def discard(self, video_id: str) -> None:
        """Stop the render of a video and remove every file made for it."""
        self.stop(video_id)
        for film in self._films.glob(f"{video_id}-*.mp4"):
            film.unlink(missing_ok=True)

    async def close(self) -> None:
        """Stop everything; what was under way begins again at the next start."""
        tasks = [*self._under_way.values(), *self._samples.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _forget(self, video_id: str, task: asyncio.Task[None]) -> None:
        if self._under_way.get(video_id) is task:
            del self._under_way[video_id]

    async def _produce(self, video: Video) -> None:
        assert video.plan is not None
        assert video.due_at is not None
        plan = FilmPlan.from_json(video.plan)
        try:
            if self._instant:
                file = await self._sample(plan.aspect_ratio)
            else:
                file = f"{video.id}-{video.render}.mp4"
                async with self._desks:
                    await self._render(plan, file)
            sha256 = await asyncio.to_thread(_sha256, self._films / file)
        except (RenderFailed, OSError) as error:
            reason = str(error)
            await self._database.run(
                lambda db: moves.fail(db, video, reason=reason, now=self._now())
            )
            return
        await asyncio.sleep(max(0.0, video.due_at - self._now()))
        await self._database.run(
            lambda db: moves.finish(db, video, file=file, sha256=sha256, now=self._now())
        )

    async def _sample(self, aspect_ratio: str) -> str:
        """Give the one film that stands in for all of this shape; make it the first time."""
        file = f"sample-{aspect_ratio.replace(':', 'x')}.mp4"
        if not (self._films / file).exists():
            if aspect_ratio not in self._samples:
                making = self._render(_sample_plan(aspect_ratio), file)
                self._samples[aspect_ratio] = asyncio.create_task(making)
            await asyncio.shield(self._samples[aspect_ratio])
        return file

    async def _render(self, plan: FilmPlan, file: str) -> None:
        part = self._films / f"{file}.part"
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "deployments.sandbox.film", str(part)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            # Ctrl+C is for the service alone: it stops its renders itself.
            start_new_session=True,
        )
        assert process.stdin is not None
        assert process.stderr is not None
        try:
            with contextlib.suppress(ConnectionError):
                process.stdin.write(plan.to_json().encode() + b"\n")
                await process.stdin.drain()
            complaint = await process.stderr.read()
            status = await process.wait()
            if status:
                last = complaint.decode(errors="replace").strip().splitlines()[-1:]
                raise RenderFailed(last[0] if last else f"The encoder ended with status {status}.")
            part.replace(self._films / file)
        finally:
            if process.returncode is None:
                _kill(process)
            await process.wait()
            part.unlink(missing_ok=True)


def _kill(process: asyncio.subprocess.Process) -> None:
    """End a film process and its encoder, which share a group of their own."""
    with contextlib.suppress(ProcessLookupError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def _sample_plan(aspect_ratio: str) -> FilmPlan:
    scene = Scene(number=1, narration="A film made at once.", visual="", start=0.0, end=1.0)
    return FilmPlan(
        id="vid_sample", seed=len(aspect_ratio), title="Sample", topic="", language="en",
        aspect_ratio=aspect_ratio, duration=1, scenes=[scene],
    )  # fmt: skip


def _sha256(path: Path) -> str:
    with path.open("rb") as film:
        return hashlib.file_digest(film, "sha256").hexdigest()
