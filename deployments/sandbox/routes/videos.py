"""Owns the operations on videos: quote, create, look, edit, start, stop, delete."""

from __future__ import annotations

import re
import secrets
from functools import partial

from fastapi import APIRouter, Depends, Request, Response

from deployments.sandbox import moves, video
from deployments.sandbox.bodies import body_of
from deployments.sandbox.credits import price, quote
from deployments.sandbox.envelope import Refusal, success
from deployments.sandbox.house import House
from deployments.sandbox.records import Quote, VideoCreated, VideoDeleted, VideoList, VideoRecord
from deployments.sandbox.routes.operation import PAID, VideoId, add, call_of
from deployments.sandbox.video_bodies import CreateVideo, PatchVideo

PAGE = 20
LONGEST_PAGE = 100
LIST_QUERY: dict[str, dict[str, object]] = {
    "limit": {"type": "integer", "minimum": 1, "maximum": LONGEST_PAGE, "default": PAGE},
    "cursor": {"type": "string", "pattern": "^v[0-9]{1,18}$"},
    "status": {"type": "string", "enum": list(video.STATUSES)},
}
ASKED = Depends(body_of(CreateVideo))
CHANGES = Depends(body_of(PatchVideo))


def router(house: House) -> APIRouter:
    """Make the routes."""
    routes = APIRouter(prefix="/api/v1/videos", tags=["Videos"])
    ops = Videos(house)
    op = partial(add, routes, house)
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
    return routes


class Videos:
    """The operations themselves."""

    def __init__(self, house: House) -> None:
        self._house = house

    async def list(self, request: Request) -> Response:
        """List videos, newest first."""
        limit, before, statuses = _page(request)
        found, following = await self._house.database.run(
            lambda db: video.listed(db, limit=limit, before=before, statuses=statuses)
        )
        now = self._house.now()
        cursor = None if following is None else f"v{following}"
        return success({"videos": [one.shown(now) for one in found], "next_cursor": cursor})

    async def create(self, request: Request, asked: CreateVideo = ASKED) -> Response:
        """Create a video from a brief or a script."""
        house, call = self._house, call_of(self._house, request, "create")
        video_id = new_video_id()
        made, begins = await house.database.run(
            lambda db: moves.create(db, asked, video_id=video_id, call=call)
        )
        if begins:
            house.studio.begin(made)
        return success(made.created(call.now), status=202)

    async def estimate(self, asked: CreateVideo = ASKED) -> Response:
        """Give a free credit quote."""
        return success({"credits": price(asked), "breakdown": quote(asked)})

    async def get(self, video_id: VideoId) -> Response:
        """Give the status and progress of a video."""
        found = await self._house.database.run(lambda db: video.get(db, video_id))
        return success(found.shown(self._house.now()))

    async def patch(self, video_id: VideoId, changes: PatchVideo = CHANGES) -> Response:
        """Edit title, topic, script or caption settings."""
        now = self._house.now()
        edited = await self._house.database.run(
            lambda db: moves.patch(db, video_id, changes, now=now)
        )
        return success(edited.shown(now))

    async def delete(self, video_id: VideoId) -> Response:
        """Delete the video and its files."""
        house = self._house
        await house.database.run(lambda db: moves.delete(db, video_id, now=house.now()))
        house.studio.discard(video_id)
        return success({"id": video_id, "deleted": True})

    async def generate(self, video_id: VideoId, request: Request) -> Response:
        """Start or re-run generation, of a draft or after edits."""
        call = call_of(self._house, request, "generate")
        started = await self._house.database.run(lambda db: moves.generate(db, video_id, call))
        self._house.studio.begin(started)
        return success(started.created(call.now), status=202)

    async def cancel(self, video_id: VideoId) -> Response:
        """Cancel a running render and release its credits."""
        now = self._house.now()
        stopped = await self._house.database.run(lambda db: moves.cancel(db, video_id, now=now))
        self._house.studio.stop(video_id)
        return success(stopped.shown(now))


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
