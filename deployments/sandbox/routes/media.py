"""Owns what can be taken away from a finished video: the film and its captions."""

from __future__ import annotations

import sqlite3
from functools import partial

from fastapi import APIRouter, Request, Response
from starlette.responses import FileResponse

from deployments.sandbox import renders, video
from deployments.sandbox.captions import MEDIA_TYPES, caption_file
from deployments.sandbox.envelope import Refusal, not_found, success
from deployments.sandbox.film.plan import FilmPlan
from deployments.sandbox.house import House
from deployments.sandbox.openapi import refused
from deployments.sandbox.records import Link
from deployments.sandbox.routes.operation import VideoId, add

CAPTION_FILE = {
    "description": "The caption file, as text.",
    "content": {kind: {"schema": {"type": "string"}} for kind in MEDIA_TYPES.values()},
}
FORMAT = {"format": {"type": "string", "enum": list(MEDIA_TYPES), "default": "srt"}}


def router(house: House) -> APIRouter:
    """Make the routes."""
    routes = APIRouter()
    ops = Media(house)
    op = partial(add, routes, house, "GET", scope="read")
    op("/api/v1/videos/{video_id}/download", ops.download, name="download", answer=Link,
       refusals=[404, 409])  # fmt: skip
    op("/api/v1/videos/{video_id}/captions", ops.captions, name="captions", query=FORMAT,
       responses={200: CAPTION_FILE, **refused(400, 404)})  # fmt: skip
    routes.add_api_route(
        "/files/{name}.mp4",
        ops.file,
        methods=["GET", "HEAD"],
        include_in_schema=False,
        dependencies=[house.counted("file")],
    )
    return routes


class Media:
    """The operations themselves."""

    def __init__(self, house: House) -> None:
        self._house = house

    async def download(self, video_id: VideoId) -> Response:
        """Give the signed address of the finished MP4."""
        house = self._house
        found = await house.database.run(lambda db: video.get(db, video_id))
        if found.status != video.COMPLETED:
            message = f"This video is {found.status}; there is no film to download yet."
            raise Refusal(409, "not_ready", message, retryable=True)
        signed = house.signer.sign(video_id, found.render, now=house.now())
        return success(
            {
                "url": house.origin + signed.path,
                "expires_at": video.stamp(signed.expires),
                "expires_in": round(house.signer.lifetime),
            }
        )

    async def captions(self, video_id: VideoId, request: Request) -> Response:
        """Give the caption file as text, not JSON."""
        form = request.query_params.get("format", "srt")
        found = await self._house.database.run(lambda db: video.get(db, video_id))
        if form not in MEDIA_TYPES:
            raise Refusal(400, "invalid_request", "format: must be srt or vtt")
        if found.status != video.COMPLETED or found.plan is None:
            raise Refusal(400, "no_captions", "This video has no caption data yet.")
        plan = FilmPlan.from_json(found.plan)
        if not plan.spoken:
            message = "Nothing is spoken in this video, so it will never have captions."
            raise Refusal(400, "no_captions", message)
        text = caption_file(plan.scenes, form)
        return Response(text, headers={"content-type": f"{MEDIA_TYPES[form]}; charset=utf-8"})

    async def file(self, name: str, request: Request) -> Response:
        """Serve the film that a signed address names, to anyone who has the address."""
        said = request.query_params
        render = self._house.signer.check(
            name,
            render=said.get("render", ""),
            expires=said.get("expires", ""),
            signature=said.get("signature", ""),
            now=self._house.now(),
        )
        return await film_response(self._house, name, render)


async def film_response(house: House, video_id: str, render: int) -> Response:
    """Serve the film of one render, whole or in parts; 404 when the video is gone."""

    def look(db: sqlite3.Connection) -> renders.Render | None:
        video.get(db, video_id)
        return renders.find(db, video_id, render)

    found = await house.database.run(look)
    if found is None or found.file is None:
        raise not_found(video_id)
    film = house.films / found.file
    try:
        size = film.stat()
    except FileNotFoundError:
        raise not_found(video_id) from None
    etag = {"etag": f'"{found.sha256}"'}
    return FileResponse(film, media_type="video/mp4", headers=etag, stat_result=size)
