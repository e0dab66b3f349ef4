"""Reads Excel workbooks, cell by cell, and picks the worksheet."""

from __future__ import annotations

import io
import re
import warnings
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, Any

from callsheet.tasks.runtime.errors import SheetError
from callsheet.tasks.sheet.grid import read_grid
from callsheet.tasks.sheet.header_lines import SEARCHED, HeaderLines, find_header
from callsheet.tasks.sheet.synonyms import Names
from callsheet.tasks.sheet.table import Findings, Line, Table, is_blank
from callsheet.tasks.sheet.text import MAX_UNZIP_RATIO, MAX_UNZIPPED_BYTES
from callsheet.tasks.sheet.worksheet import Shape, filled_down, read_shape
from callsheet.tasks.values.amounts import say_bytes

if TYPE_CHECKING:
    from callsheet.tasks.sheet.worksheet import Row

_RETURN = re.compile("_x000[dD]_\n?")
_EXACT = 10**15
_MAX_PARTS = 10_000
_SMALL = 1024 * 1024


def read_workbook(
    content: bytes,
    findings: Findings,
    *,
    worksheet: str | None = None,
    skip_hidden: bool = False,
) -> Table:
    """Return the table of one worksheet: the one named, else the one that has known columns."""
    _refuse_bomb(content, findings)
    with warnings.catch_warnings():
        # openpyxl warns of validations and styles it does not know; none of them matter.
        warnings.simplefilter("ignore")
        with _readable(findings):
            title, shape, lines = _open(content, findings, worksheet)
        # Line by line: a sheet with too many is refused before all of them are built.
        table = read_grid(
            _guarded(lines, findings),
            findings,
            exact=False,
            locate=partial(_locate, title),
            hidden_columns=shape.hidden_columns,
            skip_hidden=skip_hidden,
        )
        return replace(table, worksheet=title)


def visible_lines(content: bytes, worksheet: str | None, names: Names | None = None) -> list[Line]:
    """Return the lines that a worksheet shows, of a workbook that was read without a problem.

    Without its title it is the one that has known columns, or those of `names`.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, _, lines = _open(content, Findings("", names), worksheet)
        return [line for line in lines if not (line.hidden or is_blank(line))]


@contextmanager
def _readable(findings: Findings) -> Iterator[None]:
    """Refuse what is damaged: that fails in many ways in zipfile, the XML parser and openpyxl."""
    try:
        yield
    except (SheetError, GeneratorExit, MemoryError):
        raise
    except Exception:
        findings.give_up("is not a workbook that can be read; save it again as .xlsx or as CSV")


def _guarded(lines: Iterator[Line], findings: Findings) -> Iterator[Line]:
    while True:
        with _readable(findings):
            line = next(lines, None)
        if line is None:
            return
        yield line


def _open(
    content: bytes, findings: Findings, worksheet: str | None
) -> tuple[str, Shape, Iterator[Line]]:
    """Return a worksheet's title, its shape, and its lines, each read when it is asked for."""
    from openpyxl import load_workbook

    from callsheet.tasks.sheet.worksheet import rows_of

    book = load_workbook(io.BytesIO(content), read_only=True, data_only=True)
    title = choose_worksheet(book, findings, worksheet)
    sheet: Any = book[title]
    with sheet._get_source() as source:
        shape = read_shape(source, findings)
    lines = (
        _line(number, row, hidden=number in shape.hidden_lines)
        for number, row in rows_of(sheet, findings)
    )
    return title, shape, filled_down(lines, shape.spans)


def _line(number: int, row: Row, *, hidden: bool) -> Line:
    texts: list[str] = []
    faults: dict[int, str] = {}
    dates: set[int] = set()
    shown: dict[int, str] = {}
    for position, cell in enumerate(row):
        if cell is None:
            texts.append("")
            continue
        if cell.formula is not None:
            texts.append(_formula(cell.formula))
            faults[position] = (
                "is a formula without a result: open the workbook in a spreadsheet and save it"
            )
            continue
        text, fault = _text(cell, cell.value)
        texts.append(text)
        if isinstance(cell.value, date):
            dates.add(position)
        elif isinstance(cell.value, time):
            shown[position] = _clock(cell.value, cell.number_format)
        if fault:
            faults[position] = fault
    return Line(number, tuple(texts), faults, hidden=hidden, dates=dates, shown=shown)


def _formula(value: Any) -> str:
    return str(getattr(value, "text", value))


def _text(cell: Any, value: Any) -> tuple[str, str | None]:
    """Return a cell as a CSV export would write it, and what is wrong with it."""
    if value is None:
        return "", None
    if cell.data_type == "e":
        return str(value), "is an error of the spreadsheet, not a value"
    if isinstance(value, bool):
        return str(value).upper(), None
    if isinstance(value, int | float):
        return _number(value, cell.number_format)
    if isinstance(value, datetime) and value.time() == time():
        value = value.date()
    if isinstance(value, date | time):
        return value.isoformat(), None
    if isinstance(value, timedelta):
        minutes, seconds = divmod(round(value.total_seconds()), 60)
        return f"{minutes // 60:02}:{minutes % 60:02}:{seconds:02}", None
    return _RETURN.sub("\n", str(value)), None


def _clock(value: time, number_format: str) -> str:
    """Return a time as the spreadsheet shows it, the 16:09 that it makes of 16:9."""
    hour = f"{value.hour:02}" if "hh" in number_format.casefold() else str(value.hour)
    seconds = f":{value.second:02}" if "s" in number_format.casefold() or value.second else ""
    return f"{hour}:{value.minute:02}{seconds}"


