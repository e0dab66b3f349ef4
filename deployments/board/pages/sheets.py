"""`/new`: a sheet is uploaded and looked at; one without mistakes goes on to its plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from callsheet.deployments.board.board import Board, Reviewer, TheBoard
from callsheet.deployments.board.page import page, part
from callsheet.deployments.board.pages.plans import amount_in
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.services import sheets
from callsheet.deployments.board.services.all_rows import ForAllRowsForm, read_form
from callsheet.deployments.board.services.corrections import Corrections
from callsheet.deployments.board.services.plans import plan_of_sheet
from callsheet.deployments.board.services.sheet_view import SheetView, columns_key
from callsheet.deployments.board.services.sheets import (
    hand_in,
    hand_in_address,
    hand_in_from_inbox,
    inbox_sheets,
    see_sheet,
)
from callsheet.deployments.board.uploads import UploadForm, upload_in
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.ledger.people import Person
from callsheet.tasks.runtime.errors import BadInput, Problem, SheetError
from callsheet.tasks.sheet.column_names import parse_map
from callsheet.tasks.sheet.correct import CellRefused

router = APIRouter()

#: A sheet of text up to so many characters may be fixed on the page.
EDITABLE = 100_000


@router.get("/new")
async def new(
    request: Request, board: TheBoard, person: Reviewer, sheet: str = "", worksheet: str = ""
) -> Response:
    """Show the form, and where `sheet` names one what was found in it."""
    form = _filled({"worksheet": worksheet})
    seen = await see_sheet(board, sheet, _options(form, reading=True)) if sheet else None
    return await _show(request, board, person, seen, form, status=200)


@router.post("/new")
async def check(request: Request, board: TheBoard, person: Reviewer) -> Response:
    """Look at a sheet: its mistakes, or its plan."""
    sent = await upload_in(request)
    form = _filled(sent.texts)
    try:
        seen, text = await _uploaded(board, sent, form)
    except (SheetError, BadInput, ProblemDetails) as error:
        # Nothing came of it to look at: a file that is none, an address that does not answer.
        return await _show(request, board, person, None, form, refused=_refusal(error))
    form["text"] = text if text is not None and len(text) <= EDITABLE else ""
    form["name"] = seen.kept.name
    return await _plan(request, board, person, seen, form)


async def _show(
    request: Request,
    board: Board,
    person: Person,
    seen: SheetView | None,
    form: Mapping[str, str],
    *,
    status: int = 422,
    choice: ForAllRowsForm | None = None,
    **shown: Any,
) -> Response:
    """Show the page with what is in a sheet, and what a person has filled in."""
    if choice is None and seen is not None:
        choice = await read_form(board, seen, {})
    inbox = [one.name for one in await inbox_sheets(board)]
    none: dict[str, Any] = {"refused": None, "wrong": None, "typed": {}}
    none |= {"unseen": False, "corrected": False, "uncounted": False}
    shown = {**none, "seen": seen, "form": form, "choice": choice, "inbox": inbox, **shown}
    return page(request, "new.html", person, status=status, **shown)


async def _plan(
    request: Request, board: Board, person: Person, seen: SheetView, form: dict[str, str]
) -> Response:
    """Lead to the plan of a sheet, or show what has to be settled first."""
    if seen.problems or (seen.hidden and not form["hidden_rows"]):
        return await _show(request, board, person, seen, form)
    try:
        plan = await plan_of_sheet(board, seen.kept.id, _options(form))
    except (SheetError, BadInput, ProblemDetails) as error:
        return await _show(request, board, person, seen, form, refused=_refusal(error))
    return RedirectResponse(f"/plans/{plan}", 303)


@router.post("/new/{sheet_id}/columns")
async def map_columns(
    request: Request, board: TheBoard, person: Reviewer, sheet_id: str
) -> Response:
    """Remember what the headers of a sheet mean, and go on to its plan or what is left to fix.

    Columns whose first rows were not shown are shown first.
    """
    sent = await upload_in(request)
    form = _filled(sent.texts)
    options = _options(form, reading=True)
    try:
        words = _chosen(sent)
        if columns_key(parse_map(words)) != sent.texts.get("shown"):
            seen = await sheets.try_columns(board, sheet_id, words, options)
            return await _show(request, board, person, seen, form, unseen=True)
        seen = await sheets.map_columns(board, sheet_id, words, options)
    except (SheetError, BadInput) as error:
        seen = await see_sheet(board, sheet_id, options)
        return await _show(request, board, person, seen, form, refused=_refusal(error))
    return await _plan(request, board, person, seen, form)


@router.post("/new/{sheet_id}/first-rows")
async def first_rows(
    request: Request, board: TheBoard, person: Reviewer, sheet_id: str
) -> Response:
    """Show what would be made of the first rows with the columns that are chosen in the form."""
    sent = await upload_in(request)
    options = _options(_filled(sent.texts), reading=True)
    try:
        seen = await sheets.try_columns(board, sheet_id, _chosen(sent), options)
    except (SheetError, BadInput) as error:
        seen = await see_sheet(board, sheet_id, options)
        return page(request, "_first_rows.html", person, seen=seen, fault=_refusal(error))
    return page(request, "_first_rows.html", person, seen=seen)


def _chosen(sent: UploadForm) -> list[str]:
    """Return what headers mean by a form: chosen from its lists, or typed next to them."""
    words = []
    for word in filter(None, sent.map):
        header, _, column = word.rpartition("=")
        column = column or sent.texts.get(f"typed {header}", "").strip()
        if not column:
            raise BadInput(f'type which column "{header}" is', remedy="such as title.it or x_brand")
        words.append(f"{header}={column}")
    return words


@router.post("/new/{sheet_id}/cells")
async def correct_cells(
    request: Request, board: TheBoard, person: Reviewer, sheet_id: str
) -> Response:
    """Correct cells of an uploaded sheet, and show what is left to fix in the corrected copy."""
    sent = await upload_in(request)
    form = _filled(sent.texts)
    said = Corrections(
        cells=_numbered(sent.texts, "cell-"),
        same=_numbered(sent.texts, "same-"),
        all=_numbered(sent.texts, "all-"),
    )
    options = _options(form, reading=True)
    show = partial(_show, request, board, person)
    try:
        seen = await sheets.correct_cells(board, sheet_id, said, options)
    except (SheetError, BadInput) as error:
        seen = await see_sheet(board, sheet_id, options)
        wrong = seen.problems.index(error.problem) if isinstance(error, CellRefused) else None
        return await show(seen, form, refused=_refusal(error), typed=sent.texts, wrong=wrong)
    return await show(seen, form, corrected=True, status=422 if seen.problems else 200)


@router.post("/new/{sheet_id}/all-rows")
async def set_for_all_rows(
    request: Request, board: TheBoard, person: Reviewer, sheet_id: str
) -> Response:
    """Write languages, shapes and a tool into all rows of a copy of a sheet.

    A choice whose number of videos was not shown is shown first.
    """
    sent = await upload_in(request)
    form = _filled(sent.texts)
    options = _options(form, reading=True)
    seen = await see_sheet(board, sheet_id, options)
    choice = await read_form(board, seen, sent.texts, sent=True)
    show = partial(_show, request, board, person)
    if choice is None:
        raise ProblemDetails(422, "this sheet is edited as text", title="There is no copy of it")
    if choice.faults or choice.key != sent.texts.get("chosen"):
        return await show(seen, form, choice=choice, uncounted=not choice.faults)
    try:
        seen = await sheets.set_columns(board, seen, choice.asked.columns, options)
    except (SheetError, BadInput) as error:
        return await show(seen, form, choice=choice, refused=_refusal(error))
    return await show(seen, form, corrected=True, status=422 if seen.problems else 200)


@router.post("/new/{sheet_id}/all-rows/shown")
async def show_for_all_rows(
    request: Request, board: TheBoard, person: Reviewer, sheet_id: str
) -> Response:
    """Show how many videos the choices of the form make, and the fields of its tool."""
    sent = await upload_in(request)
    seen = await see_sheet(board, sheet_id, _options(_filled(sent.texts), reading=True))
    choice = await read_form(board, seen, sent.texts)
    return page(request, "_all_rows.html", person, seen=seen, choice=choice)


def _numbered(texts: Mapping[str, str], prefix: str) -> dict[int, str]:
    """Return the texts of fields that are numbered, by their numbers."""
    found = ((n.removeprefix(prefix), text) for n, text in texts.items() if n.startswith(prefix))
    # No sheet has a billion problems, and Python refuses numbers of thousands of digits.
    return {int(n): text for n, text in found if n.isdecimal() and len(n) < 10}


@router.get("/new/{sheet_id}/file")
async def sheet_file(board: TheBoard, person: Reviewer, sheet_id: str) -> Response:
    """Return an uploaded sheet, or its corrected copy, as a file."""
    name, content = await sheets.sheet_file(board, sheet_id)
    named = f"attachment; filename*=UTF-8''{part(name)}"
    return Response(content, 200, {"Content-Disposition": named}, "application/octet-stream")


#: The terms that the form asks for, each a member of `RunOptions`; of some, what may be chosen.
TERMS: Mapping[str, Sequence[str]] = {
    "campaign": (), "budget": (), "select": (), "first": (), "worksheet": (), "waves": (),
    "retry_failed": (), "canary": ("yes",), "edits": ("retake",), "adopt": ("yes",),
    "hidden_rows": ("skip", "read"), "yes_many": ("yes",),
}  # fmt: skip
#: Those that a sheet is read with, before anything is asked for.
READING = ("campaign", "worksheet", "yes_many")


def _filled(fields: Mapping[str, str]) -> dict[str, str]:
    """Return what stands in the form, as text; nothing for a choice that there is not."""
    found = {name: fields.get(name, "").strip() for name in ("name", "text", "url", *TERMS)}
    wrong = [name for name, known in TERMS.items() if known and found[name] not in known]
    return {**found, **dict.fromkeys(wrong, "")}


def _options(form: Mapping[str, str], *, reading: bool = False) -> RunOptions:
    """Return what a form asks for, or only what a sheet is read with.

    Raises BadInput for an amount or a number that is none.
    """
    terms = {name: form[name] for name in (READING if reading else TERMS) if form[name]}
    return RunOptions.of(terms if reading else {**terms, "budget": amount_in(form["budget"])})


async def _uploaded(
    board: Board, sent: UploadForm, form: dict[str, str]
) -> tuple[SheetView, str | None]:
    """Return the sheet that was uploaded, and its text where it is one."""
    options = _options(form, reading=True)
    if sent.name is not None and sent.content is not None:
        keep = partial(hand_in, board, name=sent.name, content=sent.content)
        return await keep(options=options), _text(sent.content)
    if form["url"]:
        return await hand_in_address(board, form["url"], options), None
    if lying := sent.texts.get("inbox"):
        return await hand_in_from_inbox(board, lying, options), None
    if text := form["text"]:
        name = form["name"] or _named(text, board.clock())
        content = text.encode("utf-8", "surrogatepass")
        return await hand_in(board, name=name, content=content, options=options), text
    if kept := sent.texts.get("kept"):
        return await see_sheet(board, kept, options), None
    raise ProblemDetails(422, "no file was chosen, and nothing pasted", title="There is no sheet")


def _named(text: str, at: float) -> str:
    """Return what pasted rows are called: of another minute they are another campaign."""
    first = text.lstrip()[:1]
    line = text.strip().partition("\n")[0]
    by_line = "tsv" if "\t" in line else "csv" if "," in line or ";" in line else "yaml"
    suffix = "json" if first in ("{", "[") else by_line
    return f"pasted-{datetime.fromtimestamp(at, UTC):%Y-%m-%d-%H%M}.{suffix}"


def _text(content: bytes) -> str | None:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    return None if "\x00" in text else text


def _refusal(error: Exception) -> ProblemDetails:
    if isinstance(error, ProblemDetails):
        if error.status in (401, 403):
            raise error
        return error
    problems: tuple[Problem, ...] = getattr(error, "problems", ())
    words = "; ".join(map(str, problems)) or str(error)
    return ProblemDetails(422, words, remedy=getattr(error, "remedy", None))
