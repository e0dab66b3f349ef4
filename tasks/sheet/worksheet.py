"""The cells of a worksheet, with hidden and merged ones, without its empty cells.

openpyxl itself makes a cell for every place up to the last one of a line, and a line for every
gap: one value at the end of a worksheet is 17 billion places.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Any
from xml.parsers import expat

from openpyxl.cell.read_only import ReadOnlyCell
from openpyxl.worksheet._reader import WorkSheetParser
from openpyxl.xml.constants import SHEET_MAIN_NS

from callsheet.tasks.sheet.table import Findings, Line, Span, is_blank
from callsheet.tasks.sheet.text import MAX_CELLS, MAX_COLUMNS, MAX_LINES, MAX_ROWS

_FORMULA = f"{{{SHEET_MAIN_NS}}}f"


@dataclass(frozen=True, slots=True)
class WorkbookCell:
    """A value, of which type (ECMA-376 part 1, 18.18.11), or a formula that has no result."""

    value: Any
    data_type: str
    number_format: str
    formula: Any = None


#: The cells of a line, by their position from 0; None where there is nothing.
Row = list[WorkbookCell | None]


def rows_of(sheet: Any, findings: Findings) -> Iterator[tuple[int, Row]]:
    """Yield the lines of a read-only worksheet that hold anything, with their numbers from 1.

    Raises SheetError where there are too many lines or columns.
    """
    book = sheet.parent
    formats = _Formats(sheet)
    with sheet._get_source() as source:
        parser = _Parser(
            source,
            sheet._shared_strings,
            data_only=True,
            epoch=book.epoch,
            date_formats=book._date_formats,
            timedelta_formats=book._timedelta_formats,
        )
        before = 0
        for number, cells in parser.parse():
            if number <= before:
                # Out of order, as in no workbook that a spreadsheet saves.
                continue
            before = number
            if number > MAX_LINES:
                findings.give_up(f"has more than {MAX_LINES:,} lines")
            if row := _row(cells, formats, number, findings):
                yield number, row


def _row(cells: list[dict[str, Any]], formats: _Formats, number: int, findings: Findings) -> Row:
    filled = [one for one in cells if _is_filled(one)]
    width = max((one["column"] for one in filled), default=0)
    if width > MAX_COLUMNS * 4:
        findings.give_up(f"uses {width} columns; {MAX_COLUMNS} is the limit", line=number)
    row: Row = [None] * width
    for one in filled:
        row[one["column"] - 1] = WorkbookCell(
            one["value"], one["data_type"], formats[one["style_id"]], one.get("formula")
        )
    return row


def _is_filled(cell: dict[str, Any]) -> bool:
    """Whether there is anything in a cell: many hold a color alone. `str` is an empty result."""
    return cell["value"] is not None or "formula" in cell or cell["data_type"] == "str"


class _Formats(dict[int, str]):
    """How the numbers of each style are shown."""

    def __init__(self, sheet: Any) -> None:
        super().__init__()
        self._sheet = sheet

    def __missing__(self, style: int) -> str:
        cell = ReadOnlyCell(self._sheet, 1, 1, None, style_id=style)
        self[style] = str(cell.number_format)
        return self[style]


class _Parser(WorkSheetParser):
    """Tells of formulas that have no result, next to the results of the others."""

    def parse_cell(self, element: Any) -> dict[str, Any]:
        cell: dict[str, Any] = super().parse_cell(element)
        # A value alone, as in most cells, is one element.
        if len(element) > 1 or (len(element) and cell["value"] is None):
            formula = element.find(_FORMULA)
            if formula is not None:
                self._take(cell, element, formula)
        return cell

    def _take(self, cell: dict[str, Any], element: Any, formula: Any) -> None:
        # A formula whose result is the empty text is saved as text; one never calculated not.
        unsettled = cell["value"] is None and cell["data_type"] != "str"
        # The first of those that share a formula has its text.
        shares = formula.get("t") == "shared" and formula.text is not None
        if unsettled or shares:
            found: Any = self.parse_formula(element)  # type: ignore[no-untyped-call]
            if unsettled:
                cell["formula"] = found


# What a worksheet says of its rows and columns besides their cells: hidden ones, merged ones.
#
# openpyxl tells this only when it holds the whole workbook in memory, in half as much time again.


@dataclass(frozen=True)
class Shape:
    """Lines from 1, columns from 0."""

    hidden_lines: set[int] = field(default_factory=set)
    hidden_columns: set[int] = field(default_factory=set)
    spans: list[Span] = field(default_factory=list)


def read_shape(source: IO[bytes], findings: Findings) -> Shape:
    """Return the shape of a worksheet from its XML (ECMA-376 part 1, 18.3.1).

    Raises SheetError for one with more cells or merged cells than anybody fills, before any is
    built.
    """
    shape = Shape()
    line = cells = 0

    def begin(tag: str, said: Mapping[str, str]) -> None:
        nonlocal line, cells
        match tag.rpartition(":")[2]:
            case "c":
                cells += 1
                if cells > MAX_CELLS:
                    findings.give_up(f"has more than {MAX_CELLS:,} cells; split it")
            case "row":
                line = int(said.get("r", line + 1))
                if _truth(said.get("hidden")):
                    shape.hidden_lines.add(line)
            case "col" if _truth(said.get("hidden")):
                last = min(int(said["max"]), MAX_COLUMNS * 4)
                shape.hidden_columns.update(range(int(said["min"]) - 1, last))
            case "mergeCell":
                shape.spans.append(_span(said["ref"]))
                if len(shape.spans) > MAX_ROWS:
                    findings.give_up(f"has more than {MAX_ROWS:,} merged cells; split it")

    parser = expat.ParserCreate()
    parser.StartElementHandler = begin
    parser.ParseFile(source)
    return shape


def filled_down(lines: Iterable[Line], spans: Iterable[Span]) -> Iterator[Line]:
    """Yield the lines with the text of a merged cell in every line it reaches.

    A line with nothing else in it stays blank: people merge cells to make them taller, too.
    """
    waiting = sorted(spans, reverse=True)
    #: By column what reaches down from above: the merged cell, its text and its fault.
    reaching: dict[int, tuple[Span, str, str | None]] = {}
    for line in lines:
        reaching = {n: one for n, one in reaching.items() if one[0].last_line >= line.number}
        beside: dict[int, Span] = {}
        while waiting and waiting[-1].first_line <= line.number:
            span = waiting.pop()
            n = span.first_column
            text = line.cells[n] if n < len(line.cells) else ""
            if span.first_line != line.number or not text.strip():
                continue
            if span.last_column > n:
                last = min(span.last_column, MAX_COLUMNS * 4)
                beside |= dict.fromkeys(range(n, last + 1), span)
            elif span.last_line > line.number:
                reaching[n] = (span, text, line.faults.get(n))
        below = {n: one for n, one in reaching.items() if one[0].first_line < line.number}
        if beside or (below and not is_blank(line)):
            line = _with(line, below, beside)
        yield line


def _with(
    line: Line, below: Mapping[int, tuple[Span, str, str | None]], beside: Mapping[int, Span]
) -> Line:
    cells = [*line.cells, *[""] * (max([*below, -1]) + 1 - len(line.cells))]
    faults = dict(line.faults)
    for n, (_, text, fault) in below.items():
        cells[n] = text
        if fault:
            faults[n] = fault
    spans = {n: span for n, (span, _, _) in below.items()} | dict(beside)
    return line._replace(cells=tuple(cells), faults=faults, spans=spans)


def _truth(said: str | None) -> bool:
    return said in ("1", "true", "on")


def _span(reference: str) -> Span:
    from openpyxl.utils import range_boundaries

    # A merged range always names its cells: no boundary is missing.
    first_column, first_line, last_column, last_line = (n or 1 for n in range_boundaries(reference))
    return Span(first_line, last_line, first_column - 1, last_column - 1)
