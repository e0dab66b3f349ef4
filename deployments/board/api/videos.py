"""`/videos` and reviews: files of videos, and what people decide.

From a folder with ranges; from a bucket by a redirect to a signed address. Captions come from
here always: a browser takes those of another origin only where that one allows it.
"""

from __future__ import annotations

import re
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import FileResponse, RedirectResponse, Response, StreamingResponse

from callsheet.deployments.board.api.rows import Filters
from callsheet.deployments.board.board import (
    Downloads,
    Reviewer,
    Sees,
    TheBoard,
    TheCampaign,
    with_right,
)
from callsheet.deployments.board.limits import OneDownload
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.services.videos import (
    CONTENT_TYPES,
    Captions,
    Videos,
)
from callsheet.deployments.commands.review import Note, Reason, decide_all
from callsheet.tasks.aftercare.archive import rows_to_take
from callsheet.tasks.aftercare.guests import check_sees, within
from callsheet.tasks.campaign.selection import check_chosen
from callsheet.tasks.ledger.deliveries import Delivered, PictureKind, TakeVideo
from callsheet.tasks.ledger.reviews import Verdict
from callsheet.tasks.ledger.row_filter import RowFilter
from callsheet.tasks.store.addresses import disposition_of
from callsheet.tasks.values.locations import is_object

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
_ZIP: dict[int | str, dict[str, Any]] = {
    200: {"description": "the ZIP, as it is made", "content": {"application/zip": {}}},
    422: {"description": "no video is like that"},
}


@router.get("/campaigns/{campaign}/videos.zip", responses=_ZIP, response_class=Response)
async def get_videos_zip(
    board: TheBoard,
    person: Downloads,
    known: TheCampaign,
    videos: TheVideos,
    which: Filters,
    _: OneDownload,
    kept: Annotated[bool, Query(description="only videos that are kept")] = False,
) -> Response:
    """Return the videos of the rows that match with their captions and a status sheet, as a ZIP.

    A file that is missing is left out, and the status sheet says so. A ZIP that breaks off has no
    end: no program opens it.
    """
    if kept:
        which &= RowFilter.of(review="keep")
    which = within(person, which)
    if person.guest is None:
        # What there is instead is no guest's business.
        await board.read(check_chosen, campaign=known, which=which)
    made = videos.zip_of(
        known,
        await board.read(rows_to_take, campaign=known, which=which),
        inside=person.guest is None,
    )
    disposition = disposition_of(f"{known.name}.zip", download=True)
    headers = {"Content-Disposition": disposition, "Cache-Control": "no-store"}
    return StreamingResponse(made.chunks(), headers=headers, media_type="application/zip")


@router.head("/videos/{campaign}/{row}/{name}", include_in_schema=False)
@router.get("/videos/{campaign}/{row}/{name}", responses=_ANSWERS, response_class=Response)
async def get_video(
    request: Request,
    board: TheBoard,
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
    if person.guest is not None:
        known, number = await board.campaign(campaign), int(asked[1])
        seeing = partial(check_sees, person=person, campaign=known, row=row, take=number)
        await board.read(seeing)
    take, kind = await videos.find(campaign, row, int(asked[1])), asked[2]
    called = f"{row}-take{int(asked[1])}.{kind}"
    if kind == "mp4":
        return await _video(request, videos, take, download=saved)
    if kind in ("srt", "vtt"):
        data, tag = await videos.captions(take, cast("Captions", kind))
        return _whole(request, data, kind, called, tag, download=saved)
    picture: PictureKind = "poster" if kind == "jpg" else "strip"
    data_or_address = await videos.picture(take, picture)
    if isinstance(data_or_address, str):
        return _elsewhere(data_or_address)
    return _whole(request, data_or_address, "jpg", called, None, download=saved)


async def _video(request: Request, videos: Videos, take: TakeVideo, *, download: bool) -> Response:
    file = take.files.get("mp4")
    if file is None:
        raise ProblemDetails(404, "the video of this take is not in the store")
    headers = _headers("mp4", Path(file.uri).name, file.sha256, download=download)
    if _has(request, file.sha256):
        return Response(status_code=304, headers=headers)
    if is_object(file.uri):
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
    """Return whether the caller has this already."""
    known = request.headers.get("if-none-match", "")
    return f'"{tag}"' in known or known.strip() == "*"


# `POST /campaigns/C/reviews`: decide on many videos.


reviews_router = APIRouter(prefix="/campaigns/{campaign}", tags=["reviews"])


class ReviewsAsked(BaseModel):
    """A verdict on all videos of the rows that the address asks for. `until` is when they were
    shown (Unix seconds): videos that came later are left out."""

    model_config = ConfigDict(extra="forbid")

    verdict: Verdict
    reason: Reason = None
    note: Note = None
    until: Annotated[float | None, Field(ge=0, le=1e11, allow_inf_nan=False)] = None


class ReviewsAnswer(BaseModel):
    """How many were decided on, stood so already, and stand otherwise, which they still do."""

    made: int
    same: int
    stood: int


@reviews_router.post("/reviews")
async def review_rows(
    board: TheBoard, person: Reviewer, known: TheCampaign, which: Filters, asked: ReviewsAsked
) -> ReviewsAnswer:
    """Keep or reject the videos of all rows that the query selects, as for the list of rows.

    A video that is already reviewed keeps its review. A query that selects every row is refused.
    """
    done = await decide_all(
        board,
        known.name,
        which,
        asked.verdict,
        reason=asked.reason,
        note=asked.note,
        until=asked.until,
    )
    return ReviewsAnswer(**asdict(done))
