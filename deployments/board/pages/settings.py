"""`/settings`: where notices go, a test of each address, and the last digest; an admin's page."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from starlette.responses import RedirectResponse, Response

from callsheet.deployments.board.board import Admin, Board, TheBoard
from callsheet.deployments.board.page import page
from callsheet.deployments.board.services import notices
from callsheet.tasks.ledger.people import Person
from callsheet.tasks.runtime.errors import BadInput, CallsheetError

router = APIRouter(prefix="/settings")


@router.get("")
async def show(request: Request, board: TheBoard, person: Admin) -> Response:
    """Show the addresses, without what is secret in them, and the last digest."""
    return await _page(request, board, person)


@router.post("/notices")
async def add(
    request: Request,
    board: TheBoard,
    person: Admin,
    name: Annotated[str, Form()],
    address: Annotated[str, Form()],
) -> Response:
    """Store an address; the answer never shows it."""
    try:
        added = await notices.add(board, name=name, pasted=address)
    except BadInput as error:
        return await _page(request, board, person, status=422, refused=error, name=name)
    return await _page(request, board, person, status=201, added=added)


@router.post("/notices/test")
async def test(
    request: Request, board: TheBoard, person: Admin, name: Annotated[str, Form()]
) -> Response:
    """Send a sample digest to one address, and show whether it arrived."""
    return await _page(request, board, person, tested=await notices.send_test(board, name))


@router.post("/notices/remove")
async def remove(board: TheBoard, person: Admin, name: Annotated[str, Form()]) -> Response:
    """Delete an address."""
    await notices.remove(board, name)
    return RedirectResponse("/settings", 303)


async def _page(
    request: Request, board: Board, person: Person, *, status: int = 200, **shown: Any
) -> Response:
    context: dict[str, Any] = {
        "added": None, "tested": None, "refused": None, "name": "", "trouble": None,
        "addresses": (), "digests": (),
    }  # fmt: skip
    try:
        context["addresses"] = await notices.all_addresses(board)
        context["digests"] = await notices.last_digests(board)
    except CallsheetError as error:
        context["trouble"] = error
    return page(request, "settings.html", person, status=status, **(context | shown))
