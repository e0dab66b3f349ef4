"""`/login` and `/logout`: a browser comes in by a one-time address, a link or a token.

Who opens a one-time address in a browser is in at once. Whatever else fetches it, as a messenger
that wants to show a preview, or comes from a page elsewhere, is asked to press a button first: the
address is not used up, and a strict cookie would not come along in that case anyway.
"""

from __future__ import annotations

import re
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import APIRouter, Form, Request
from starlette.responses import RedirectResponse, Response

from deployments.board.acts.login import log_in, log_out, who_waits
from deployments.board.board import Board, TheBoard
from deployments.board.page import page
from deployments.board.problem_details import ProblemDetails
from deployments.board.tries import Tries
from deployments.board.visit import Visit

router = APIRouter()

_PREVIEW = re.compile(r"bot\b|crawl|spider|preview|facebookexternalhit|whatsapp|slack", re.I)


@router.get("/login")
async def login(request: Request, board: TheBoard, code: str = "", next: str = "/") -> Response:
    """Show the form, or let in whoever has a one-time address."""
    visit: Visit = request.state.visit
    tries: Tries = request.app.state.tries
    if not code:
        return page(request, "login.html", request.state.person, next=_inside(next), code="")
    tries.check(visit.client)
    if not _asks_itself(visit):
        return await _enter(request, board, code, next, by_token=False)
    try:
        person = await who_waits(board, code)
    except ProblemDetails:
        tries.was_wrong(visit.client)
        raise
    return page(request, "login.html", None, next=_inside(next), code=code, waits=person)


@router.post("/login")
async def enter(
    request: Request,
    board: TheBoard,
    token: Annotated[str, Form()],
    next: Annotated[str, Form()] = "/",
) -> Response:
    """Let in whoever has a token, or presses the button of a one-time address."""
    request.app.state.tries.check(request.state.visit.client)
    return await _enter(request, board, token.strip(), next, by_token=True)


@router.post("/logout")
async def logout(request: Request, board: TheBoard) -> Response:
    """Log this browser out."""
    visit: Visit = request.state.visit
    if visit.session:
        await log_out(board, visit.session)
    response = RedirectResponse("/login", 303)
    _set_cookie(response, visit, "", 0)
    return response


async def _enter(
    request: Request, board: Board, code: str, next: str, *, by_token: bool
) -> Response:
    visit: Visit = request.state.visit
    tries: Tries = request.app.state.tries
    try:
        entered = await log_in(board, code, by_token=by_token)
    except ProblemDetails as problem:
        tries.was_wrong(visit.client)
        if not visit.wants_page:
            raise
        return page(
            request, "login.html", None, status=problem.status, next=_inside(next), problem=problem
        )
    where = _inside(next)
    if entered.person.guest is not None:
        where = f"/c/{entered.person.guest.campaign}/films"
    # Whoever was logged in here before is not any more: a session is never taken over.
    if visit.session:
        await log_out(board, visit.session)
    response = RedirectResponse(where, 303)
    _set_cookie(response, visit, entered.session, entered.lasts)
    return response


def _asks_itself(visit: Visit) -> bool:
    """Whether a one-time address is to wait for a button."""
    headers = visit.headers
    return (
        visit.from_elsewhere
        or visit.method == "HEAD"
        or "sec-purpose" in headers
        or "purpose" in headers
        or _PREVIEW.search(headers.get("user-agent", "")) is not None
    )


def _inside(address: str) -> str:
    """Return an address of this board: anything else would send people away with our word."""
    parts = urlsplit(address)
    plain = address.startswith("/") and not address.startswith(("//", "/\\"))
    clean = address.isprintable() and "\\" not in address
    return address if plain and clean and not parts.netloc and not parts.scheme else "/"


def _set_cookie(response: Response, visit: Visit, token: str, lasts: int) -> None:
    response.set_cookie(
        visit.cookie_name,
        token,
        max_age=lasts,
        path="/",
        httponly=True,
        samesite="strict",
        secure=visit.is_secure,
    )
