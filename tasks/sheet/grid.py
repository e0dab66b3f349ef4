"""Reads lines of cells into a table, and CSV files strictly: no cell moves to another column."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain, islice
from typing import Any

from callsheet.tasks.sheet.header_lines import (
    SEARCHED,
    Column,
    known_names,
    pick_header,
    read_header,
)
from callsheet.tasks.sheet.headers import is_ours, takes_dates
from callsheet.tasks.sheet.synonyms import Names
from callsheet.tasks.sheet.table import (
    Cell,
    Findings,
    Line,
    Row,
    Span,
    Table,
    is_blank,
    is_total,
)
from callsheet.tasks.sheet.text import MAX_LINES, MAX_ROWS, tidy

_SPREADSHEET_ERRORS = frozenset(
    ("#N/A", "#REF!", "#VALUE!", "#DIV/0!", "#NAME?", "#NUM!", "#NULL!", "#SPILL!", "#CALC!")
)


#: Texts of so many characters are kept once, as long as there are no more of them than that.
SHORT, KNOWN = 24, 20_000
#: Longer texts are measured before they are read.
LONG = 20_000
#: Names a cell by its line and column position the way a spreadsheet does: `Sheet1!D14`.
Locate = Callable[[int, int], str]


def read_grid(
    lines: Iterable[Line],
    findings: Findings,
    *,
    exact: bool,
    locate: Locate | None = None,
    hidden_columns: Collection[int] = (),
    skip_hidden: bool = False,
) -> Table:
    """Return the table that lines are; problems are noted, hopeless sheets raise.

    `exact` means that a line must have as many cells as the header, as in a CSV, where a missing
    one moves all that follow. `locate` names a cell the way a spreadsheet does. Of hidden lines
    that are left out (`skip_hidden`) no problem is noted.
    """
    word = "row" if locate else "line"
    filled = (line for line in lines if not is_blank(line))
    first = list(islice(filled, SEARCHED))
    names = findings.names
    named = [line._replace(cells=names.of_line(line.cells)) for line in first]
    below = 1 + pick_header(named, findings, word)
    header = first[below - 1]
    findings.names = names.of_headers(header.cells)
    columns = read_header(header, findings, partial(_place, locate))
    body = body_of(chain(first[below:], filled), header, findings, word)
    rows = Grid(columns, findings, body, exact=exact, locate=locate, skip_hidden=skip_hidden)
    rows.check()
    _note_hidden(rows.columns, hidden_columns, findings)
    kept: dict[str, str] = {}
    for column in rows.columns:
        kept.setdefault(column.name, column.header)
    return Table(
        columns=kept,
        rows=rows,
        complete=all(column.usable for column in columns),
        hidden=frozenset(line.number for line in body if line.hidden),
        place=rows.place,
    )


def body_of(lines: Iterable[Line], header: Line, findings: Findings, word: str) -> list[Line]:
    """Return the lines that are rows: without the header once more, or totals at the end.

    `word` is what people call a line.
    """
    names = _written(header)
    body: list[Line] = []
    for line in lines:
        if _written(line) == names:
            repeated = f"repeats the header in {word} {header.number} and is not read"
            findings.note(repeated, line=line.number)
            continue
        if len(body) == MAX_ROWS:
            findings.give_up(f"has more than {MAX_ROWS:,} rows; split it")
        body.append(line)
    if body and is_total(body[-1]):
        total = body.pop()
        said = next(cell.strip() for cell in total.cells if any(map(str.isalpha, cell)))
        findings.note(
            "is a line of totals below the rows and is not read", line=total.number, value=said
        )
    return body


def _note_hidden(columns: Iterable[Column], positions: Collection[int], findings: Findings) -> None:
    hidden = [
        column.header for column in columns if column.position in positions and not column.kept_only
    ]
    if hidden:
        count = "a hidden column" if len(hidden) == 1 else f"{len(hidden)} hidden columns"
        findings.note(f"has {count} ({', '.join(hidden)}), read as all others")


def _place(locate: Locate | None, name: str, line: int, position: int) -> str:
    """Return how a message names a cell: `aspect_ratio (Sheet1!D14)`."""
    return f"{name} ({locate(line, position)})" if locate else name


class Grid(Collection[Row]):
    """The rows of a table, each made of its line when it is its turn: they are never all there."""

    def __init__(
        self,
        columns: Sequence[Column],
        findings: Findings,
        lines: list[Line],
        *,
        exact: bool,
        locate: Locate | None,
        skip_hidden: bool = False,
    ) -> None:
        self.columns = [column for column in columns if not is_ours(column.name)]
        self._findings = findings
        self._exact = exact
        self._locate = locate
        #: Reads hidden lines where they are left out: what is wrong with them matters to no one.
        self._unseen = (
            Grid(columns, Findings(findings.file), [], exact=exact, locate=locate)
            if skip_hidden
            else self
        )
        #: Where there is a header, or text without one that has been refused already.
        self._headed = {column.position for column in columns}
        #: The merged cells whose value was read for more than their first line.
        self._filled: dict[Span, None] = {}
        self._lines = lines
        self._count = len(lines)
        self._width = columns[-1].position + 1
        self._even = [column.position for column in columns] == [*range(self._width)]
        #: Texts that stand in many rows, each of them once.
        self._known: dict[str, str] = {}

    def check(self) -> None:
        """Note what is wrong with merged cells, which concerns several lines at once."""
        for line in self._lines:
            if line.spans:
                self._reader(line)._merged(line)
        self._note_merged()

    def __len__(self) -> int:
        return self._count

    def __contains__(self, row: object) -> bool:
        return any(one == row for one in self)

    def __iter__(self) -> Iterator[Row]:
        return self._rows(iter(self._lines))

    def drained(self) -> Iterator[Row]:
        """Yield the rows a last time, and keep no line that a row was made of."""
        self._lines.reverse()
        return self._rows(self._lines.pop() for _ in range(len(self._lines)))

    def _rows(self, lines: Iterator[Line]) -> Iterator[Row]:
        for line in lines:
            row = self._plain(line) or self._reader(line)._row(line)
            if row is not None:
                yield row

    def _reader(self, line: Line) -> Grid:
        return self._unseen if line.hidden else self

    def _fits(self, line: Line) -> bool:
        used, width = len(line.cells), self._width
        while used > width and not line.cells[used - 1].strip():
            used -= 1
        if used == width or not self._exact:
            return True
        curly = any(mark in cell for cell in line.cells for mark in "“”„")
        hint = (
            'curly quotes do not hold a cell together, straight ones (") do'
            if curly
            else 'put a cell that has the delimiter in it between quotes (")'
            if used > width
            else "a delimiter is missing"
        )
        self._findings.refuse(f"has {used} cells, the header has {width}: {hint}", line=line.number)
        return False

    def _refuse_nameless(self, line: Line) -> None:
        for position, cell in enumerate(line.cells):
            if position not in self._headed and cell.strip():
                self._headed.add(position)
                place = _place(self._locate, f"column {position + 1}", line.number, position)
                message = "stands in a column without a header"
                self._findings.refuse(message, line=line.number, cell=place, value=cell.strip())

    def _merged(self, line: Line) -> set[int]:
        """Refuse merged cells in which two columns or two ids are one; return where they are."""
        faulty: set[int] = set()
        for column in self.columns:
            span = line.spans.get(column.position)
            if span is None:
                continue
            shared = [one.header for one in self.columns if line.spans.get(one.position) == span]
            if len(shared) == 1 and span.first_line == span.last_line:
                # It is merged with columns without a header, which are not read.
                continue
            if len(shared) > 1:
                message = f"is merged over {len(shared)} columns ({', '.join(shared)})"
                remedy = "unmerge it, and write into each what belongs there"
            elif column.name == "id":
                message = f"is merged: rows {span.first_line} to {span.last_line} have one id"
                remedy = "unmerge it, and give each row its own"
            else:
                self._filled[span] = None
                continue
            faulty.add(column.position)
            self._findings.refuse(f"{message}; {remedy}", line=span.first_line, cell=str(span))
        return faulty

    def _note_merged(self) -> None:
        if len(self._filled) == 1:
            (span,) = self._filled
            self._findings.note(
                f"is merged: its value is read for rows {span.first_line} to {span.last_line}",
                line=span.first_line,
                cell=str(span),
            )
        elif self._filled:
            shown = ", ".join(map(str, [*self._filled][:3]))
            more = f" and {len(self._filled) - 3} more" if len(self._filled) > 3 else ""
            self._findings.note(
                f"has merged cells ({shown}{more}): the value of each is read for all its rows"
            )

    def _row(self, line: Line) -> Row | None:
        """Return the row that a line is; None for one that does not fit below the header."""
        if not self._fits(line):
            return None
        self._refuse_nameless(line)
        faulty = self._merged(line)
        cells: dict[str, Cell] = {}
        for column in self.columns:
            text, fault = self._text(line, column)
            noted = column.position in faulty
            if not text and not fault and not noted:
                continue
            place = self._place(column, line.number)
            shown = line.shown.get(column.position)
            cell = Cell(column.name, text, line.number, place, noted or bool(fault), shown)
            if fault:
                row = None if column.name == "id" else self._id_of(line)
                self._findings.refuse(fault, **cell.place(row=row, value=text))
            if column.usable or column.name not in cells:
                cells[column.name] = cell
        return Row(line.number, cells)

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
        if column.position in line.dates and not takes_dates(column.name):
            return text, (
                "is a date that the spreadsheet made of what was typed: format the column as text "
                "(Format, Cells, Text) and type it again"
            )
        return text, line.faults.get(column.position)

    def cells(self, line: int, texts: Iterable[tuple[str, str]]) -> dict[str, Cell]:
        """Return where the texts of a row stand that begins on a line, by column."""
        return {
            column.name: Cell(column.name, text, line, self._place(column, line))
            for column, (_, text) in zip(self.columns, texts, strict=True)
            if text and column.usable and not column.kept_only
        }

    def _plain(self, line: Line) -> Row | None:
        """Return a row in which all is text that needs no second look, as in most; else None."""
        if not self._even or len(line.cells) != self._width or line.hidden or line.is_odd:
            return None
        known, number, locate = self._known, line.number, self._locate
        cells: dict[str, Cell] = {}
        for column in self.columns:
            raw = line.cells[column.position]
            if not raw:
                continue
            if not (raw.isascii() and raw.isprintable()) or raw[0] in "#'" or len(raw) > LONG:
                return None
            text = raw.strip()
            if len(text) <= SHORT and len(known) < KNOWN:
                text = known.setdefault(text, text)
            if text and (text[0] in "#'"):
                return None
            if text and (column.usable or column.name not in cells):
                where = self._place(column, number) if locate else column.header
                cells[column.name] = Cell(column.name, text, number, where)
        return Row(number, cells)

    def place(self, name: str, line: int) -> str | None:
        """Return what the cell of a column in a line is called; None without such a column."""
        column = next((one for one in self.columns if one.name == name and one.usable), None)
        return None if column is None else self._place(column, line)

    def _place(self, column: Column, line: int) -> str:
        return _place(self._locate, column.header, line, column.position)

    def _id_of(self, line: Line) -> str | None:
        """Return what a line says of its row's id, for a message about another cell."""
        for column in self.columns:
            if column.name == "id" and column.position < len(line.cells):
                return line.cells[column.position].strip() or None
        return None


