"""`/people`: who may come in, and by which links; an admin's page.

What is shown once, a login, a token or a link's address, is on the page that answers the form.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from starlette.responses import RedirectResponse, Response

from callsheet.deployments.board.acts import links, people
from callsheet.deployments.board.board import Board, TheBoard
from callsheet.deployments.board.hosts import HERE_ONLY, HERE_ONLY_REMEDY
from callsheet.deployments.board.page import page
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.who import ROLES, Admin, Person
from callsheet.tasks.credits import parse_credits
from callsheet.tasks.errors import BadInput
from callsheet.tasks.ledger import all_campaigns
from callsheet.tasks.ledger.people import RIGHTS, all_people
from callsheet.tasks.ledger.sessions import all_links

router = APIRouter(prefix="/people")

#: Larger numbers are no ids of the ledger's.
LinkNumber = Annotated[int, Form(ge=1, le=2**31 - 1)]


@router.get("")
async def show(request: Request, board: TheBoard, person: Admin) -> Response:
    """Show everybody, and every link."""
    return await _page(request, board, person)


@router.post("/invite")
async def invite(
    request: Request,
    board: TheBoard,
    person: Admin,
    name: Annotated[str, Form()],
    role: Annotated[str, Form()],
    allowance: Annotated[str, Form()] = "",
    again: Annotated[str, Form()] = "",
) -> Response:
    """Invite somebody; the answer shows once how they come in."""
    amount = parse_credits(allowance) if allowance.strip() else None
    if allowance.strip() and amount is None:
        raise BadInput("an allowance is an amount of credits, such as 200")
    invited = await people.invite(
        board, person.name, name=name, role=role, allowance=amount, again=bool(again)
    )
    return await _page(request, board, person, status=201, invited=invited)


@router.post("/revoke")
async def revoke(board: TheBoard, person: Admin, name: Annotated[str, Form()]) -> Response:
    """Let somebody in no more."""
    if name == person.name:
        raise ProblemDetails(409, "you cannot revoke yourself: another admin can")
    await people.revoke(board, person.name, name)
    return RedirectResponse("/people", 303)


@router.post("/links")
async def make_link(
    request: Request,
    board: TheBoard,
    person: Admin,
    campaign: Annotated[str, Form()],
    name: Annotated[str, Form()],
    rights: Annotated[list[str] | None, Form()] = None,
    days: Annotated[int, Form(ge=1, le=90)] = 14,
) -> Response:
    """Make a link; the answer shows its address once."""
    made = await links.make(
        board,
        person.name,
        campaign=campaign,
        name=name,
        rights=rights or [],
        lasts=days * 86400.0,
    )
    return await _page(request, board, person, status=201, made=made)


@router.post("/links/revoke")
async def end_link(board: TheBoard, person: Admin, link: LinkNumber) -> Response:
    """End a link."""
    await links.end(board, person.name, link)
    return RedirectResponse("/people", 303)


async def _page(
    request: Request, board: Board, person: Person, *, status: int = 200, **shown: Any
) -> Response:
    """Return the page: `people` (Invited), `links` (Link), and what a form takes.

    `invited` (Invitation) and `made` (MadeLink) are what was just made, None otherwise.
    """
    context = {"invited": None, "made": None, **shown}
    return page(
        request,
        "people.html",
        person,
        status=status,
        people=await board.read(all_people),
        links=await board.read(all_links),
        campaigns=await board.read(partial(all_campaigns)),
        roles=ROLES,
        rights=RIGHTS,
        here_only=HERE_ONLY if board.is_here_only else None,
        here_only_remedy=HERE_ONLY_REMEDY,
        **context,
    )
