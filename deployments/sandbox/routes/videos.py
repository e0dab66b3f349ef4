"""Owns the operations on videos: quote, create, look, edit, start, stop, delete, and the helper
operations that make a clip from the caller's own picture or footage."""

from __future__ import annotations

import asyncio
import re
import secrets
from functools import partial
from pathlib import Path

from fastapi import APIRouter, Depends, Request, Response

from callsheet.deployments.sandbox import lifecycle, video
from callsheet.deployments.sandbox.accounting import price, quote
from callsheet.deployments.sandbox.bodies import (
    CharacterSwap,
    ClipBody,
    CreateVideo,
    ImageToVideo,
    PatchVideo,
    TalkingAvatar,
)
from callsheet.deployments.sandbox.container import PAID, Container, Handlers, VideoId, add
from callsheet.deployments.sandbox.envelope import Refusal, body_of, success
from callsheet.deployments.sandbox.lifecycle import CLIP_OPERATIONS, create_clip, pictures_in
from callsheet.deployments.sandbox.rendered_files import keep_picture
from callsheet.deployments.sandbox.video import (
    Quote,
    VideoCreated,
    VideoDeleted,
    VideoList,
    VideoRecord,
)

PAGE = 20
LONGEST_PAGE = 100
LIST_QUERY: dict[str, dict[str, object]] = {
    "limit": {"type": "integer", "minimum": 1, "maximum": LONGEST_PAGE, "default": PAGE},
    "cursor": {"type": "string", "pattern": "^v[0-9]{1,18}$"},
    "status": {"type": "string", "enum": list(video.STATUSES)},
}
ASKED = Depends(body_of(CreateVideo))
CHANGES = Depends(body_of(PatchVideo))
IMAGE = Depends(body_of(ImageToVideo))
AVATAR = Depends(body_of(TalkingAvatar))
SWAP = Depends(body_of(CharacterSwap))


def router(container: Container) -> APIRouter:
    """Make the routes."""
    routes = APIRouter(prefix="/api/v1/videos", tags=["Videos"])
    ops = VideoRoutes(container)
    op = partial(add, routes, container)
    op("GET", "", ops.list, name="list", scope="read", answer=VideoList, refusals=[400],
       query=LIST_QUERY)  # fmt: skip
    op("POST", "", ops.create, name="create", scope="write", status=202, answer=VideoCreated,
       refusals=[400, 422, *PAID], body=CreateVideo)  # fmt: skip
    op("POST", "/estimate", ops.estimate, name="estimate", scope="read", answer=Quote,
       refusals=[400], body=CreateVideo)  # fmt: skip
    op("GET", "/{video_id:video}", ops.get, name="get", scope="read", answer=VideoRecord,
       refusals=[404])  # fmt: skip
    op("PATCH", "/{video_id:video}", ops.patch, name="patch", scope="write", answer=VideoRecord,
       refusals=[400, 404], body=PatchVideo)  # fmt: skip
    op("DELETE", "/{video_id:video}", ops.delete, name="delete", scope="write", answer=VideoDeleted,
       refusals=[404])  # fmt: skip
    op("POST", "/{video_id}/generate", ops.generate, name="generate", scope="write", status=202,
       answer=VideoCreated, refusals=[404, 409, *PAID])  # fmt: skip
    op("POST", "/{video_id}/cancel", ops.cancel, name="cancel", scope="write",
       answer=VideoRecord, refusals=[404, 409])  # fmt: skip
    clip = partial(op, "POST", scope="ai", status=202, answer=VideoCreated, refusals=[400, *PAID])
    clip("/image-to-video", ops.image_to_video, name="image-to-video", body=ImageToVideo)
    clip("/talking-avatar", ops.talking_avatar, name="talking-avatar", body=TalkingAvatar)
    clip("/character-swap", ops.character_swap, name="character-swap", body=CharacterSwap)
    return routes


