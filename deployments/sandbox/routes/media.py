"""Owns what can be taken away from a finished video: the film and its captions."""

from fastapi import APIRouter, Request, Response
from starlette.responses import FileResponse

from deployments.sandbox import video
from deployments.sandbox.captions import MEDIA_TYPES, caption_file
from deployments.sandbox.envelope import Refusal, not_found, success
from deployments.sandbox.film.plan import FilmPlan
from deployments.sandbox.house import House


def router(house: House) -> APIRouter:
    """Make the routes."""
    routes = APIRouter()

    @routes.get(
        "/api/v1/videos/{video_id}/download",
        tags=["Videos"],
        dependencies=[house.operation("download", "read")],
    )
    async def download_video(video_id: str) -> Response:
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

    @routes.get(
        "/api/v1/videos/{video_id}/captions",
        tags=["Videos"],
        dependencies=[house.operation("captions", "read")],
    )
    async def video_captions(video_id: str, request: Request) -> Response:
        form = request.query_params.get("format", "srt")
        found = await house.database.run(lambda db: video.get(db, video_id))
        if form not in MEDIA_TYPES:
            raise Refusal(400, "invalid_request", "format: must be srt or vtt")
        if found.status != video.COMPLETED or found.plan is None:
            raise Refusal(400, "no_captions", "This video has no caption data yet.")
        text = caption_file(FilmPlan.from_json(found.plan).scenes, form)
        return Response(text, headers={"content-type": f"{MEDIA_TYPES[form]}; charset=utf-8"})

    @routes.api_route("/files/{name}.mp4", methods=["GET", "HEAD"], include_in_schema=False)
    async def signed_file(name: str, request: Request) -> Response:
        house.calls["file"] += 1
        said = request.query_params
        render = house.signer.check(
            name,
            render=said.get("render", ""),
            expires=said.get("expires", ""),
            signature=said.get("signature", ""),
            now=house.now(),
        )
        found = await house.database.run(lambda db: video.get(db, name))
        if found.file is None or found.render != render:
            raise not_found(name)
        film = house.films / found.file
        try:
            size = film.stat()
        except FileNotFoundError:
            raise not_found(name) from None
        etag = {"etag": f'"{found.sha256}"'}
        return FileResponse(film, media_type="video/mp4", headers=etag, stat_result=size)

    return routes
