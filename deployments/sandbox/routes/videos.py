"""The operations on videos: quote, create, look, edit, start, stop, delete, make again in part, and
the helper operations that make a clip from the caller's own picture or footage."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from typing import Any

from callsheet.deployments.sandbox import lifecycle, video
from callsheet.deployments.sandbox.accounting import price, quote
from callsheet.deployments.sandbox.answers import (
    Deleted,
    Quote,
    RenderProgress,
    VideoCreated,
    VideoList,
    VoiceProgress,
    list_of,
)
from callsheet.deployments.sandbox.bodies import (
    CLIPS,
    ChangeVoice,
    CreateVideo,
    ExportAgain,
    PatchVideo,
    RegenerateScene,
)
from callsheet.deployments.sandbox.envelope import Refusal, invalid
from callsheet.deployments.sandbox.lifecycle import create_clip
from callsheet.deployments.sandbox.operations import Call, Declared, operation
from callsheet.deployments.sandbox.video import RenderShown, Video, renders_of

PAGE = 20
LONGEST_PAGE = 100
LIST_QUERY: dict[str, dict[str, object]] = {
    "limit": {"type": "integer", "minimum": 1, "maximum": LONGEST_PAGE, "default": PAGE},
    "cursor": {"type": "string", "pattern": "^v[0-9]{1,18}$"},
    "status": {"type": "string", "enum": list(video.STATUSES)},
}
Shown = dict[str, object]


def paid(name: str, path: str, scope: str = "write", **more: Any) -> Declared:
    """Declare an operation that has a render begin, which costs credits."""
    return operation(name, "POST", path, scope, VideoCreated, status=202, **more)


@operation("list", "GET", "/videos", "read", VideoList, query=LIST_QUERY)
async def list_videos(call: Call) -> Shown:
    """List videos, newest first."""
    said = call.request.query_params
    limit, cursor, status = said.get("limit", str(PAGE)), said.get("cursor"), said.get("status")
    if not (re.fullmatch(r"[0-9]{1,3}", limit) and 1 <= int(limit) <= LONGEST_PAGE):
        raise invalid(f"limit: must be from 1 to {LONGEST_PAGE}")
    if cursor is not None and not re.fullmatch(r"v[0-9]{1,18}", cursor):
        raise invalid("cursor: is not one of ours")
    if status is not None and status not in video.STATUSES:
        raise invalid(f"status: must be one of {', '.join(video.STATUSES)}")
    found, following = await call.run(
        video.listed,
        limit=int(limit),
        before=None if cursor is None else int(cursor[1:]),
        after=call.service.unlisted,
        status=status,
    )
    next_cursor = None if following is None else f"v{following}"
    return {"videos": [one.at(call.now) for one in found], "next_cursor": next_cursor}


@paid("create", "/videos", refusals=[422], body=CreateVideo)
async def create(call: Call) -> Video:
    """Create a video from a brief or a script."""
    made, begins = await call.run(lifecycle.create, call.body, new_video_id(), call)
    if begins:
        call.service.render_pool.begin(made)
    return made.at(call.now)


@operation("estimate", "POST", "/videos/estimate", "read", Quote, body=CreateVideo)
async def estimate(call: Call) -> Shown:
    """Give a free credit quote."""
    return {"credits": price(call.body), "breakdown": quote(call.body)}


@operation("get", "GET", "/videos/{video_id}", "read", Video)
async def get(call: Call) -> Video:
    """Give the status and progress of a video."""
    return (await call.run(video.get, call.path["video_id"])).at(call.now)


@operation("patch", "PATCH", "/videos/{video_id}", "write", Video, body=PatchVideo)
async def patch(call: Call) -> Video:
    """Edit title, topic, script or caption settings."""
    edited = await call.run(lifecycle.patch, call.path["video_id"], call.body, now=call.now)
    return edited.at(call.now)


@operation("delete", "DELETE", "/videos/{video_id}", "write", Deleted)
async def delete(call: Call) -> Shown:
    """Delete the video and its files."""
    video_id = call.path["video_id"]
    await call.run(lifecycle.delete, video_id, now=call.now)
    call.service.render_pool.discard(video_id)
    return {"id": video_id, "deleted": True}


@paid("generate", "/videos/{video_id}/generate")
async def generate(call: Call) -> Video:
    """Start or re-run generation, of a draft or after edits."""
    return await _begin(call, lifecycle.generate, call.path["video_id"])


@operation("cancel", "POST", "/videos/{video_id}/cancel", "write", Video, refusals=[409])
async def cancel(call: Call) -> Video:
    """Cancel a running render and release its credits."""
    stopped = await call.run(lifecycle.cancel, call.path["video_id"], now=call.now)
    call.service.render_pool.stop(stopped.id)
    return stopped.at(call.now)


async def clip(call: Call) -> Video:
    """Make a clip from the caller's own picture or footage."""
    return await _begin(call, create_clip, call.body, new_video_id())


