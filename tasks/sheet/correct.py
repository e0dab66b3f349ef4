"""Corrects single cells of a sheet, or sets a column of all rows, in a copy that is delimited text.

All other cells stay as they are; of a workbook the rows that it shows become a CSV. The copy is in
UTF-8, and what a spreadsheet would run as a formula gets a quote mark in front.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import PurePath
from types import MappingProxyType
from typing import Literal, get_args, get_origin

from callsheet.tasks.runtime.errors import BadInput, Problem
from callsheet.tasks.runtime.spreadsheets import guarded, is_formula
from callsheet.tasks.sheet.columns import ANY_ROW
from callsheet.tasks.sheet.formats import SUFFIXES, decoded
from callsheet.tasks.sheet.grid import body_of, delimited_lines
from callsheet.tasks.sheet.header_lines import SEARCHED, Column, pick_header, read_header
from callsheet.tasks.sheet.synonyms import Names
from callsheet.tasks.sheet.table import Findings, Line, is_blank
from callsheet.tasks.sheet.text import LANGUAGE_CODES, language_name, tidy

#: A cell as a problem of a workbook names it: `aspect_ratio ('My sheet'!D14)`.
_PLACE = re.compile(r"\((?:'(?P<quoted>.+)'|(?P<plain>\w+))!(?P<ref>[A-Z]{1,3}[0-9]+)\)$")
#: What a header's cell is called where its column is not known.
_HEADER = "column"
#: Characters of a cell at most, as in Excel.
LONGEST = 32_767
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")


class CellRefused(BadInput):
    """A new text of a cell, or none where there has to be one, is refused: nothing was changed."""

    def __init__(self, problem: Problem, message: str, *, remedy: str) -> None:
        super().__init__(message, remedy=remedy)
        self.problem = problem


def has_copy(name: str) -> bool:
    """Whether there can be a corrected copy of a sheet of this name: YAML and JSON have none."""
    return SUFFIXES.get(PurePath(name).suffix.lower()) in ("workbook", "delimited")


def is_correctable(problem: Problem) -> bool:
    """Whether a problem is about one cell whose text can be replaced."""
    kind = SUFFIXES.get(PurePath(problem.file).suffix.lower())
    if kind == "workbook":
        return problem.cell is not None and _PLACE.search(problem.cell) is not None
    header = problem.cell == _HEADER and problem.value is not None
    return kind == "delimited" and problem.line is not None and bool(problem.column or header)


#: Columns in which no two rows have the same text.
UNIQUE = ("id", "was", "video_id")


def is_shared(column: str | None) -> bool:
    """Whether many rows may have one text in a column: a title is each row's own, a shape is not.

    Also `matrix.aspect_ratio` is a column of shapes.
    """
    known = ANY_ROW.get((column or "").removeprefix("matrix."))
    return known is not None and not known.free


def choices_of(column: str | None) -> tuple[str, ...]:
    """Return the texts that a column takes, where these are few, or the names of languages."""
    if column == "language":
        return tuple(sorted(map(language_name, LANGUAGE_CODES)))
    known = ANY_ROW.get(column or "")
    holds = known.holds if known else None
    return tuple(map(str, get_args(holds))) if get_origin(holds) is Literal else ()


def name_of_copy(name: str) -> str:
    """Return what the corrected copy of a sheet is called."""
    path = PurePath(name)
    is_workbook = SUFFIXES.get(path.suffix.lower()) == "workbook"
    return str(path.with_suffix(".csv")) if is_workbook else name


def correct(
    content: bytes,
    corrections: Sequence[tuple[Problem, str]],
    mapped: Mapping[str, str] = MappingProxyType({}),
    *,
    left: Sequence[Problem] = (),
) -> bytes:
    """Return a sheet with new texts in the cells of problems; raise BadInput if one cannot be.

    `mapped` is header -> column, as a person confirmed it; `left` are the sheet's other problems.
    What is refused of one cell is a CellRefused.
    """
    for problem, text in corrections:
        if fault := text_fault(text):
            raise CellRefused(problem, fault, remedy="shorten the text, or correct the file")
    if content.startswith(b"PK"):
        texts = {_place(problem): new for problem, new in corrections}
        corrected = _written(_shown_lines(content, texts, left), texts)
    else:
        text = decoded(content, Findings(""))
        corrected = _correct_text(text, corrections, Names(mapped))
    return corrected.encode("utf-8-sig")


def text_fault(text: str) -> str | None:
    """Return why no cell can have a text, or None."""
    if len(text) <= LONGEST and not _ILLEGAL.search(text):
        return None
    return f"a cell can have {LONGEST:,} characters, and no control characters"


def with_columns(
    content: bytes,
    columns: Mapping[str, str],
    mapped: Mapping[str, str] = MappingProxyType({}),
    *,
    worksheet: str | None = None,
    left: Sequence[Problem] = (),
) -> bytes:
    """Return the header and the rows of a sheet, with one text in each of these columns.

    A column that the sheet has not is added, and one with several values takes the place of the
    plain one: `matrix.language` of `language`. `mapped` and `left` are as in `correct`, `worksheet`
    is the one to read of a workbook. Raises CellRefused for a problem that no CSV shows.
    """
    names, before, delimiter = Names(mapped), "", ","
    if content.startswith(b"PK"):
        from callsheet.tasks.sheet.workbook import visible_lines

        lines = visible_lines(content, worksheet, names)
        _refuse_lost(lines, left)
    else:
        try:
            before, delimiter, lines = delimited_lines(decoded(content, Findings("")), names)
        except csv.Error:
            raise BadInput("this file cannot be read to its end", remedy="fix it first") from None
    header, found, rows = _table(lines, names)
    width = max(len(line.cells) for line in (header, *rows))
    texts: dict[_Place, str] = {}
    for column, text in columns.items():
        same = (column, column.removeprefix("matrix."), f"matrix.{column}")
        positions = [one.position for one in found if one.name in same]
        if not positions:
            positions, width = [width], width + 1
        for n, position in enumerate(positions):
            # Of a column that is there as an axis, too, one is left.
            texts["", header.number, position] = "" if n else column
            texts |= {("", line.number, position): "" if n else text for line in rows}
    lines = [_widened(line, width) for line in (header, *rows)]
    return (before + _written(lines, texts, delimiter)).encode("utf-8-sig")


#: A cell of a table: the worksheet, if it is in one, the line from 1, and the position from 0.
_Place = tuple[str, int, int]


def _written(lines: Sequence[Line], texts: Mapping[_Place, str], delimiter: str = ",") -> str:
    """Return lines as delimited text, with these texts in their cells."""
    corrected = {(line, position): new for (_, line, position), new in texts.items()}
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\r\n")
    for line in lines:
        writer.writerow(
            _safe(corrected.get((line.number, n), text)) for n, text in enumerate(line.cells)
        )
    return out.getvalue()


def _safe(text: str) -> str:
    """Return a cell that reads the same in a CSV, and that no spreadsheet runs."""
    with suppress(ValueError):
        text = tidy(text)
    return guarded(text) if is_formula(text) else text


def _widened(line: Line, width: int) -> Line:
    return line._replace(cells=(*line.cells, *[""] * (width - len(line.cells))))


# Delimited text, in which a problem names the column of its cell.


def _correct_text(text: str, corrections: Sequence[tuple[Problem, str]], names: Names) -> str:
    try:
        before, delimiter, lines = delimited_lines(text, names)
    except csv.Error:
        raise _elsewhere(corrections[0][0]) from None
    at = {line.number: n for n, line in enumerate(lines)}
    _, columns, _ = _table(lines, names)
    texts: dict[_Place, str] = {}
    for problem, new in corrections:
        n = at.get(problem.line or 0)
        position = None if n is None else _position(problem, columns, lines[n].cells)
        if n is None or position is None:
            raise _elsewhere(problem)
        # The text of a page has the line ends of the web.
        texts["", lines[n].number, position] = new.replace("\r\n", "\n")
        lines[n] = _widened(lines[n], position + 1)
    return before + _written(lines, texts, delimiter)


def _table(lines: Sequence[Line], names: Names) -> tuple[Line, Sequence[Column], list[Line]]:
    """Return the header, its columns and the lines that are rows."""
    findings = Findings("", names)
    filled = [line for line in lines if not is_blank(line)]
    named = [line._replace(cells=names.of_line(line.cells)) for line in filled[:SEARCHED]]
    at = pick_header(named, findings, "line")
    columns = read_header(named[at], findings, lambda name, _line, _position: name)
    rows = body_of(filled[at + 1 :], filled[at], findings, "line")
    return filled[at], columns, rows


def _position(problem: Problem, columns: Sequence[Column], cells: Sequence[str]) -> int | None:
    if problem.column is None:
        named = [cell.strip() for cell in cells]
        return named.index(problem.value) if problem.value in named else None
    fits = (one for one in columns if problem.column in (one.name, one.header))
    return next((one.position for one in fits), None)


def _elsewhere(problem: Problem) -> CellRefused:
    return CellRefused(
        problem,
        f"line {problem.line} cannot be corrected here",
        remedy="correct the file and upload it again",
    )


# Workbooks, of which a problem names the cell; formulas are their results.


def _shown_lines(
    content: bytes, texts: Mapping[_Place, str], left: Sequence[Problem]
) -> Sequence[Line]:
    """Return the lines that the worksheet of these cells shows, all of them of one width."""
    from callsheet.tasks.sheet.workbook import visible_lines

    title, *others = {title for title, _, _ in texts}
    if others:
        raise BadInput(
            f"cells of {title} and {others[0]} cannot be corrected together",
            remedy="correct the file and upload it again",
        )
    lines = visible_lines(content, title)
    _refuse_lost(lines, left)
    width = max(*(len(line.cells) for line in lines), *(position + 1 for _, _, position in texts))
    return [_widened(line, width) for line in lines]


def _place(problem: Problem) -> _Place:
    """Return the worksheet of a problem's cell, its line from 1 and its position from 0."""
    from openpyxl.utils.cell import coordinate_to_tuple

    found = _PLACE.search(problem.cell or "")
    if found is None:
        raise _elsewhere(problem)
    line, column = coordinate_to_tuple(found["ref"])
    return found["quoted"] or found["plain"], line, column - 1


def _refuse_lost(lines: Sequence[Line], left: Iterable[Problem]) -> None:
    """Refuse to leave a problem that no CSV shows: an unwanted date, merged columns."""
    known = {line.number: line for line in lines}
    for problem in left:
        line = known.get(problem.line or 0)
        if line is None or problem.cell is None:
            continue
        odd = {*line.faults, *line.dates}
        is_odd = _PLACE.search(problem.cell) is not None and _place(problem)[2] in odd
        if is_odd or problem.cell in map(str, line.spans.values()):
            raise CellRefused(
                problem,
                f"{problem.cell} {problem.message}; a CSV copy would not show it",
                remedy="correct this cell as well, or correct the workbook and upload it again",
            )
