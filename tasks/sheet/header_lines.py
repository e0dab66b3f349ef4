"""Finds the header of a table and matches its names to columns.

Known columns alone tell. A first line that is a header is never passed over, and where two lines
may be one nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from callsheet.tasks.runtime.errors import shorten
from callsheet.tasks.sheet.headers import canonical_header, is_kept_only, is_known, is_ours
from callsheet.tasks.sheet.proposals import check_header
from callsheet.tasks.sheet.synonyms import proposed
from callsheet.tasks.sheet.table import Findings, Line
from callsheet.tasks.sheet.text import MAX_COLUMNS, tidy

#: A header stands among so many first lines with something in them.
SEARCHED = 20


#: Names a cell of a column for people, by the column's name, the line and the column's position.
Place = Callable[[str, int, int], str]


@dataclass(frozen=True, slots=True)
class Column:
    """A column with a header; one that is not usable has its problem noted already."""

    position: int
    header: str
    name: str
    usable: bool
    kept_only: bool


class HeaderLines(NamedTuple):
    """Where the header may be, by index: nowhere, in one line, or in several that differ.

    `certain` says that most of its names are known columns.
    """

    lines: tuple[int, ...]
    certain: bool


class _Names(NamedTuple):
    known: int
    unknown: int

    @property
    def certain(self) -> bool:
        return self.known > max(1, self.unknown)


def pick_header(lines: Sequence[Line], findings: Findings, word: str) -> int:
    """Return the index of the header among the first lines; raise when it is not certain.

    `word` is what people call a line. What stands above the header is noted.
    """
    if not lines:
        findings.give_up("has no rows: it is empty")
    found, _ = find_header([line.cells for line in lines])
    if not found:
        return _unnamed(lines, findings, word)
    if len(found) > 1:
        several = " and ".join(str(lines[n].number) for n in found)
        findings.give_up(
            f"may have its header in {word}s {several}: keep one table in a sheet",
            line=lines[found[1]].number,
        )
    header = found[0]
    while header + 1 < len(lines) and _goes_on(lines[header], lines[header + 1]):
        header += 1
    if header > 0:
        above = lines[header].number - 1
        lost = f"{word} 1 above it is" if above == 1 else f"{word}s 1 to {above} above it are"
        findings.note(f"has its header in {word} {above + 1}; {lost} not read")
    return header


def _unnamed(lines: Sequence[Line], findings: Findings, word: str) -> int:
    """Return the line whose cells a person may say the columns of; raise if no line has two."""
    filled = [sum(map(bool, map(str.strip, line.cells))) for line in lines]
    header = filled.index(max(filled))
    message = (
        "has no column Callsheet knows (id, title, tool, script, ...) in its first "
        f"{SEARCHED} {word}s"
    )
    hint = "a missing header, or another delimiter?" if word == "line" else "a missing header?"
    if filled[header] < 2:
        names = ", ".join(f'"{shorten(cell, 20)}"' for cell in lines[header].cells if cell.strip())
        findings.give_up(f"{message}; this one says {names}: {hint}", line=lines[header].number)
    # Each of its headers is a problem, until a person says which column it means.
    findings.note(f"{message}; {word} {lines[header].number} is taken for its header: {hint}")
    return header


def _goes_on(header: Line, below: Line) -> bool:
    """Say whether a header goes on in the line below, as names merged over both tell."""
    tall = any(span.first_line <= header.number for span in below.spans.values())
    return tall and known_names(below.cells) >= known_names(header.cells)


def find_header(lines: Sequence[Sequence[str]]) -> HeaderLines:
    """Return which of the first lines may be the header."""
    names = {n: _names(cells) for n, cells in enumerate(lines) if any(map(str.strip, cells))}
    if not names:
        return HeaderLines((), False)
    first = min(names)
    if names[first].certain:
        return HeaderLines((first,), True)
    if certain := [n for n, found in names.items() if found.certain]:
        return HeaderLines(_different(lines, certain), True)
    if names[first].known:
        return HeaderLines((first,), False)
    most = max(found.known for found in names.values())
    # One known name among others is a word that happens to stand in a title.
    likely = [n for n, found in names.items() if found.known == most > min(1, found.unknown)]
    return HeaderLines(_different(lines, likely) if most else (), False)


def read_header(header: Line, findings: Findings, place: Place) -> tuple[Column, ...]:
    """Return the columns that have a header; what is wrong with them is noted."""
    columns: list[Column] = []
    first: dict[str, Column] = {}
    line = header.number
    for position, cell in enumerate(header.cells):
        try:
            text = tidy(cell)
        except ValueError as fault:
            findings.refuse(str(fault), line=line, cell=f"column {position + 1}")
            continue
        if not text:
            continue
        text = findings.names.named(text)
        name = canonical_header(text)
        where = place("column", line, position)
        usable = check_header(text, findings, line=line, where=where, others=header.cells)
        column = Column(
            position, text, name, usable and name.casefold() not in first, is_kept_only(name)
        )
        if twin := first.get(name.casefold()):
            findings.refuse(
                f'and "{twin.header}" are the same column ({name}), in columns '
                f"{twin.position + 1} and {position + 1}: keep one",
                line=line,
                cell=where,
                value=text,
            )
        first.setdefault(name.casefold(), column)
        columns.append(column)
    if not columns:
        findings.give_up("has no names in its header: name its columns", line=line)
    if len(columns) > MAX_COLUMNS:
        findings.give_up(f"has {len(columns)} columns; {MAX_COLUMNS} is the limit")
    return tuple(columns)


def known_names(cells: Sequence[str]) -> int:
    """Return how many cells are the names of known columns."""
    return _names(cells).known


def _names(cells: Sequence[str]) -> _Names:
    written = [canonical_header(cell) for cell in cells if cell.strip()]
    # What people call a column tells a header as well as its name does.
    known = sum(is_known(name) or proposed(name) is not None for name in written)
    free = sum(is_kept_only(name) or is_ours(name) for name in written)
    return _Names(known, len(written) - known - free)


def _different(lines: Sequence[Sequence[str]], found: list[int]) -> tuple[int, ...]:
    """Return the lines that do not just repeat one above."""
    first: dict[tuple[str, ...], int] = {}
    for n in found:
        first.setdefault(tuple(map(str.strip, lines[n])), n)
    return tuple(first.values())