for _name, _body in CLIPS.items():
    paid(_name, f"/videos/{_name}", "ai", body=_body)(clip)


async def _begin(call: Call, act: Callable[..., Video], *said: object) -> Video:
    """Have a render begin by a paid call, and answer as every such call does."""
    started = await call.run(act, *said, call)
    call.service.render_pool.begin(started)
    return started.at(call.now)


def new_video_id() -> str:
    return f"vid_{secrets.token_hex(8)}"


@paid("scene", "/videos/{video_id}/scenes/{n}/regenerate", body=RegenerateScene, optional=True)
async def scene(call: Call) -> Video:
    """Regenerate one scene, counted from 1; the others are untouched."""
    said = call.path["n"]
    # Whatever is no number names a scene that is not there.
    if not (said.isascii() and said.isdigit() and len(said) <= 9):
        message = f"There is no scene {said[:20]}: scenes are counted from 1."
        raise Refusal(404, "not_found", message)
    return await _begin(call, lifecycle.make_scene, call.path["video_id"], int(said), call.body)


@paid("voice", "/videos/{video_id}/voice", body=ChangeVoice)
async def voice(call: Call) -> Video:
    """Regenerate the voiceover with another voice."""
    return await _begin(call, lifecycle.make_voice, call.path["video_id"], call.body)


@paid("export", "/videos/{video_id}/renders", body=ExportAgain, optional=True)
async def export(call: Call) -> Video:
    """Export again, after edits of titles or caption settings."""
    return await _begin(call, lifecycle.make_export, call.path["video_id"], call.body)


@operation("renders", "GET", "/videos/{video_id}/renders", "read", list_of("renders", RenderShown))
async def renders(call: Call) -> Shown:
    """List past exports, newest first."""
    found = await call.run(renders_of, call.path["video_id"])
    return {"renders": [one.at(call.now) for one in found]}


@operation("render_progress", "GET", "/videos/{video_id}/renders/progress", "read", RenderProgress)
async def render_progress(call: Call) -> Shown:
    """Give the progress of the current export."""
    found = await call.run(renders_of, call.path["video_id"])
    if not found:
        return {"status": "idle", "percent": 0, "render": None}
    latest = found[0].at(call.now)
    return {"status": latest.status, "percent": latest.percent, "render": latest}


@operation("voice_progress", "GET", "/videos/{video_id}/voice", "read", VoiceProgress)
async def voice_progress(call: Call) -> Shown:
    """Give the progress of the voice regeneration."""
    found = await call.run(renders_of, call.path["video_id"])
    changes = [one.at(call.now) for one in found if one.kind == "voice"]
    if not changes:
        voice_id = (await call.run(video.get, call.path["video_id"])).voice_id
        return {"status": "idle", "percent": 0, "voice_id": voice_id, "failure_reason": None}
    status, failure = changes[0].status, changes[0].failure_reason
    if status == video.CANCELLED:
        status, failure = "failed", "It was cancelled."
    shown = {"percent": changes[0].percent, "voice_id": changes[0].voice_id}
    return {"status": status, "failure_reason": failure, **shown}
