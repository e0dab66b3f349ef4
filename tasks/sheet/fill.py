"""What a sheet was found to be: its columns and how full each is, also where it has problems."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from callsheet.tasks.errors import Problem, SheetError
from callsheet.tasks.sheet.findings import Findings
from callsheet.tasks.sheet.formats import read_table
from callsheet.tasks.sheet.read import sheet_of
from callsheet.tasks.sheet.values import Sheet, SheetOptions


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundColumn:
    """A column under its canonical name, and in how many rows it has a value."""

    name: str
    filled: int


@dataclass(frozen=True, kw_only=True)
class FoundSheet:
    """Rows and columns of a sheet, nothing of what cannot be read at all; its problems, or it."""

    rows: int = 0
    columns: tuple[FoundColumn, ...] = ()
    sheet: Sheet | None = None
    problems: tuple[Problem, ...] = ()
    notes: tuple[Problem, ...] = field(default=())

    def good(self) -> Sheet:
        """Return the sheet; raise SheetError with every problem that it has."""
        if self.sheet is None:
            raise SheetError(self.problems, notes=self.notes)
        return self.sheet


def find_sheet_in(
    content: bytes,
    *,
    name: str,
    options: SheetOptions,
    folder: Path | None = None,
    address: str | None = None,
) -> FoundSheet:
    """Return what is in `content`, which is read once; the parameters are `parse_sheet`'s."""
    findings = Findings(name)
    rows = 0
    columns: tuple[FoundColumn, ...] = ()
    try:
        table = read_table(content, options, findings)
        rows = len(table.rows)
        filled = Counter(column for row in table.rows for column in row.cells)
        named = dict.fromkeys([*table.columns, *filled])
        columns = tuple(FoundColumn(name=one, filled=filled[one]) for one in named)
        sheet = sheet_of(table, findings, content, options=options, folder=folder, address=address)
    except SheetError as error:
        return FoundSheet(
            rows=rows, columns=columns, problems=tuple(error.problems), notes=tuple(error.notes)
        )
    return FoundSheet(rows=rows, columns=columns, sheet=sheet)
