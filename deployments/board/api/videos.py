"""`/videos/CAMPAIGN/ROW/TAKE.mp4`: videos, captions and pictures, for pages and programs alike.

From a folder with ranges; from a bucket by a redirect to a signed address. Captions come from
here always: a browser takes those of another origin only where that one allows it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal, cast

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import FileResponse, RedirectResponse, Response

from callsheet.deployments.board.acts.videos import CONTENT_TYPES, Captions, Videos
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.who import Sees, with_right
from callsheet.tasks.ledger import Delivered, PictureKind, TakeVideo
from callsheet.tasks.store.signed_addresses import disposition_of

router = APIRouter(tags=["videos"])

_NAME = re.compile(r"([0-9]{1,9})\.(mp4|srt|vtt|jpg|strip\.jpg)")
#: A video never changes, but who may see it does.
_KEPT = "private, max-age=600"
_ANSWERS: dict[int | str, dict[str, str]] = {
    200: {"description": "the file"},
    206: {"description": "the part of the video that was asked for"},
    302: {"description": "a signed address in the store, for a quarter of an hour"},
    304: {"description": "as before"},
    404: {"description": "there is no such video, or it is not in the store any more"},
    416: {"description": "the video has no such part"},
}


def videos_of(request: Request) -> Videos:
    """Return the videos of the board that a request came to."""
    videos: Videos = request.app.state.videos
    return videos


TheVideos = Annotated[Videos, Depends(videos_of)]


@router.head("/videos/{campaign}/{row}/{name}", include_in_schema=False)
@router.get("/videos/{campaign}/{row}/{name}", responses=_ANSWERS, response_class=Response)
async def get_video(
    request: Request,
    person: Sees,
    videos: TheVideos,
    campaign: str,
    row: str,
    name: str,
    download: Annotated[str | None, Query(description="to be saved under its name")] = None,
) -> Response:
    """Give a take's video (`TAKE.mp4`), captions (`.srt`, `.vtt`), poster (`.jpg`) or strip
    (`.strip.jpg`: ten pictures side by side)."""
    asked = _NAME.fullmatch(name)
    if asked is None:
        raise ProblemDetails(404, "videos are called like 1.mp4, 1.vtt, 1.jpg or 1.strip.jpg")
    saved = download is not None
    if saved:
        await with_right("download", "viewer")(request)
    take, kind = await videos.find(campaign, row, int(asked[1])), asked[2]
    if kind == "mp4":
        return await _video(request, videos, take, download=saved)
    if kind in ("srt", "vtt"):
        data, tag = await videos.captions(take, cast("Captions", kind))
        return _whole(request, data, kind, f"{row}-take{take.take}.{kind}", tag, download=saved)
    picture: PictureKind = "poster" if kind == "jpg" else "strip"
    data_or_address = await videos.picture(take, picture)
    if isinstance(data_or_address, str):
        return _elsewhere(data_or_address)
    return _whole(
        request, data_or_address, "jpg", f"{row}-take{take.take}.{kind}", None, download=saved
    )


async def _video(request: Request, videos: Videos, take: TakeVideo, *, download: bool) -> Response:
    file = take.files.get("mp4")
    if file is None:
        raise ProblemDetails(404, "the video of this take is not in the store")
    headers = _headers("mp4", Path(file.uri).name, file.sha256, download=download)
    if _has(request, file.sha256):
        return Response(status_code=304, headers=headers)
    if file.uri.startswith("s3://"):
        if request.method == "HEAD":
            # A signed address is good for one method.
            return _described(file, headers)
        return _elsewhere(await videos.address(file, download=download) or "")
    return FileResponse(
        await videos.path(file), headers=headers, media_type=headers["Content-Type"]
    )


def _described(file: Delivered, headers: dict[str, str]) -> Response:
    return Response(headers={**headers, "Content-Length": str(file.bytes)})


def _elsewhere(address: str) -> Response:
    return RedirectResponse(address, 302, headers={"Cache-Control": "no-store"})


def _whole(
    request: Request,
    data: bytes,
    kind: Literal["jpg"] | str,
    name: str,
    tag: str | None,
    *,
    download: bool,
) -> Response:
    headers = _headers(kind, name, tag, download=download)
    if tag is not None and _has(request, tag):
        return Response(status_code=304, headers=headers)
    return Response(data, headers=headers)


def _headers(kind: str, name: str, tag: str | None, *, download: bool) -> dict[str, str]:
    return {
        "Content-Type": CONTENT_TYPES[kind],
        "Content-Disposition": disposition_of(name, download=download),
        "Cache-Control": _KEPT,
        **({"ETag": f'"{tag}"'} if tag else {}),
    }


def _has(request: Request, tag: str) -> bool:
    """Return whether whoever asks has this already."""
    known = request.headers.get("if-none-match", "")
    return f'"{tag}"' in known or known.strip() == "*"
