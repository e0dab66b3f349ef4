"""Lines of cells to a table: the header is matched, widths are checked, blanks are dropped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import NoReturn

from tasks.errors import shorten
from tasks.sheet.findings import Findings
from tasks.sheet.header_line import SEARCHED, find_header
from tasks.sheet.headers import canonical_header, check_header, is_kept_only, is_ours
from tasks.sheet.limits import MAX_COLUMNS, MAX_ROWS
from tasks.sheet.table import Cell, Row, Table
from tasks.sheet.text import tidy

_SPREADSHEET_ERRORS = frozenset(
    ("#N/A", "#REF!", "#VALUE!", "#DIV/0!", "#NAME?", "#NUM!", "#NULL!", "#SPILL!", "#CALC!")
)


#: Names a cell by its line and column position the way a spreadsheet does: `Sheet1!D14`.
Locate = Callable[[int, int], str]


@dataclass(frozen=True, slots=True)
class Column:
    """A column with a header; one that is not usable has its problem noted already."""

    position: int
    header: str
    name: str
    usable: bool
    kept_only: bool


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
        #: What people call a line of it.
        self.line_word = "row" if locate else "line"

    def table(self, lines: Iterable[Line]) -> Table:
        """Return the table; problems are noted, hopeless sheets raise."""
        filled = (line for line in lines if any(map(str.strip, line.cells)))
        first = list(islice(filled, SEARCHED))
        below = self._header_line(first)
        header = first[below - 1]
        columns = self._header(header.cells, header.number)
        rows = tuple(self._rows(chain(first[below:], filled), columns))
        kept = tuple(column.header for column in columns if not is_ours(column.name))
        complete = all(column.usable for column in columns)
        return Table(columns=kept, rows=rows, complete=complete)

    def _header_line(self, lines: list[Line]) -> int:
        """Return how many of the first lines end with the header; raise when none is one."""
        if not lines:
            self.findings.give_up("has no rows: it is empty")
        found, _ = find_header([line.cells for line in lines])
        if not found:
            self._refuse_header(lines[0])
        numbers = [lines[n].number for n in found]
        if len(found) > 1:
            several = " and ".join(map(str, numbers))
            self.findings.give_up(
                f"may have its header in {self.line_word}s {several}: keep one table in a sheet",
                line=numbers[1],
            )
        if found[0] > 0:
            above = numbers[0] - 1
            lost = f"{self.line_word} 1" if above == 1 else f"{self.line_word}s 1 to {above}"
            self.findings.note(
                f"has its header in {self.line_word} {numbers[0]}; {lost} above it "
                f"{'is' if above == 1 else 'are'} not read"
            )
        return found[0] + 1

    def _header(self, cells: tuple[str, ...], line: int) -> tuple[Column, ...]:
        """Return the columns that have a header."""
        columns: list[Column] = []
        first: dict[str, Column] = {}
        for position, cell in enumerate(cells):
            try:
                header = tidy(cell)
            except ValueError as fault:
                self.findings.refuse(str(fault), line=line, cell=f"column {position + 1}")
                continue
            if not header:
                continue
            name = canonical_header(header)
            place = self._place("column", line, position)
            usable = check_header(header, self.findings, line=line, where=place)
            column = Column(
                position, header, name, usable and name.casefold() not in first, is_kept_only(name)
            )
            if twin := first.get(name.casefold()):
                self.findings.refuse(
                    f'and "{twin.header}" are the same column ({name}), in columns '
                    f"{twin.position + 1} and {position + 1}: keep one",
                    line=line,
                    cell=place,
                    value=header,
                )
            first.setdefault(name.casefold(), column)
            columns.append(column)
        if len(columns) > MAX_COLUMNS:
            self.findings.give_up(f"has {len(columns)} columns; {MAX_COLUMNS} is the limit")
        return tuple(columns)

    def _refuse_header(self, first: Line) -> NoReturn:
        names = ", ".join(f'"{shorten(c, 20)}"' for c in first.cells[:9] if c.strip())
        hint = "" if self.locate else ": is the delimiter right?"
        self.findings.give_up(
            "has no column Callsheet knows (id, title, tool, script, ...) in its first "
            f"{SEARCHED} {self.line_word}s; this one says {names}{hint}",
            line=first.number,
        )

    def _rows(self, lines: Iterator[Line], columns: tuple[Column, ...]) -> Iterator[Row]:
        width = columns[-1].position + 1
        read = [column for column in columns if not is_ours(column.name)]
        nameless: set[int] = set()
        for count, line in enumerate(lines, start=1):
            if count > MAX_ROWS:
                self.findings.give_up(f"has more than {MAX_ROWS:,} rows; split it")
            if self._fits(line, width):
                self._refuse_nameless(line, columns, nameless)
                yield self._row(line, read)

    def _fits(self, line: Line, width: int) -> bool:
        used = len(line.cells)
        while used > width and not line.cells[used - 1].strip():
            used -= 1
        if used == width or not self.exact:
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
                place = self._place(f"column {position + 1}", line.number, position)
                message = "stands in a column without a header"
                self.findings.refuse(message, line=line.number, cell=place, value=cell.strip())

    def _row(self, line: Line, columns: list[Column]) -> Row:
        cells: dict[str, Cell] = {}
        texts: list[tuple[str, str]] = []
        for column in columns:
            text, fault = self._text(line, column)
            texts.append((column.header, text))
            if not text and not fault:
                continue
            place = self._place(column.header, line.number, column.position)
            if fault:
                self.findings.refuse(fault, line=line.number, cell=place, value=text)
            if column.usable and not column.kept_only:
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
        if column.kept_only:
            return text, None
        if text in _SPREADSHEET_ERRORS:
            return text, "is an error of the spreadsheet, not a value"
        return text, line.faults.get(column.position)

    def _place(self, name: str, line: int, position: int) -> str:
        """Return how a message names a cell: `aspect_ratio (Sheet1!D14)`."""
        return f"{name} ({self.locate(line, position)})" if self.locate else name
