"""`/sheets`: a sheet is uploaded, as a file, as text, or by its published address."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from callsheet.deployments.board.board import Reviewer, TheBoard
from callsheet.deployments.board.places import Place
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.services.sheet_view import SheetView
from callsheet.deployments.board.services.sheets import (
    hand_in,
    hand_in_address,
    hand_in_from_inbox,
    inbox_sheets,
    map_columns,
    see_sheet,
)
from callsheet.deployments.board.uploads import body_in, upload_in
from callsheet.tasks.sheet.column_names import parse_map
from callsheet.tasks.sheet.text import MAX_BYTES, MAX_COLUMNS
from callsheet.tasks.values.answers import Moment

router = APIRouter(prefix="/sheets", tags=["sheets"])

SheetId = Annotated[str, Path(max_length=64)]
HeaderColumn = Annotated[str, Field(min_length=3, max_length=1000)]


class SheetText(BaseModel):
    """A sheet as text, by its address, or by its name in the inbox.

    `map` says what its headers mean, each as `Headline=title`: it is remembered for all sheets with
    the same headers.
    """

    model_config = ConfigDict(extra="forbid")

    name: str | None = Field(default=None, min_length=1, max_length=300)
    text: str | None = Field(default=None, max_length=MAX_BYTES)
    url: str | None = Field(default=None, min_length=1, max_length=4000)
    inbox: str | None = Field(default=None, min_length=1, max_length=1000)
    map: list[HeaderColumn] = Field(default=[], max_length=MAX_COLUMNS)


class ColumnOut(BaseModel):
    """A header of the sheet, and in how many rows it has a value.

    `column` is null where the header is not known; `proposed` is then what it may mean.
    """

    header: str
    column: str | None
    proposed: str | None
    filled: int


class SheetProblem(BaseModel):
    """One problem of a sheet, and where it is."""

    line: int | None
    column: str | None
    words: str
    row: str | None = None
    cell: str | None = None


class SheetOut(BaseModel):
    """A sheet that was uploaded; nothing is written of its campaign yet."""

    sheet: str
    name: str
    campaign: str | None
    rows: int
    columns: list[ColumnOut]
    problems: list[SheetProblem]
    advice: list[str]
    notes: list[str]
    actions: dict[str, int] | None
    refusal: Place | None
    hidden: list[str]


class InboxSheet(BaseModel):
    """A sheet that lies in the inbox."""

    name: str
    bytes: int
    modified_at: Moment


_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "properties": {
                        "file": {"type": "string", "format": "binary"},
                        "map": {"type": "array", "items": {"type": "string"}},
                    },
                }
            },
            "application/json": {"schema": SheetText.model_json_schema()},
        },
    }
}


@router.post("", status_code=201, response_model=SheetOut, openapi_extra=_BODY)
async def upload_sheet(request: Request, board: TheBoard, person: Reviewer) -> dict[str, Any]:
    """Upload a sheet; the answer has every problem with its line and column. Spends nothing."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "multipart/form-data":
        upload = await upload_in(request)
        if upload.content is None or upload.name is None:
            raise ProblemDetails(422, "no file came along", remedy='send it as the field "file"')
        mapped = upload.map
        parse_map(mapped)
        found = await hand_in(board, name=upload.name, content=upload.content)
    elif kind in ("application/json", ""):
        said = _said(await body_in(request))
        mapped = tuple(said.map)
        parse_map(mapped)
        found = await _from_text(board, said)
    else:
        raise ProblemDetails(415, "send multipart/form-data or application/json")
    if mapped:
        found = await map_columns(board, found.kept.id, mapped)
    return found.as_json()


@router.get("/inbox", response_model=list[InboxSheet])
async def list_inbox(board: TheBoard, person: Reviewer) -> Any:
    """List the sheets in the inbox, if the settings name one."""
    return await inbox_sheets(board)


@router.get("/{sheet}", response_model=SheetOut)
async def get_sheet(sheet: SheetId, board: TheBoard, person: Reviewer) -> dict[str, Any]:
    """Return an uploaded sheet, compared with the ledger as it is now."""
    return (await see_sheet(board, sheet)).as_json()


async def _from_text(board: TheBoard, said: SheetText) -> SheetView:
    if said.url is not None:
        return await hand_in_address(board, said.url)
    if said.inbox is not None:
        return await hand_in_from_inbox(board, said.inbox)
    if said.text is None:
        raise ProblemDetails(422, 'say "text" (and "name"), "url" or "inbox"')
    content = said.text.encode("utf-8", "surrogatepass")
    return await hand_in(board, name=said.name or "pasted", content=content)


def _said(body: bytes) -> SheetText:
    try:
        return SheetText.model_validate_json(body or b"{}")
    except ValidationError as error:
        problems = [
            {"line": None, "column": ".".join(map(str, one["loc"])) or None, "words": one["msg"]}
            for one in error.errors(include_input=False, include_url=False)
        ]
        raise ProblemDetails(
            422, "the request is not what this takes", problems=problems
        ) from error
