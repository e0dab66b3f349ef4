"""CSV and its relatives, read strictly.

Not pandas: its reader moves every cell one column over when all rows have one too many, and so
puts the wrong words into a paid video.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any

from callsheet.tasks.sheet.findings import Findings
from callsheet.tasks.sheet.grid import Grid
from callsheet.tasks.sheet.header_line import SEARCHED, known_names
from callsheet.tasks.sheet.limits import MAX_LINES
from callsheet.tasks.sheet.line import Line
from callsheet.tasks.sheet.table import Table

_DELIMITERS = (",", ";", "\t", "|")
_SPOKEN = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|"}
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_SEP = re.compile(r'"?sep=([^"\n])"?[ ,;\t]*(?:\n|\Z)', re.IGNORECASE)


def read_delimited(text: str, findings: Findings, *, delimiter: str | None = None) -> Table:
    """Return the table of a delimited text; `delimiter` wins over what the text suggests."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    first = 1
    announced = None
    if sep := _SEP.match(lines):
        announced, first, lines = sep[1], 2, lines[sep.end() :]
    if lines.count("\n") > MAX_LINES:
        findings.give_up(f"has more than {MAX_LINES:,} lines: split it, or delete the blank ones")
    chosen = _given(delimiter, findings) or announced or _guess(lines)
    return Grid(findings, exact=True).table(_lines(lines, chosen, first, findings))


def _given(delimiter: str | None, findings: Findings) -> str | None:
    if delimiter is None:
        return None
    character = _SPOKEN.get(delimiter.casefold(), delimiter)
    if len(character) != 1 or character in '"\n\r\0':
        findings.give_up(
            f'cannot be read with the delimiter "{delimiter}": give one character, or "tab"'
        )
    return character


def _guess(text: str) -> str:
    """Decide by the header alone: commas and semicolons in the rows are just text."""
    starts = {delimiter: _start(text, delimiter) for delimiter in _DELIMITERS}
    delimiter, names = _most_names({sign: lines[:1] for sign, lines in starts.items()})
    if names < 2:
        # The first line is no header, or one name alone: what stands below may be more of one.
        below, more = _most_names(starts)
        return below if more > max(1, names) else delimiter
    return delimiter


def _most_names(starts: Mapping[str, list[list[str]]]) -> tuple[str, int]:
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


def _lines(text: str, delimiter: str, first: int, findings: Findings) -> Iterator[Line]:
    """Yield the lines with the number they begin on; a multi-line cell is one line here."""
    reader = _reader(text, delimiter)
    begins = first
    try:
        for cells in reader:
            yield Line(begins, tuple(cells))
            begins = first + reader.line_num
    except csv.Error as error:
        findings.refuse(_explain(str(error)), line=begins)


def _explain(error: str) -> str:
    if "end of data" in error:
        return 'opens a quote (") that is never closed'
    if "field limit" in error:
        return 'begins a cell of more than 131,072 characters: is a closing quote (") missing?'
    return 'has a quote (") inside a quoted cell: write it twice (""), or close the cell before it'
