"""`/new`: a sheet is handed in and looked at; one without mistakes goes on to its plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from callsheet.deployments.board.acts.plans import plan_of_sheet
from callsheet.deployments.board.acts.sheets import (
    SheetView,
    hand_in,
    hand_in_address,
    hand_in_from_inbox,
    inbox_sheets,
    see_sheet,
)
from callsheet.deployments.board.board import Board, TheBoard
from callsheet.deployments.board.page import page
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.upload import HandedForm, upload_in
from callsheet.deployments.board.who import Person, Reviewer
from callsheet.tasks.campaign.board_plan import PlanTerms
from callsheet.tasks.credits import parse_credits
from callsheet.tasks.errors import BadInput, Problem, SheetError

router = APIRouter()

#: A sheet of text up to so many characters may be mended on the page.
MENDABLE = 100_000


@router.get("/new")
async def new(
    request: Request, board: TheBoard, person: Reviewer, sheet: str | None = None
) -> Response:
    """Show the form, and where `sheet` names one what was found in it."""
    seen = None if sheet is None else await see_sheet(board, person, sheet)
    inbox = await _inbox(board, person)
    return page(request, "new.html", person, seen=seen, form=_Filled(), inbox=inbox)


@router.post("/new")
async def check(request: Request, board: TheBoard, person: Reviewer) -> Response:
    """Look at a sheet: its mistakes, or its plan."""
    handed = await upload_in(request)
    form = _Filled.of(handed.texts)
    show = partial(page, request, "new.html", person, status=422, inbox=await _inbox(board, person))
    try:
        seen, text = await _handed_in(board, person, handed, form)
    except (SheetError, BadInput, ProblemDetails) as error:
        # Nothing came of it to look at: a file that is none, an address that does not answer.
        return show(seen=None, form=form, refused=_refused(error))
    form.text = text if text is not None and len(text) <= MENDABLE else ""
    form.name = seen.kept.name
    if seen.problems or (seen.hidden and form.hidden_rows is None):
        return show(seen=seen, form=form)
    try:
        plan = await plan_of_sheet(board, person, seen.kept.id, form.terms())
    except (SheetError, BadInput, ProblemDetails) as error:
        return show(seen=seen, form=form, refused=_refused(error))
    return RedirectResponse(f"/plans/{plan}", 303)


@dataclass
class _Filled:
    """What stands in the form, as text."""

    name: str = ""
    text: str = ""
    url: str = ""
    campaign: str = ""
    budget: str = ""
    select: str = ""
    hidden_rows: Any = None

    @classmethod
    def of(cls, fields: Mapping[str, str]) -> _Filled:
        found = cls()
        for name in ("name", "text", "url", "campaign", "budget", "select"):
            setattr(found, name, fields.get(name, "").strip())
        if fields.get("hidden_rows") in ("skip", "read"):
            found.hidden_rows = fields.get("hidden_rows")
        return found

    def terms(self) -> PlanTerms:
        """Return what is asked for; raise BadInput for a budget that is no amount."""
        budget = parse_credits(self.budget) if self.budget else None
        if self.budget and budget is None:
            raise BadInput(f'"{self.budget[:40]}" is no amount of credits', remedy="write 120")
        return PlanTerms(
            campaign=self.campaign or None,
            select=self.select or None,
            budget=budget,
            hidden_rows=self.hidden_rows,
        )


async def _handed_in(
    board: Board, person: Person, handed: HandedForm, form: _Filled
) -> tuple[SheetView, str | None]:
    """Return the sheet that was handed in, and its text where it is one."""
    if handed.name is not None and handed.content is not None:
        seen = await hand_in(board, person, name=handed.name, content=handed.content)
        return seen, _text(handed.content)
    if form.url:
        return await hand_in_address(board, person, form.url), None
    if lying := handed.texts.get("inbox"):
        return await hand_in_from_inbox(board, person, lying), None
    if form.text:
        name = form.name or _named(form.text, board.clock())
        content = form.text.encode("utf-8", "surrogatepass")
        return await hand_in(board, person, name=name, content=content), form.text
    if kept := handed.texts.get("kept"):
        return await see_sheet(board, person, kept), None
    raise ProblemDetails(422, "no file was chosen, and nothing pasted", title="There is no sheet")


async def _inbox(board: Board, person: Person) -> Sequence[str]:
    return [one.name for one in await inbox_sheets(board, person)]


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


def _refused(error: Exception) -> ProblemDetails:
    if isinstance(error, ProblemDetails):
        if error.status in (401, 403):
            raise error
        return error
    problems: tuple[Problem, ...] = getattr(error, "problems", ())
    words = "; ".join(map(str, problems)) or str(error)
    return ProblemDetails(422, words, remedy=getattr(error, "remedy", None))
