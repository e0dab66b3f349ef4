"""Lines of cells to a table: the header is matched, widths are checked, blanks are dropped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from tasks.sheet.columns import Column, Locate, read_header, where
from tasks.sheet.findings import Findings
from tasks.sheet.headers import is_kept_only, is_ours
from tasks.sheet.limits import MAX_ROWS
from tasks.sheet.table import Cell, Row, Table
from tasks.sheet.text import tidy

_SPREADSHEET_ERRORS = frozenset(
    ("#N/A", "#REF!", "#VALUE!", "#DIV/0!", "#NAME?", "#NUM!", "#NULL!", "#SPILL!", "#CALC!")
)


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a CSV or a spreadsheet; `faults` are what is wrong by column position."""

    number: int
    cells: tuple[str, ...]
    faults: Mapping[int, str] = field(default_factory=dict)


class Grid:
    """Turns the lines of one sheet into a table.

    `exact` means that a line must have as many cells as the header, as in a CSV, where a missing
    one moves all that follow. `locate` names a cell the way a spreadsheet does.
    """

    def __init__(
        self,
        findings: Findings,
        *,
        exact: bool,
        locate: Locate | None = None,
    ) -> None:
        self.findings = findings
        self.exact = exact
        self.locate = locate

    def table(self, lines: Iterable[Line]) -> Table:
        """Return the table; problems are noted, hopeless sheets raise."""
        filled = (line for line in lines if any(map(str.strip, line.cells)))
        header = next(filled, None)
        if header is None:
            self.findings.give_up("has no rows: it is empty")
        columns = read_header(header.cells, header.number, self.findings, self.locate)
        rows = tuple(self._rows(filled, columns))
        kept = tuple(column.header for column in columns if not is_ours(column.name))
        complete = all(column.usable for column in columns)
        return Table(columns=kept, rows=rows, complete=complete)

    def _rows(self, lines: Iterator[Line], columns: tuple[Column, ...]) -> Iterator[Row]:
        width = columns[-1].position + 1
        nameless: set[int] = set()
        for count, line in enumerate(lines, start=1):
            if count > MAX_ROWS:
                self.findings.give_up(f"has more than {MAX_ROWS:,} rows; split it")
            if self._fits(line, width):
                self._refuse_nameless(line, columns, nameless)
                yield self._row(line, columns)

    def _fits(self, line: Line, width: int) -> bool:
        used = len(line.cells)
        while used > width and not line.cells[used - 1].strip():
            used -= 1
        if used <= width and not (self.exact and used < width):
            return True
        curly = any(mark in cell for cell in line.cells for mark in "“”„")
        hint = (
            'curly quotes do not hold a cell together, straight ones (") do'
            if curly
            else 'put a cell that has the delimiter in it between quotes (")'
            if used > width
            else "a delimiter is missing"
        )
        self.findings.refuse(f"has {used} cells, the header has {width}: {hint}", line=line.number)
        return False

    def _refuse_nameless(self, line: Line, columns: tuple[Column, ...], seen: set[int]) -> None:
        named = {column.position for column in columns}
        for position, cell in enumerate(line.cells):
            if position not in named and position not in seen and cell.strip():
                seen.add(position)
                place = self._where(f"column {position + 1}", line.number, position)
                message = "stands in a column without a header"
                self.findings.refuse(message, line=line.number, cell=place, value=cell.strip())

    def _row(self, line: Line, columns: tuple[Column, ...]) -> Row:
        cells: dict[str, Cell] = {}
        texts: list[tuple[str, str]] = []
        for column in columns:
            if is_ours(column.name):
                continue
            text, fault = self._text(line, column)
            texts.append((column.header, text))
            place = self._where(column.header, line.number, column.position)
            if fault:
                self.findings.refuse(fault, line=line.number, cell=place, value=text)
            if (text or fault) and column.usable and not is_kept_only(column.name):
                cells[column.name] = Cell(
                    column=column.name,
                    value=text,
                    line=line.number,
                    where=place,
                    faulty=bool(fault),
                )
        return Row(line=line.number, cells=cells, texts=tuple(texts))

    def _text(self, line: Line, column: Column) -> tuple[str, str | None]:
        """Return a cell's text and what is wrong with it."""
        raw = line.cells[column.position] if column.position < len(line.cells) else ""
        try:
            text = tidy(raw)
        except ValueError as fault:
            return raw, str(fault)
        if is_kept_only(column.name):
            return text, None
        if text in _SPREADSHEET_ERRORS:
            return text, "is an error of the spreadsheet, not a value"
        return text, line.faults.get(column.position)

    def _where(self, name: str, line: int, position: int) -> str:
        return where(name, line, position, self.locate)
