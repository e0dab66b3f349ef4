"""`/c/C/videos`: the contact sheet, one player, and what people decide about videos."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal
from urllib.parse import quote

from fastapi import APIRouter, Form, Request
from starlette.datastructures import FormData, QueryParams
from starlette.responses import RedirectResponse, Response

from callsheet.deployments.board.board import Decides, Downloads, Sees, TheBoard
from callsheet.deployments.board.page import page
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.videos import Gallery, VideoView, zip_address
from callsheet.deployments.commands.review import decide, decide_all
from callsheet.tasks.ledger.reviews import ReviewStands, Verdict
from callsheet.tasks.ledger.row_filter import RowFilter
from callsheet.tasks.ledger.sessions import logo_of
from callsheet.tasks.values.amounts import count

router = APIRouter(prefix="/c/{campaign}/videos")
#: Who comes back after so many seconds is on another visit.
VISIT = 1800
_SEEN = "seen"


@router.get("")
async def videos(request: Request, board: TheBoard, person: Sees, campaign: str) -> Response:
    """Show the videos; with `HX-Request` only what there is to know of the one that is open."""
    gallery = await Gallery.of(board, campaign)
    view = VideoView.of(request.query_params, person)
    if "HX-Request" in request.headers and view.open:
        card = await gallery.card(view, view.open)
        return page(request, "_video.html", person, **await gallery.opened(view, card))
    latest, before = _visits(request, board.clock())
    said = _said(request.query_params.get("done"))
    told = await gallery.shown(view, before)
    told["lasting"] = said and view.address(gallery.root, open=view.open)
    answer = page(request, "videos.html", person, said=said, **told)
    answer.set_cookie(
        _SEEN, f"{latest:.0f}.{before or 0:.0f}", max_age=400 * 86400, path=request.url.path,
        httponly=True, samesite="strict", secure=board.origin.startswith("https:"),
    )  # fmt: skip
    return answer


@router.get("/logo-{link}.png")
async def logo(board: TheBoard, person: Sees, campaign: str, link: int) -> Response:
    """Show the logo of the client to whoever came by their link."""
    guest = person.guest
    found = await board.read(logo_of, link=link) if guest and guest.id == link else None
    if found is None:
        raise ProblemDetails(404, "your link has no such logo")
    kept = {"Cache-Control": "private, max-age=600"}
    return Response(found, media_type="image/png", headers=kept)


@router.post("/{row}/review")
async def review(
    request: Request,
    board: TheBoard,
    person: Decides,
    campaign: str,
    row: str,
    take: Annotated[int, Form(ge=1, le=2**31 - 1)],
    verdict: Annotated[Verdict | Literal[""], Form()] = "",
    standing: Annotated[Verdict | Literal[""], Form()] = "",
    view: Annotated[str, Form()] = "",
    to: Annotated[str, Form()] = "",
) -> Response:
    """Decide on a video, or take that back; a reason alone rejects. It leads back to where it was
    done: the videos, or `row`."""
    gallery = await Gallery.of(board, campaign)
    seen = VideoView.of(QueryParams(view), person)
    # As they were sent: an empty note takes one away, without one it stays.
    form = await request.form()
    reason, note = _words(form, "reason"), _words(form, "note")
    # What comes next is asked before: a video that is decided on may not match any more.
    following = await gallery.next_undecided(seen, row)
    verdict = "reject" if reason and not verdict else verdict
    refused = None
    try:
        await decide(
            board, campaign, row, verdict or None, take=take, reason=reason, note=note,
            instead_of=standing or None,
        )  # fmt: skip
    except ReviewStands as error:
        refused = {"row": row, "words": str(error)}
    seen = replace(seen, open=row)
    status = 409 if refused else 200
    if "HX-Request" in request.headers:
        _, before = _visits(request, board.clock())
        card = await gallery.card(seen, row)
        told = await gallery.opened(seen, card) | {"video": card, "refused": refused}
        told["chips"] = await gallery.chips(seen, before)
        told["rejected"] = await gallery.rejected()
        return page(request, "_video_answer.html", person, status=status, **told)
    if refused:
        _, before = _visits(request, board.clock())
        told = await gallery.shown(seen, before) | {"refused": refused, "said": None}
        return page(request, "videos.html", person, status=status, **told)
    if to == "row":
        return RedirectResponse(f"{gallery.root}/rows/{quote(row, safe='')}", 303)
    # Someone who rejects is asked why before they go on.
    stays = verdict != "keep" and not reason
    following = row if stays or following is None else following
    return RedirectResponse(f"{seen.address(gallery.root, open=following)}#video", 303)


@router.post("/verdicts")
async def verdicts(
    board: TheBoard,
    person: Decides,
    campaign: str,
    verdict: Annotated[Verdict, Form()],
    rows: Annotated[Sequence[str], Form(alias="row")] = (),
    everything: Annotated[str, Form(alias="all")] = "",
    until: Annotated[float | None, Form(ge=0, le=1e11, allow_inf_nan=False)] = None,
    reason: Annotated[str, Form()] = "",
    view: Annotated[str, Form()] = "",
) -> Response:
    """Decide on many videos: those that were selected, or all that the page showed."""
    gallery = await Gallery.of(board, campaign)
    seen = VideoView.of(QueryParams(view), person)
    if not (rows or everything):
        remedy = "select some, or all"
        raise ProblemDetails(422, "no video was selected; nothing was decided", remedy=remedy)
    done = await decide_all(
        board,
        campaign,
        seen.which if everything else RowFilter.of(video="yes", row=rows),
        verdict,
        reason=reason or None,
        # Videos that came since then no one has looked at.
        until=until,
    )
    told = f"{verdict}.{done.made}.{done.same}.{done.stood}"
    return RedirectResponse(seen.address(gallery.root, done=told), 303)


@router.get("/zip")
async def take_zip(request: Request, person: Downloads, campaign: str) -> Response:
    """Lead to the ZIP of the videos that were selected, or of all that the page showed."""
    rows, everything = request.query_params.getlist("row"), request.query_params.get("all")
    if not (rows or everything):
        raise ProblemDetails(422, "no video was selected", remedy="select some, or all")
    view = QueryParams(request.query_params.get("view", ""))
    seen = VideoView.of(view, person).which
    which = seen if everything else RowFilter.of(video="yes", row=rows)
    return RedirectResponse(zip_address(campaign, which), 303)


def _words(form: FormData, name: str) -> str | None:
    found = form.get(name)
    return found if isinstance(found, str) else None


def _visits(request: Request, now: float) -> tuple[float, float | None]:
    """Return when this visit's newest page was, and when the visit before it ended."""
    try:
        latest, before = map(float, request.cookies.get(_SEEN, "").split("."))
    except ValueError:
        return now, None
    if not (0 <= latest < 1e11 and 0 <= before < 1e11):
        return now, None
    if now - latest > VISIT:
        before = latest
    return now, before or None


def _said(done: str | None) -> str | None:
    """Return what a bulk act came to, from the address it led to."""
    try:
        verdict, *numbers = (done or "").split(".")
        made, same, stood = map(int, numbers)
        word = {"keep": "kept", "reject": "rejected"}[verdict]
    except (ValueError, KeyError):
        return None
    words = f"{count(made, 'video')} {word}."
    if same:
        words += f" {count(same, 'video')} had been {word} already."
    if stood:
        words += f" {count(stood, 'video')} decided otherwise before stay as they are."
    return words
