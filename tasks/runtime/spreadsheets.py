"""What a spreadsheet may open without harm: CSV and XLSX.

A text that a spreadsheet would run as a formula gets a quote mark in front (OWASP: CSV
injection); full-width signs count, since some programs narrow them. Numbers are left alone. The
reader of sheets takes the mark off again, so that a status sheet can be run as a sheet.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import IO, Any

from callsheet.tasks.runtime.redact import one_line
from callsheet.tasks.values.amounts import as_number

#: What begins a formula, in both widths.
_SIGNS = "=+\\-@＝＋－＠"
#: What hides a formula, or what programs take away before they look at the first sign.
_FORMULA = re.compile(f"[ \u00a0\u3000\ufeff\u200b]*[{_SIGNS}\t\r\n\0]")
_GUARDED = re.compile(f"'[{_SIGNS}]")
_NUMBER = re.compile(r"[+-]?[0-9][0-9.,' ]*%?")
#: Tells spreadsheet programs that the text is UTF-8, and not their own old encoding.
_BOM = "\ufeff"
#: What XLSX, being XML, has no way to hold.
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")

Cell = str | int | float | datetime


def guarded(text: str) -> str:
    """Return text that no spreadsheet runs as a formula."""
    return f"'{text}" if _FORMULA.match(text) else text


def is_formula(text: str) -> bool:
    """Whether a spreadsheet may run a text as a formula: a number with its sign is none."""
    return bool(_FORMULA.match(text)) and not _NUMBER.fullmatch(text.strip())


def unguarded(text: str) -> str:
    """Return trimmed text without the quote mark that `guarded` gave it."""
    return text[1:] if _GUARDED.match(text) else text


def write_csv(out: IO[str], columns: Sequence[str], lines: Iterable[Mapping[str, Any]]) -> int:
    """Write a header and every line, after a byte order mark; return how many lines there were."""
    add = csv_writer(out, columns)
    count = 0
    for line in lines:
        add(line)
        count += 1
    return count


def csv_writer(out: IO[str], columns: Sequence[str]) -> Callable[[Mapping[str, Any]], None]:
    """Write a header after a byte order mark; return what writes a line below it."""
    out.write(_BOM)
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(map(guarded, columns))

    def add(line: Mapping[str, Any]) -> None:
        values = [line.get(name) for name in columns]
        writer.writerow([one if type(one) in _PLAIN else _in_csv(one) for one in values])

    return add


def shown_lines(lines: Iterable[Mapping[str, Any]]) -> Iterable[Mapping[str, Any]]:
    """Yield the lines of a report for people: each text on one line, without control characters.

    Not for a status sheet, which can be run as a sheet: its cells must stay what they are.
    """
    for line in lines:
        yield {name: one_line(v) if isinstance(v, str) else v for name, v in line.items()}


def write_xlsx(out: IO[bytes], columns: Sequence[str], lines: Iterable[Mapping[str, Any]]) -> int:
    """Write a workbook of one sheet, a header and every line; return how many lines there were."""
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell

    book = Workbook(write_only=True)
    sheet = book.create_sheet()

    def typed(value: Cell) -> object:
        if not isinstance(value, str):
            return value
        cell = WriteOnlyCell(sheet, _NOT_XML.sub("\ufffd", value))
        # Otherwise openpyxl makes formulas and errors of what looks like one.
        cell.data_type = "s"
        return cell

    sheet.append([typed(guarded(name)) for name in columns])
    count = 0
    for line in lines:
        sheet.append([typed(_cell(line.get(name))) for name in columns])
        count += 1
    book.save(out)
    return count


def _cell(value: Any) -> Cell:
    """Return a value as a spreadsheet may have it; moments are in UTC, which cells cannot say."""
    if isinstance(value, str):
        return guarded(value)
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Decimal):
        return as_number(value) or 0
    if isinstance(value, int | float):
        return value
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None)
    if isinstance(value, list | tuple):
        return guarded(", ".join(str(one) for one in value))
    return guarded(str(value))


#: What CSV has as it is; of the rest, most is text.
_PLAIN = (int, float, type(None))


def _in_csv(value: Any) -> Cell:
    cell = _cell(value)
    return f"{cell:%Y-%m-%d %H:%M:%S}" if isinstance(cell, datetime) else cell
