"""The cells of a worksheet as openpyxl parses them, without those that hold nothing.

openpyxl itself makes a cell for every place up to the last one of a line, and a line for every gap:
one value at the end of a worksheet is 17 billion places.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from openpyxl.cell.read_only import ReadOnlyCell
from openpyxl.worksheet._reader import WorkSheetParser
from openpyxl.xml.constants import SHEET_MAIN_NS

from callsheet.tasks.sheet.findings import Findings
from callsheet.tasks.sheet.limits import MAX_COLUMNS, MAX_LINES

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
    """Tells of formulas that have no result, beside the results of the others."""

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