def _written(line: Line) -> tuple[tuple[int, str], ...]:
    """Return the texts of a line and where they stand."""
    return tuple((n, text) for n, text in enumerate(map(str.strip, line.cells)) if text)


# CSV and its relatives, read strictly.
#
# Not pandas: its reader moves every cell one column over when all rows have one too many, and so
# puts the wrong words into a paid video.


_DELIMITERS = (",", ";", "\t", "|")
_SPOKEN = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|"}
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_SEP = re.compile(r'"?sep=([^"\n])"?[ ,;\t]*(?:\n|\Z)', re.IGNORECASE)


def read_delimited(text: str, findings: Findings, *, delimiter: str | None = None) -> Table:
    """Return the table of a delimited text; `delimiter` wins over what the text suggests."""
    announced, first, lines = _begun(text)
    if lines.count("\n") > MAX_LINES:
        findings.give_up(f"has more than {MAX_LINES:,} lines: split it, or delete the blank ones")
    chosen = _given(delimiter, findings) or announced or _guess(lines, findings.names)
    return read_grid(_lines(lines, chosen, first, findings), findings, exact=True)


def delimited_lines(text: str, names: Names) -> tuple[str, str, list[Line]]:
    """Return what is before the first line, the delimiter, and every line; or raise csv.Error."""
    announced, first, lines = _begun(text)
    before = f"sep={announced}\r\n" if announced else ""
    delimiter = announced or _guess(lines, names)
    return before, delimiter, [*_lines(lines, delimiter, first)]


