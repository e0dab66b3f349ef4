"""Files and captions of finished videos, links to them, and reports."""

from __future__ import annotations

from typing import Any

from starlette.responses import FileResponse, HTMLResponse, Response

from callsheet.deployments.sandbox import video
from callsheet.deployments.sandbox.answers import Link, ShareLink
from callsheet.deployments.sandbox.auth.pages import template
from callsheet.deployments.sandbox.bodies import ReportVideo
from callsheet.deployments.sandbox.envelope import Refusal, invalid, not_found
from callsheet.deployments.sandbox.mp4.script import CAPTION_TYPES, caption_file
from callsheet.deployments.sandbox.operations import Call, operation, public
from callsheet.deployments.sandbox.video import Report, Video, keep_report, render_of

CAPTION_FILE = {
    "description": "The caption file, as text.",
    "content": {kind: {"schema": {"type": "string"}} for kind in CAPTION_TYPES.values()},
}
CAPTIONS: dict[str, Any] = {
    "query": {"format": {"type": "string", "enum": list(CAPTION_TYPES), "default": "srt"}},
    "responses": {"200": CAPTION_FILE},
}


@operation("download", "GET", "/videos/{video_id}/download", "read", Link, refusals=[409])
async def download(call: Call) -> dict[str, object]:
    """Give the signed address of the finished MP4."""
    found = await _finished(call, "download", retryable=True)
    link = call.service.links.make("file", found.id, found.render, now=call.now)
    return {**link._asdict(), "url": call.service.origin + link.path}


@operation("captions", "GET", "/videos/{video_id}/captions", "read", **CAPTIONS)
async def captions(call: Call) -> Response:
    """Give the caption file as text, not JSON."""
    form = call.request.query_params.get("format", "srt")
    found = await call.run(video.get, call.path["video_id"])
    if form not in CAPTION_TYPES:
        raise invalid("format: must be srt or vtt")
    render = await call.run(render_of, found.id, found.render)
    if found.status != video.COMPLETED or render is None:
        raise Refusal(400, "no_captions", "This video has no caption data yet.")
    if not render.plan.spoken:
        message = "Nothing is spoken in this video, so it will never have captions."
        raise Refusal(400, "no_captions", message)
    text = caption_file(render.plan.scenes, form)
    return Response(text, headers={"content-type": f"{CAPTION_TYPES[form]}; charset=utf-8"})


@public("file", "GET", "/files/{name}.mp4")
async def file(call: Call) -> Response:
    """Serve the video that a signed address names, to anyone who has the address."""
    query = call.request.query_params
    said = [call.path["name"], *(query.get(part, "") for part in ("render", "expires"))]
    signature = query.get("signature", "")
    named = call.service.links.read("file", *said, signature=signature, now=call.now)
    return await _video(call, *named)


@operation("share", "POST", "/videos/{video_id}/share-link", "write", ShareLink, refusals=[409])
async def share(call: Call) -> dict[str, object]:
    """Make a public, expiring link to the MP4 for people without an account."""
    found = await _finished(call, "share")
    link = call.service.links.make("share", found.id, found.render, now=call.now)
    page_url = call.service.origin + link.path
    return {**link._asdict(), "url": f"{page_url}.mp4", "page_url": page_url}


@operation("report", "POST", "/videos/{video_id}/report", "write", Report, body=ReportVideo)
async def report(call: Call) -> Report:
    """Flag a video for review."""
    assert call.key is not None
    said = call.path["video_id"], call.body
    return await call.run(keep_report, *said, key=call.key.id, now=call.now)


# Before the page: of two paths that fit, the first one is called.
@public("shared_file", "GET", "/share/{token}.mp4")
async def shared_file(call: Call) -> Response:
    """Serve the video itself."""
    return await _video(call, *_shared(call))


@public("shared_page", "GET", "/share/{token}")
async def page(call: Call) -> Response:
    """Show a video to anyone who has the link; say in words when there is none any more."""
    token = call.path["token"]
    try:
        found = await call.run(video.get, _shared(call)[0])
    except Refusal as refusal:
        gone = refusal.message if refusal.status == 410 else "There is no video here."
        return HTMLResponse(template("gone.html").render(gone=gone), refusal.status)
    shown = template("share.html").render(
        title=found.title or found.topic or "A video for you", language=found.language or "en",
        video=f"/share/{token}.mp4",
    )  # fmt: skip
    # The link is a secret: no other site is to learn it from a browser.
    return HTMLResponse(shown, headers={"referrer-policy": "no-referrer"})


def _shared(call: Call) -> tuple[str, int]:
    """Give the video and render that a public link names."""
    *said, signature = call.path["token"].rsplit(".", 3)
    return call.service.links.read("share", *said, signature=signature, now=call.now)


async def _finished(call: Call, to: str, *, retryable: bool = False) -> Video:
    found = await call.run(video.get, call.path["video_id"])
    if found.status != video.COMPLETED:
        message = f"This video is {found.status}; there is no video to {to} yet."
        raise Refusal(409, "not_ready", message, retryable=retryable)
    return found


async def _video(call: Call, video_id: str, render: int) -> Response:
    """Serve the video of one render, whole or in parts; 404 when the video is gone."""
    await call.run(video.get, video_id)
    found = await call.run(render_of, video_id, render)
    if found is None or found.file is None:
        raise not_found(video_id)
    path = call.service.videos / found.file
    try:
        size = path.stat()
    except FileNotFoundError:
        raise not_found(video_id) from None
    etag = {"etag": f'"{found.sha256}"'}
    return FileResponse(path, media_type="video/mp4", headers=etag, stat_result=size)
