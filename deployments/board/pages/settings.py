"""`/settings`, an admin's page: settings of the ledger, inboxes, notices, the last digest."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from starlette.responses import RedirectResponse, Response

from callsheet.deployments.board.board import Admin, Board, TheBoard
from callsheet.deployments.board.page import page, part
from callsheet.deployments.board.services import inboxes, notices, settings
from callsheet.tasks.ledger.people import Person
from callsheet.tasks.runtime.errors import BadInput, CallsheetError

router = APIRouter(prefix="/settings")


@router.get("")
async def show(
    request: Request,
    board: TheBoard,
    person: Admin,
    saved: str = "",
    name: str = "",
    value: str = "",
) -> Response:
    """Show settings, addresses without what is secret in them, and the last digest.

    The template of `names` has the `value` that someone tries; `saved` was just saved.
    """
    # No other field is filled in by an address, which anybody may have made.
    tried = {name: value} if name == "names" else {}
    return await _page(request, board, person, saved=saved, typed=tried)


@router.post("/set")
async def set_setting(
    request: Request,
    board: TheBoard,
    person: Admin,
    name: Annotated[str, Form()],
    value: Annotated[str, Form()] = "",
) -> Response:
    """Set a setting for everyone who uses the ledger; an empty value is its default."""
    try:
        await settings.change(board, name, value)
    except BadInput as error:
        wrong = {"typed": {name: value}, "mistakes": {name: error}}
        return await _page(request, board, person, status=422, **wrong)
    return RedirectResponse(f"/settings?saved={part(name)}#{part(name)}", 303)


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


@router.post("/inboxes/pause")
async def pause(
    request: Request,
    board: TheBoard,
    person: Admin,
    name: Annotated[str, Form()],
    until: Annotated[str, Form()] = "",
) -> Response:
    """Pause an inbox, or, with a pause already, until another moment."""
    doing = inboxes.pause_inbox(board, name, until)
    return await _steered(request, board, person, name, doing, typed=until)


@router.post("/inboxes/resume")
async def resume(
    request: Request, board: TheBoard, person: Admin, name: Annotated[str, Form()]
) -> Response:
    """End the pause of an inbox, or of all (`*`)."""
    return await _steered(request, board, person, name, inboxes.resume_inbox(board, name))


@router.post("/inboxes/scan")
async def scan(
    request: Request, board: TheBoard, person: Admin, name: Annotated[str, Form()]
) -> Response:
    """Scan an inbox now, within its own limits."""
    return await _steered(request, board, person, name, inboxes.scan_now(board, name))


async def _steered(
    request: Request,
    board: Board,
    person: Person,
    name: str,
    doing: Coroutine[Any, Any, None],
    *,
    typed: str = "",
) -> Response:
    """Do something with an inbox; what cannot be is a sentence next to it."""
    try:
        await doing
    except BadInput as error:
        wrong = {"inbox": name, "inbox_mistake": error, "until": typed}
        return await _page(request, board, person, status=422, **wrong)
    return RedirectResponse("/settings#inboxes", 303)


async def _page(
    request: Request, board: Board, person: Person, *, status: int = 200, **shown: Any
) -> Response:
    context: dict[str, Any] = {
        "added": None, "tested": None, "refused": None, "name": "", "trouble": None,
        "addresses": (), "digests": (), "saved": "", "typed": {}, "mistakes": {}, "example": None,
        "inboxes": (), "inbox": "", "inbox_mistake": None, "until": "",
    }  # fmt: skip
    context |= {"settings": await settings.shown_settings(board), **shown}
    try:
        context["example"] = await settings.example(board, context["typed"].get("names"))
    except BadInput as error:
        context["mistakes"] = {"names": error, **context["mistakes"]}
    try:
        context["addresses"] = await notices.all_addresses(board)
        context["inboxes"] = await inboxes.shown_inboxes(board)
        context["digests"] = await notices.last_digests(board)
    except CallsheetError as error:
        context["trouble"] = error
    return page(request, "settings.html", person, status=status, **context)