def _begun(text: str) -> tuple[str | None, int, str]:
    """Return the delimiter that a text announces, the number of its first line, and its lines."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    sep = _SEP.match(lines)
    return (sep[1], 2, lines[sep.end() :]) if sep else (None, 1, lines)


def _given(delimiter: str | None, findings: Findings) -> str | None:
    if delimiter is None:
        return None
    character = _SPOKEN.get(delimiter.casefold(), delimiter)
    if len(character) != 1 or character in '"\n\r\0':
        findings.give_up(
            f'cannot be read with the delimiter "{delimiter}": give one character, or "tab"'
        )
    return character


def _guess(text: str, names: Names) -> str:
    """Decide by the header alone: commas and semicolons in the rows are just text."""
    starts = {
        delimiter: [*map(names.of_line, _start(text, delimiter))] for delimiter in _DELIMITERS
    }
    delimiter, known = _most_names({sign: lines[:1] for sign, lines in starts.items()})
    if known < 2:
        # The first line is no header, or one name alone: what stands below may be more of one.
        below, more = _most_names(starts)
        return below if more > max(1, known) else delimiter
    return delimiter


def _most_names(starts: Mapping[str, Sequence[Sequence[str]]]) -> tuple[str, int]:
    """Return the delimiter that makes most known names of a line, and how many those are."""
    best, found = ",", (0, 1)
    for delimiter, lines in starts.items():
        for cells in lines:
            score = (known_names(cells), len(cells))
            if score > found:
                best, found = delimiter, score
    return best, found[0]


def _start(text: str, delimiter: str) -> list[list[str]]:
    """Return the first lines with something in them, as far as they can be read."""
    found: list[list[str]] = []
    filled = (row for row in _reader(text, delimiter) if any(map(str.strip, row)))
    with suppress(csv.Error):
        found.extend(islice(filled, SEARCHED))
    return found


def _reader(text: str, delimiter: str) -> Any:
    # Line by line: what holds all of the text again takes four bytes for each character.
    source = (line.group() for line in _LINE.finditer(text))
    return csv.reader(source, delimiter=delimiter, strict=True, skipinitialspace=True)


def _lines(
    text: str, delimiter: str, first: int, findings: Findings | None = None
) -> Iterator[Line]:
    """Yield the lines with the number they begin on; a multi-line cell is one line here.

    What cannot be read is noted in `findings`; without those it raises csv.Error.
    """
    reader = _reader(text, delimiter)
    begins = first
    try:
        for cells in reader:
            yield Line(begins, tuple(cells))
            begins = first + reader.line_num
    except csv.Error as error:
        if findings is None:
            raise
        findings.refuse(_explain(str(error)), line=begins)


def _explain(error: str) -> str:
    if "end of data" in error:
        return 'opens a quote (") that is never closed'
    if "field limit" in error:
        return 'begins a cell of more than 131,072 characters: is a closing quote (") missing?'
    return 'has a quote (") inside a quoted cell: write it twice (""), or close the cell before it'
