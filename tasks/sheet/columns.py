"""The header line of a CSV or a spreadsheet, matched to columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from tasks.sheet.findings import Findings
from tasks.sheet.headers import canonical_header, check_header, is_known
from tasks.sheet.limits import MAX_COLUMNS
from tasks.sheet.text import tidy

#: Names a cell by its line and column position the way a spreadsheet does: `Sheet1!D14`.
Locate = Callable[[int, int], str]


@dataclass(frozen=True, slots=True)
class Column:
    """A column with a header; one that is not usable has its problem noted already."""

    position: int
    header: str
    name: str
    usable: bool


def where(name: str, line: int, position: int, locate: Locate | None) -> str:
    """Return how a message names a cell: `aspect_ratio (Sheet1!D14)`."""
    return f"{name} ({locate(line, position)})" if locate else name


def read_header(
    cells: tuple[str, ...], line: int, findings: Findings, locate: Locate | None
) -> tuple[Column, ...]:
    """Return the columns that have a header; raise when not one of them is known."""
    written = [cell for cell in cells if cell.strip()]
    if len(written) == 1 and not is_known(canonical_header(written[0])):
        _give_up(line, findings)
    columns: list[Column] = []
    first: dict[str, Column] = {}
    for position, cell in enumerate(cells):
        try:
            header = tidy(cell)
        except ValueError as fault:
            findings.refuse(str(fault), line=line, cell=f"column {position + 1}")
            continue
        if not header:
            continue
        name = canonical_header(header)
        place = where("column", line, position, locate)
        usable = check_header(header, findings, line=line, where=place)
        column = Column(position, header, name, usable and name.casefold() not in first)
        if twin := first.get(name.casefold()):
            findings.refuse(
                f'and "{twin.header}" are the same column ({name}), in columns '
                f"{twin.position + 1} and {position + 1}: keep one",
                line=line,
                cell=place,
                value=header,
            )
        first.setdefault(name.casefold(), column)
        columns.append(column)
    if len(columns) > MAX_COLUMNS:
        findings.give_up(f"has {len(columns)} columns; {MAX_COLUMNS} is the limit")
    if not any(is_known(column.name) for column in columns):
        _give_up(line, findings)
    return tuple(columns)


def _give_up(line: int, findings: Findings) -> NoReturn:
    findings.give_up(
        "has no column Callsheet knows in its first line: is that the header, "
        "and is the delimiter right?",
        line=line,
    )
