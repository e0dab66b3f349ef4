"""Files and captions of finished videos, links, reports, and partial remakes."""

from __future__ import annotations

import html
import sqlite3
from functools import partial

from fastapi import APIRouter, Depends, Request, Response
from starlette.responses import FileResponse, HTMLResponse

from callsheet.deployments.sandbox import accounting, lifecycle, video
from callsheet.deployments.sandbox.accounting import Render
from callsheet.deployments.sandbox.bodies import (
    ChangeVoice,
    ExportAgain,
    RegenerateScene,
    ReportVideo,
)
from callsheet.deployments.sandbox.container import (
    PAID,
    Container,
    Handlers,
    SceneNumber,
    VideoId,
    add,
)
from callsheet.deployments.sandbox.envelope import (
    Refusal,
    body_of,
    described_refusals,
    not_found,
    success,
)
from callsheet.deployments.sandbox.mp4.video_plan import CAPTION_TYPES, VideoPlan, caption_file
from callsheet.deployments.sandbox.rendered_files import SignedLink
from callsheet.deployments.sandbox.video import (
    Link,
    RenderList,
    RenderProgress,
    ReportKept,
    ShareLink,
    Video,
    VideoCreated,
    VoiceProgress,
    keep_report,
)

CAPTION_FILE = {
    "description": "The caption file, as text.",
    "content": {kind: {"schema": {"type": "string"}} for kind in CAPTION_TYPES.values()},
}
REPORT = Depends(body_of(ReportVideo))
PAGE = """<!doctype html>
<html lang="{language}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>{title}</title>
<style>
body {{ margin: 0; min-height: 100vh; display: grid; place-content: center; gap: 1rem;
  font: 1rem/1.4 system-ui, sans-serif; background: #14161c; color: #f2f2f5; text-align: center }}
video {{ max-width: 92vw; max-height: 74vh; border-radius: 12px }}
a {{ color: #9ec5ff }}
</style>
<h1>{title}</h1>
<video controls playsinline preload="metadata" src="{video}"></video>
<p><a href="{video}" download>Download the video (MP4)</a></p>
</html>
"""
GONE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>No video</title>
<p>{gone}</p>
</html>
"""
FORMAT = {"format": {"type": "string", "enum": list(CAPTION_TYPES), "default": "srt"}}


def router(container: Container) -> APIRouter:
    """Make the routes."""
    routes = APIRouter()
    ops = FileRoutes(container)
    op = partial(add, routes, container, "GET", scope="read")
    op("/api/v1/videos/{video_id}/download", ops.download, name="download", answer=Link,
       refusals=[404, 409])  # fmt: skip
    op("/api/v1/videos/{video_id}/captions", ops.captions, name="captions", query=FORMAT,
       responses={200: CAPTION_FILE, **described_refusals(400, 404)})  # fmt: skip
    op = partial(add, routes, container, "POST", scope="write")
    op("/api/v1/videos/{video_id}/share-link", ops.share, name="share", answer=ShareLink,
       refusals=[404, 409])  # fmt: skip
    op("/api/v1/videos/{video_id}/report", ops.report, name="report", answer=ReportKept,
       refusals=[400, 404], body=ReportVideo)  # fmt: skip
    public = partial(routes.add_api_route, methods=["GET", "HEAD"], include_in_schema=False)
    public("/files/{name}.mp4", ops.file, dependencies=[container.counted("file")])
    public("/share/{token}.mp4", ops.shared_file, dependencies=[container.counted("shared_file")])
    public("/share/{token}", ops.page, dependencies=[container.counted("shared_page")])
    return routes


class FileRoutes(Handlers):
    """The operations themselves."""

    async def download(self, video_id: VideoId) -> Response:
        """Give the signed address of the finished MP4."""
        found = await self._finished(video_id, "download", retryable=True)
        link = self._container.links.download(video_id, found.render, now=self._now())
        return success({"url": self._container.origin + link.path, **_lasts(link)})

    async def captions(self, video_id: VideoId, request: Request) -> Response:
        """Give the caption file as text, not JSON."""
        form = request.query_params.get("format", "srt")
        found = await self._run(video.get, video_id)
        if form not in CAPTION_TYPES:
            raise Refusal(400, "invalid_request", "format: must be srt or vtt")
        if found.status != video.COMPLETED or found.plan is None:
            raise Refusal(400, "no_captions", "This video has no caption data yet.")
        plan = VideoPlan.from_json(found.plan)
        if not plan.spoken:
            message = "Nothing is spoken in this video, so it will never have captions."
            raise Refusal(400, "no_captions", message)
        text = caption_file(plan.scenes, form)
        return Response(text, headers={"content-type": f"{CAPTION_TYPES[form]}; charset=utf-8"})

    async def file(self, name: str, request: Request) -> Response:
        """Serve the video that a signed address names, to anyone who has the address."""
        names = ("render", "expires", "signature")
        said = {name: request.query_params.get(name, "") for name in names}
        render = self._container.links.read_download(name, **said, now=self._now())
        return await self._video(name, render)

    async def share(self, video_id: VideoId) -> Response:
        """Make a public, expiring link to the MP4 for people without an account."""
        found = await self._finished(video_id, "share")
        link = self._container.links.share(video_id, found.render, now=self._now())
        page_url = self._container.origin + link.path
        return success({"url": f"{page_url}.mp4", "page_url": page_url, **_lasts(link)})

    async def report(
        self, video_id: VideoId, request: Request, asked: ReportVideo = REPORT
    ) -> Response:
        """Flag a video for review."""
        key, now = request.state.key.id, self._now()
        kept = await self._run(keep_report, video_id, asked, key=key, now=now)
        return success(kept)

    async def page(self, token: str) -> Response:
        """Show a video to anyone who has the link; say in words when there is none any more."""
        try:
            video_id, _ = self._container.links.read_share(token, now=self._now())
            found = await self._run(video.get, video_id)
        except Refusal as refusal:
            gone = refusal.message if refusal.status == 410 else "There is no video here."
            return HTMLResponse(GONE.format(gone=gone), refusal.status)
        title = found.asked["title"] or found.asked["topic"] or "A video for you"
        language = found.asked["language"] or "en"
        shown = {"title": title, "video": f"/share/{token}.mp4", "language": language}
        page = PAGE.format_map({name: html.escape(text) for name, text in shown.items()})
        # The link is a secret: no other site is to learn it from a browser.
        return HTMLResponse(page, headers={"referrer-policy": "no-referrer"})

    async def shared_file(self, token: str) -> Response:
        """Serve the video itself."""
        video_id, render = self._container.links.read_share(token, now=self._now())
        return await self._video(video_id, render)

    async def _finished(self, video_id: str, to: str, *, retryable: bool = False) -> Video:
        found = await self._run(video.get, video_id)
        if found.status != video.COMPLETED:
            message = f"This video is {found.status}; there is no video to {to} yet."
            raise Refusal(409, "not_ready", message, retryable=retryable)
        return found

    async def _video(self, video_id: str, render: int) -> Response:
        """Serve the video of one render, whole or in parts; 404 when the video is gone."""

        def find(db: sqlite3.Connection) -> accounting.Render | None:
            video.get(db, video_id)
            return accounting.find(db, video_id, render)

        found = await self._run(find)
        if found is None or found.file is None:
            raise not_found(video_id)
        shared_file = self._container.videos / found.file
        try:
            size = shared_file.stat()
        except FileNotFoundError:
            raise not_found(video_id) from None
        etag = {"etag": f'"{found.sha256}"'}
        return FileResponse(shared_file, media_type="video/mp4", headers=etag, stat_result=size)


def _lasts(link: SignedLink) -> dict[str, object]:
    return {"expires_at": video.stamp(link.expires), "expires_in": link.expires_in}


# Owns the operations that make a finished video again in part, and show how far that is.


SCENE = Depends(body_of(RegenerateScene, optional=True))
VOICE = Depends(body_of(ChangeVoice))
EXPORT = Depends(body_of(ExportAgain, optional=True))


def remakes_router(container: Container) -> APIRouter:
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
            return accounting.of_video(db, video_id, kind=kind)

        return await self._run(find)


def _number(said: str) -> int:
    """Read the number of a scene; whatever is none names a scene that is not there."""
    if not (said.isascii() and said.isdigit() and len(said) <= 9):
        message = f"There is no scene {said[:20]}: scenes are counted from 1."
        raise Refusal(404, "not_found", message)
    return int(said)
