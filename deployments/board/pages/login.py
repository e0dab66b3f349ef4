"""`/login` and `/logout`: a browser logs in by a one-time address, a link or a token.

A one-time address shows a button, and the button logs in. Mail scanners and chat previews open
every address that they see; none of them presses a button, so the address still works afterwards.
"""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

from fastapi import APIRouter, Form, Request
from starlette.responses import RedirectResponse, Response

from callsheet.deployments.board.acts.login import log_in, log_out, who_waits
from callsheet.deployments.board.board import TheBoard
from callsheet.deployments.board.page import page, part
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.tries import Tries
from callsheet.deployments.board.visit import Visit

router = APIRouter()


@router.get("/login")
async def login(request: Request, board: TheBoard, code: str = "", next: str = "/") -> Response:
    """Show the form, or the button of a one-time address; neither logs in or uses it up."""
    visit: Visit = request.state.visit
    tries: Tries = request.app.state.tries
    if not code:
        return page(request, "login.html", request.state.person, next=_inside(next), code="")
    tries.check(visit.client)
    try:
        person = await who_waits(board, code)
    except ProblemDetails as problem:
        # Pages of other sites could lock a person out of the board with wrong codes.
        if not visit.is_foreign:
            tries.was_wrong(visit.client)
        return _refused(request, problem, next)
    return page(request, "login.html", None, next=_inside(next), code=code, waits=person)


@router.post("/login")
async def enter(
    request: Request,
    board: TheBoard,
    token: Annotated[str, Form()],
    next: Annotated[str, Form()] = "/",
) -> Response:
    """Log in by a token, or by the button of a one-time address."""
    visit: Visit = request.state.visit
    tries: Tries = request.app.state.tries
    tries.check(visit.client)
    # Read before the login is used up.
    where = _inside(next)
    try:
        entered = await log_in(board, token.strip())
    except ProblemDetails as problem:
        tries.was_wrong(visit.client)
        return _refused(request, problem, next)
    if entered.person.guest is not None:
        where = f"/c/{part(entered.person.guest.campaign)}/videos"
    # The session that this browser had before ends: it is never taken over.
    if visit.session:
        await log_out(board, visit.session)
    response = RedirectResponse(where, 303)
    _set_cookie(response, visit, entered.session, entered.lasts)
    return response


@router.post("/logout")
async def logout(request: Request, board: TheBoard) -> Response:
    """Log this browser out."""
    visit: Visit = request.state.visit
    if visit.session:
        await log_out(board, visit.session)
    response = RedirectResponse("/login", 303)
    _set_cookie(response, visit, "", 0)
    return response


def _refused(request: Request, problem: ProblemDetails, next: str) -> Response:
    """Return the form, which says what was wrong; raise the problem where a program asks."""
    if not request.state.visit.wants_page:
        raise problem
    return page(
        request, "login.html", None, status=problem.status, next=_inside(next), problem=problem
    )


def _inside(address: str) -> str:
    """Return an address if it is one of this board, else `/`: a login leads nowhere else."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return "/"
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
