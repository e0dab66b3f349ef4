"""Owns the operations on videos: quote, create, look, edit, start, stop, delete."""

import base64
import binascii
import secrets

from fastapi import APIRouter, Depends, Request, Response

from deployments.sandbox import moves, video
from deployments.sandbox.bodies import CreateVideo, PatchVideo, body_of, described
from deployments.sandbox.credits import price, quote
from deployments.sandbox.envelope import Refusal, success
from deployments.sandbox.house import House

PAGE = 20
LONGEST_PAGE = 100
ASKED = Depends(body_of(CreateVideo))
CHANGES = Depends(body_of(PatchVideo))


def router(house: House) -> APIRouter:
    """Make the routes."""
    routes = APIRouter(prefix="/api/v1", tags=["Videos"])

    @routes.post(
        "/videos/estimate",
        dependencies=[house.operation("estimate", "read")],
        openapi_extra=described(CreateVideo),
    )
    async def estimate_video(asked: CreateVideo = ASKED) -> Response:
        return success({"credits": price(asked), "breakdown": quote(asked)})

    @routes.post(
        "/videos",
        status_code=202,
        dependencies=[house.operation("create", "write")],
        openapi_extra=described(CreateVideo),
    )
    async def create_video(asked: CreateVideo = ASKED) -> Response:
        now = house.now()
        house.pace.take(now=now)
        video_id = f"vid_{secrets.token_hex(8)}"
        made, begins = await house.database.run(
            lambda db: moves.create(db, asked, video_id=video_id, timing=house.timing, now=now)
        )
        if begins:
            house.studio.begin(made)
        return success(made.created(now), status=202)

    @routes.get("/videos", dependencies=[house.operation("list", "read")])
    async def list_videos(request: Request) -> Response:
        limit, before = _page(request)
        found, following = await house.database.run(
            lambda db: video.listed(db, limit=limit, before=before)
        )
        now = house.now()
        cursor = None if following is None else _cursor(following)
        return success({"videos": [one.shown(now) for one in found], "next_cursor": cursor})

    @routes.get("/videos/{video_id}", dependencies=[house.operation("get", "read")])
    async def get_video(video_id: str) -> Response:
        found = await house.database.run(lambda db: video.get(db, video_id))
        return success(found.shown(house.now()))

    @routes.patch(
        "/videos/{video_id}",
        dependencies=[house.operation("patch", "write")],
        openapi_extra=described(PatchVideo),
    )
    async def patch_video(video_id: str, changes: PatchVideo = CHANGES) -> Response:
        now = house.now()
        edited = await house.database.run(lambda db: moves.patch(db, video_id, changes, now=now))
        return success(edited.shown(now))

    @routes.delete("/videos/{video_id}", dependencies=[house.operation("delete", "write")])
    async def delete_video(video_id: str) -> Response:
        await house.database.run(lambda db: moves.delete(db, video_id, now=house.now()))
        house.studio.discard(video_id)
        return success({"id": video_id, "deleted": True})

    @routes.post(
        "/videos/{video_id}/generate",
        status_code=202,
        dependencies=[house.operation("generate", "write")],
    )
    async def generate_video(video_id: str) -> Response:
        now = house.now()
        started = await house.database.run(
            lambda db: moves.generate(db, video_id, timing=house.timing, now=now)
        )
        house.studio.begin(started)
        return success(started.created(now), status=202)

    @routes.post("/videos/{video_id}/cancel", dependencies=[house.operation("cancel", "write")])
    async def cancel_video(video_id: str) -> Response:
        now = house.now()
        stopped = await house.database.run(lambda db: moves.cancel(db, video_id, now=now))
        house.studio.stop(video_id)
        return success(stopped.shown(now))

    return routes


def _page(request: Request) -> tuple[int, int | None]:
    said = request.query_params.get("limit", str(PAGE))
    if not (said.isascii() and said.isdigit() and 1 <= int(said[:4]) <= LONGEST_PAGE):
        raise Refusal(400, "invalid_request", f"limit: must be from 1 to {LONGEST_PAGE}")
    cursor = request.query_params.get("cursor")
    return int(said), None if cursor is None else _seq(cursor)


def _cursor(seq: int) -> str:
    return base64.urlsafe_b64encode(f"before:{seq}".encode()).decode()


def _seq(cursor: str) -> int:
    try:
        word, _, seq = base64.b64decode(cursor, b"-_", validate=True).decode().partition(":")
        if word != "before" or not 0 <= int(seq) < 2**62:
            raise ValueError(cursor)
        return int(seq)
    except (ValueError, binascii.Error):
        raise Refusal(400, "invalid_request", "cursor: is not one of ours") from None