class VideoRoutes(Handlers):
    """The operations themselves. No clip takes an idempotency key."""

    async def list(self, request: Request) -> Response:
        """List videos, newest first."""
        limit, before, statuses = _page(request)
        found, following = await self._run(
            video.listed,
            limit=limit,
            before=before,
            after=self._container.unlisted,
            statuses=statuses,
        )
        now = self._now()
        cursor = None if following is None else f"v{following}"
        return success({"videos": [one.shown(now) for one in found], "next_cursor": cursor})

    async def create(self, request: Request, asked: CreateVideo = ASKED) -> Response:
        """Create a video from a brief or a script."""
        call = self._call(request, "create")
        video_id = new_video_id()
        made, begins = await self._run(lifecycle.create, asked, video_id=video_id, call=call)
        if begins:
            self._container.render_pool.begin(made)
        return success(made.created(call.now), status=202)

    async def estimate(self, asked: CreateVideo = ASKED) -> Response:
        """Give a free credit quote."""
        return success({"credits": price(asked), "breakdown": quote(asked)})

    async def get(self, video_id: VideoId) -> Response:
        """Give the status and progress of a video."""
        found = await self._run(video.get, video_id)
        return success(found.shown(self._now()))

    async def patch(self, video_id: VideoId, changes: PatchVideo = CHANGES) -> Response:
        """Edit title, topic, script or caption settings."""
        now = self._now()
        edited = await self._run(lifecycle.patch, video_id, changes, now=now)
        return success(edited.shown(now))

    async def delete(self, video_id: VideoId) -> Response:
        """Delete the video and its files."""
        await self._run(lifecycle.delete, video_id, now=self._now())
        self._container.render_pool.discard(video_id)
        return success({"id": video_id, "deleted": True})

    async def generate(self, video_id: VideoId, request: Request) -> Response:
        """Start or re-run generation, of a draft or after edits."""
        return await self._begin(request, "generate", lifecycle.generate, video_id)

    async def cancel(self, video_id: VideoId) -> Response:
        """Cancel a running render and release its credits."""
        now = self._now()
        stopped = await self._run(lifecycle.cancel, video_id, now=now)
        self._container.render_pool.stop(video_id)
        return success(stopped.shown(now))

    async def image_to_video(self, request: Request, asked: ImageToVideo = IMAGE) -> Response:
        """Animate one image into a clip of 5 or 10 seconds."""
        return await self._create(request, asked)

    async def talking_avatar(self, request: Request, asked: TalkingAvatar = AVATAR) -> Response:
        """Let the caller's own recorded clip speak a new script."""
        return await self._create(request, asked)

    async def character_swap(self, request: Request, asked: CharacterSwap = SWAP) -> Response:
        """Swap the person in a clip, for 3 to 60 seconds."""
        return await self._create(request, asked)

    async def _create(self, request: Request, asked: ClipBody) -> Response:
        video_id = new_video_id()
        file = f"{video_id}-picture.jpg"
        kept = await asyncio.to_thread(_keep_first, asked, self._container.videos / file)
        picture = file if kept else None
        try:
            name = CLIP_OPERATIONS[type(asked)]
            return await self._begin(request, name, create_clip, asked, video_id, picture)
        except Exception:
            self._container.render_pool.discard(video_id)
            raise


def new_video_id() -> str:
    return f"vid_{secrets.token_hex(8)}"


def _page(request: Request) -> tuple[int, int | None, tuple[str, ...]]:
    """Read the query of a list: how many, before which, in which states."""
    said = request.query_params
    limit = said.get("limit", str(PAGE))
    if not (re.fullmatch(r"[0-9]{1,3}", limit) and 1 <= int(limit) <= LONGEST_PAGE):
        raise Refusal(400, "invalid_request", f"limit: must be from 1 to {LONGEST_PAGE}")
    cursor = said.get("cursor")
    if cursor is not None and not re.fullmatch(r"v[0-9]{1,18}", cursor):
        raise Refusal(400, "invalid_request", "cursor: is not one of ours")
    status = said.get("status")
    if status is not None and status not in video.STATUSES:
        names = ", ".join(video.STATUSES)
        raise Refusal(400, "invalid_request", f"status: must be one of {names}")
    statuses = video.STATUSES if status is None else (status,)
    return int(limit), None if cursor is None else int(cursor[1:]), statuses


def _keep_first(asked: ClipBody, path: Path) -> bool:
    """Keep the first picture that came with a request; False when none did."""
    return any(keep_picture(address, path) for address in pictures_in(asked))
