"""Cells of a CSV that a spreadsheet opens without harm.

A cell that a spreadsheet would run as a formula gets a quote mark in front (OWASP: CSV
injection); full-width signs count, since some programs narrow them. Numbers are left alone, and
so are ids of ours, which never begin with such a sign.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import IO, Any

from tasks.credits import as_number

#: What begins a formula, in both widths, and what hides one.
_SIGNS = "=+-@＝＋－＠\t\r\n\0"
#: What programs take away before they look at the first sign.
_BLANK = " \u00a0\u3000\ufeff\u200b"
#: Tells spreadsheet programs that the text is UTF-8, and not their own old encoding.
BOM = "\ufeff"


def write_csv(out: IO[str], columns: Sequence[str], lines: Iterable[Mapping[str, Any]]) -> int:
    """Write a header and every line, after a byte order mark; return how many lines there were."""
    out.write(BOM)
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(columns)
    count = 0
    for line in lines:
        writer.writerow([cell(line[name]) for name in columns])
        count += 1
    return count


def cell(value: Any) -> str | int | float:
    """Return a value as a spreadsheet may have it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Decimal):
        return as_number(value) or 0
    if isinstance(value, int | float):
        return value
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")
    if isinstance(value, list | tuple):
        return safe_text(", ".join(str(one) for one in value))
    return safe_text(str(value))


def safe_text(text: str) -> str:
    """Return text that no spreadsheet runs as a formula."""
    return f"'{text}" if text.lstrip(_BLANK).startswith(tuple(_SIGNS)) else text
