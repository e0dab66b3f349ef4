"""Owns the operations that make a finished video again in part, and show how far that is."""

from __future__ import annotations

import sqlite3
from functools import partial

from fastapi import APIRouter, Depends, Request, Response

from callsheet.deployments.sandbox import lifecycle, renders, video
from callsheet.deployments.sandbox.bodies import body_of
from callsheet.deployments.sandbox.container import Container
from callsheet.deployments.sandbox.envelope import Refusal, success
from callsheet.deployments.sandbox.records import (
    RenderList,
    RenderProgress,
    VideoCreated,
    VoiceProgress,
)
from callsheet.deployments.sandbox.renders import Render
from callsheet.deployments.sandbox.routes.operation import PAID, Handlers, SceneNumber, VideoId, add
from callsheet.deployments.sandbox.video_bodies import ChangeVoice, ExportAgain, RegenerateScene

SCENE = Depends(body_of(RegenerateScene, optional=True))
VOICE = Depends(body_of(ChangeVoice))
EXPORT = Depends(body_of(ExportAgain, optional=True))


def router(container: Container) -> APIRouter:
    """Make the routes."""
    routes = APIRouter(prefix="/api/v1/videos/{video_id}", tags=["Videos"])
    ops = RemakeRoutes(container)
    op = partial(add, routes, container)
    op("GET", "/renders", ops.renders, name="renders", scope="read", answer=RenderList,
       refusals=[404])  # fmt: skip
    op("POST", "/renders", ops.export, name="export", scope="write", status=202,
       answer=VideoCreated, refusals=[400, 404, 409, *PAID], body=ExportAgain,
       body_optional=True)  # fmt: skip
    op("GET", "/renders/progress", ops.progress, name="render_progress", scope="read",
       answer=RenderProgress, refusals=[404])  # fmt: skip
    op("POST", "/scenes/{n}/regenerate", ops.scene, name="scene", scope="write", status=202,
       answer=VideoCreated, refusals=[400, 404, 409, *PAID], body=RegenerateScene,
       body_optional=True)  # fmt: skip
    op("GET", "/voice", ops.voice_progress, name="voice_progress", scope="read",
       answer=VoiceProgress, refusals=[404])  # fmt: skip
    op("POST", "/voice", ops.voice, name="voice", scope="write", status=202, answer=VideoCreated,
       refusals=[400, 404, 409, *PAID], body=ChangeVoice)  # fmt: skip
    return routes


class RemakeRoutes(Handlers):
    """The operations themselves."""

    async def scene(
        self, video_id: VideoId, n: SceneNumber, request: Request, asked: RegenerateScene = SCENE
    ) -> Response:
        """Regenerate one scene, counted from 1; the others are untouched."""
        order = partial(lifecycle.one_scene, number=_number(n), asked=asked)
        return await self._begin(request, "scene", lifecycle.remake, video_id, order)

    async def voice(
        self, video_id: VideoId, request: Request, asked: ChangeVoice = VOICE
    ) -> Response:
        """Regenerate the voiceover with another voice."""
        order = partial(lifecycle.another_voice, asked=asked)
        return await self._begin(request, "voice", lifecycle.remake, video_id, order)

    async def export(
        self, video_id: VideoId, request: Request, asked: ExportAgain = EXPORT
    ) -> Response:
        """Export again, after edits of titles or caption settings."""
        order = partial(lifecycle.another_export, asked=asked)
        return await self._begin(request, "export", lifecycle.remake, video_id, order)

    async def renders(self, video_id: VideoId) -> Response:
        """List past exports, newest first."""
        now = self._now()
        found = await self._of_video(video_id)
        return success({"renders": [one.shown(now) for one in found]})

    async def progress(self, video_id: VideoId) -> Response:
        """Give the progress of the current export."""
        now = self._now()
        found = await self._of_video(video_id)
        if not found:
            return success({"status": "idle", "percent": 0, "render": None})
        latest = found[0]
        shown = {"status": latest.status, "percent": latest.percent(now)}
        return success({**shown, "render": latest.shown(now)})

    async def voice_progress(self, video_id: VideoId) -> Response:
        """Give the progress of the voice regeneration."""
        now = self._now()
        found = await self._run(video.get, video_id)
        changes = await self._of_video(video_id, kind="voice")
        if not changes:
            idle = {"status": "idle", "percent": 0, "voice_id": found.asked["voice_id"]}
            return success({**idle, "failure_reason": None})
        latest = changes[0].shown(now)
        shown = {name: latest[name] for name in ("status", "percent", "voice_id", "failure_reason")}
        if latest["status"] == video.CANCELLED:
            shown |= {"status": "failed", "failure_reason": "It was cancelled."}
        return success(shown)

    async def _of_video(self, video_id: str, *, kind: str | None = None) -> list[Render]:
        def find(db: sqlite3.Connection) -> list[Render]:
            video.get(db, video_id)
            return renders.of_video(db, video_id, kind=kind)

        return await self._run(find)


def _number(said: str) -> int:
    """Read the number of a scene; whatever is none names a scene that is not there."""
    if not (said.isascii() and said.isdigit() and len(said) <= 9):
        message = f"There is no scene {said[:20]}: scenes are counted from 1."
        raise Refusal(404, "not_found", message)
    return int(said)