def _number(value: int | float, number_format: str) -> tuple[str, str | None]:
    if abs(value) >= _EXACT:
        digits = f"{value:.0f}"
        return digits, "is a number of more than 15 digits, which spreadsheets round: make it text"
    if float(value).is_integer():
        # The format `000` shows 7 as 007, and so does a CSV export.
        zeros = len(number_format) if re.fullmatch("0+", number_format) else 0
        return str(int(value)).zfill(zeros), None
    short = f"{value:.15g}"
    return (short if "e" not in short else f"{value:.20f}".rstrip("0")), None


def _locate(title: str, line: int, position: int) -> str:
    """Name a cell as a spreadsheet does. Part of what is read: it has to be picklable."""
    from openpyxl.utils import get_column_letter

    shown = title if re.fullmatch(r"\w+", title) else f"'{title}'"
    return f"{shown}!{get_column_letter(position + 1)}{line}"


def _refuse_bomb(content: bytes, findings: Findings) -> None:
    """Raise when a workbook would unpack to far more than a campaign needs.

    The sizes it declares can be trusted this far: unpacking stops where they say.
    """
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        findings.give_up("is not a workbook that can be read; save it again as .xlsx or as CSV")
    with archive:
        parts = archive.infolist()
        total = sum(part.file_size for part in parts)
        if len(parts) > _MAX_PARTS or total > MAX_UNZIPPED_BYTES:
            limit = say_bytes(MAX_UNZIPPED_BYTES)
            findings.give_up(f"unpacks to {say_bytes(total)}; {limit} is the limit")
        if total > _SMALL and total > MAX_UNZIP_RATIO * len(content):
            findings.give_up(
                f"unpacks to {total // len(content):,} times its size; no real workbook does"
            )
        if any(part.flag_bits & 1 for part in parts):
            findings.give_up("is protected by a password; save it without one")
        if not any(part.filename == "[Content_Types].xml" for part in parts):
            findings.give_up("is a zip file but not a workbook; save the sheet as .xlsx or as CSV")
        if any(_declares_entities(archive, part) for part in parts):
            findings.give_up("declares XML entities, which no workbook needs; save it as CSV")


def _declares_entities(archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> bool:
    if not part.filename.endswith((".xml", ".rels")):
        return False
    try:
        with archive.open(part) as source:
            return b"<!DOCTYPE" in source.read(4096)
    except zlib.error as error:
        if str(error).startswith("Error -4"):
            # What zlib says where there is no memory (Z_MEM_ERROR).
            raise MemoryError from error
        return False
    except (zipfile.BadZipFile, NotImplementedError, OSError, EOFError):
        return False


# Which worksheet of a workbook is the sheet: a cover or notes may stand before it.


#: So many lines of every worksheet are read to see which of them is the sheet.
_GLANCE = 100


def choose_worksheet(book: Any, findings: Findings, worksheet: str | None) -> str:
    """Return the title of the worksheet that is named, else of the visible one with a header.

    Raises SheetError where there is none, or more than one.
    """
    if worksheet is not None:
        return _named(book, findings, worksheet.strip())
    visible = [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"]
    if not visible:
        findings.give_up("has no rows: it has no visible worksheet")
    if len(visible) == 1:
        return str(visible[0].title)
    titles = [sheet.title for sheet in visible]
    found = {sheet.title: _header_of(sheet, findings.names) for sheet in visible}
    fit = [title for title, header in found.items() if header.certain] or [
        title for title, header in found.items() if header.lines
    ]
    if not fit:
        findings.give_up(
            "has no column Callsheet knows (id, title, tool, script, ...) in any worksheet it "
            f"shows ({_quoted(titles)}); --worksheet NAME reads any, also a hidden one"
        )
    if len(fit) > 1:
        findings.give_up(
            f"has {len(fit)} worksheets that may be the sheet, {_quoted(fit)}: "
            f"choose one with --worksheet {_typed(fit[0])}"
        )
    others = [title for title in titles if title != fit[0]]
    findings.note(
        f'has {len(titles)} worksheets; "{fit[0]}" is read, the one with columns Callsheet knows, '
        f"not {_quoted(others)} (--worksheet {_typed(fit[0])} settles it)"
    )
    return str(fit[0])


def _named(book: Any, findings: Findings, worksheet: str) -> str:
    titles = {sheet.title.strip().casefold(): str(sheet.title) for sheet in book.worksheets}
    found = titles.get(worksheet.casefold())
    if found is None:
        close = get_close_matches(worksheet.casefold(), titles, n=1)
        there = f"; it has {_quoted(titles.values())}"
        hint = f' (did you mean "{titles[close[0]]}"?)' if close else there
        findings.give_up(f'has no worksheet "{worksheet}"{hint}')
    return found


def _header_of(sheet: Any, names: Names) -> HeaderLines:
    sheet.reset_dimensions()
    first = sheet.iter_rows(max_row=_GLANCE, values_only=True)
    lines = [names.of_line("" if value is None else str(value) for value in row) for row in first]
    return find_header([line for line in lines if any(map(str.strip, line))][:SEARCHED])


def _quoted(titles: Iterable[str]) -> str:
    return ", ".join(f'"{title}"' for title in titles)


def _typed(title: str) -> str:
    """Return a title as it is typed in a shell."""
    return title if re.fullmatch(r"[\w.-]+", title) else f'"{title}"'
