"""`/people`, `/login` and `/logout`.

What is shown once, a login, a token or a link's address, is on the page that answers the form.
"""

from __future__ import annotations

from typing import Annotated, Any, get_args
from urllib.parse import urlsplit

from fastapi import APIRouter, Form, Request
from fastapi.exceptions import RequestValidationError
from starlette.responses import RedirectResponse, Response

from callsheet.deployments.board.api.calls import Command, in_form
from callsheet.deployments.board.board import Admin, Board, TheBoard
from callsheet.deployments.board.limits import Tries
from callsheet.deployments.board.logins import log_in, log_out, who_waits
from callsheet.deployments.board.page import page, part
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.visit import Visit
from callsheet.deployments.commands.people import (
    HERE_ONLY,
    HERE_ONLY_REMEDY,
    end_link,
    invite_person,
    list_links,
    list_people,
    make_link,
    revoke_person,
)
from callsheet.tasks.ledger.campaigns import all_campaigns
from callsheet.tasks.ledger.people import RIGHTS, InvitedRole, Person
from callsheet.tasks.runtime.errors import BadInput

router = APIRouter(prefix="/people")


@router.get("")
async def show(
    request: Request, board: TheBoard, person: Admin, campaign: str = "", select: str = ""
) -> Response:
    """Show everybody, and every link; `campaign` and `select` are filled in for a new one."""
    typed = {"campaign": campaign, "select": select}
    return await _page(request, board, person, asked="link", typed=typed)


@router.post("/invite")
async def invite(request: Request, board: TheBoard, person: Admin) -> Response:
    """Invite a person; the answer shows once how they come in."""
    return await _made(request, board, person, invite_person, "invite")


@router.post("/revoke")
async def revoke(request: Request, board: TheBoard, person: Admin) -> Response:
    """Revoke a person."""
    await revoke_person(board, **await in_form(request, revoke_person))
    return RedirectResponse("/people", 303)


@router.post("/links")
async def new_link(request: Request, board: TheBoard, person: Admin) -> Response:
    """Make a link; the answer shows its address once."""
    return await _made(request, board, person, make_link, "link")


@router.post("/links/revoke")
async def old_link(request: Request, board: TheBoard, person: Admin) -> Response:
    """End a link."""
    await end_link(board, **await in_form(request, end_link))
    return RedirectResponse("/people", 303)


async def _made(
    request: Request, board: Board, person: Person, do: Command, asked: str
) -> Response:
    """Do what a form asks for, and show it; or say why not at the field, with what was typed."""
    try:
        return await _page(
            request,
            board,
            person,
            status=201,
            **{asked: await do(board, **await in_form(request, do))},
        )
    except RequestValidationError as error:
        first = error.errors()[0]
        what = first["msg"].removeprefix("Input ").removeprefix("String ")
        mistakes = {str(first["loc"][1]): f"It {what}"}
    except BadInput as error:
        mistakes = {"": f"{error}; {error.remedy}" if error.remedy else str(error)}
    form = await request.form()
    typed = {name: text for name, text in form.items() if isinstance(text, str)}
    typed["rights"] = ",".join(str(one) for one in form.getlist("rights"))
    more = {"asked": asked, "typed": typed, "mistakes": mistakes}
    return await _page(request, board, person, status=422, **more)


async def _page(
    request: Request, board: Board, person: Person, *, status: int = 200, **more: Any
) -> Response:
    """Return the page; `invite` (Invitation) and `link` (MadeLink) are what was just made.

    `typed` is what is in the fields of the form that `asked`, `mistakes` what is wrong in them.
    """
    context = {"invite": None, "link": None, "asked": "", "typed": {}, "mistakes": {}, **more}
    return page(
        request,
        "people.html",
        person,
        status=status,
        people=(await list_people(board)).people,
        links=(await list_links(board)).links,
        campaigns=await board.read(all_campaigns),
        roles=get_args(InvitedRole),
        rights=RIGHTS,
        here_only=HERE_ONLY if board.is_here_only else None,
        here_only_remedy=HERE_ONLY_REMEDY,
        **context,
    )


# `/login` and `/logout`: a browser logs in by a one-time address, a link or a token.
#
# A one-time address shows a button, and the button logs in. Mail scanners and chat previews open
# every address that they see; none of them presses a button, so the address still works afterwards.


login_router = APIRouter()


@login_router.get("/login")
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


@login_router.post("/login")
async def enter(
    request: Request,
    board: TheBoard,
    token: Annotated[str, Form()],
    next: Annotated[str, Form()] = "/",
    called: Annotated[str, Form(max_length=400)] = "",
) -> Response:
    """Log in by a token, or by the button of a one-time address."""
    visit: Visit = request.state.visit
    tries: Tries = request.app.state.tries
    tries.check(visit.client)
    # Read before the login is used up.
    where = _inside(next)
    try:
        entered = await log_in(board, token.strip(), called.strip())
    except BadInput as error:
        waits = await who_waits(board, token.strip())
        told = {"next": where, "code": token, "waits": waits, "unnamed": str(error)}
        return page(request, "login.html", None, status=422, **told)
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


@login_router.post("/logout")
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
