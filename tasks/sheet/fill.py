"""Which columns a sheet was found to have, and how full each is; also of one that has problems."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from callsheet.tasks.errors import SheetError
from callsheet.tasks.garbage import no_search
from callsheet.tasks.sheet.findings import Findings
from callsheet.tasks.sheet.formats import read_table
from callsheet.tasks.sheet.values import SheetOptions


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundColumn:
    """A column under its canonical name, and in how many rows it has a value."""

    name: str
    filled: int


def columns_found(
    content: bytes, *, name: str, options: SheetOptions
) -> tuple[int, tuple[FoundColumn, ...]]:
    """Return how many rows a sheet has, and its columns; nothing of what cannot be read at all."""
    try:
        with no_search():
            table = read_table(content, options, Findings(name))
            filled = Counter(column for row in table.rows for column in row.cells)
    except SheetError:
        return 0, ()
    named = dict.fromkeys([*table.columns, *filled])
    return len(table.rows), tuple(FoundColumn(name=one, filled=filled[one]) for one in named)
