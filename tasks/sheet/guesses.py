"""Reports how ambiguous cells were read.

Owns which readings could have been meant otherwise. A reading that could not is not mentioned.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from functools import lru_cache

from callsheet.tasks.sheet import cells
from callsheet.tasks.sheet.table import Cell, Findings, Table
from callsheet.tasks.sheet.text import COUNTRIES
from callsheet.tasks.values.amounts import count
from callsheet.tasks.values.briefs import Json
from callsheet.tasks.values.requests import NAMES

#: Columns whose readings may be guesses, and the unit of what was read.
UNITS = {
    "duration_seconds": " seconds", "max_credits": " credits", "budget": " credits",
    "priority": "", "character_id": "", "aspect_ratio": "", "language": "", "id": "",
    "enabled": "", **dict.fromkeys(NAMES, ""),
}  # fmt: skip
#: Texts of which it is remembered how they were read, at most.
KNOWN = 10_000
_PLAIN_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?")
_DIGITS = re.compile(r"[0-9]+")


class Guesses:
    """Collects the readings of one sheet that could have been meant otherwise."""

    def __init__(self) -> None:
        #: By column and kind: the first cell, what is said of it, how many there are and how many
        #: of them hold the same text.
        self._found: dict[tuple[str, str], tuple[Cell, str, int, int]] = {}
        self._columns = frozenset(UNITS)

    def ticked(self, table: Table, findings: Findings) -> bool:
        """Say whether rows are ticked: some have a mark in `enabled`, the others have nothing.

        Then an empty cell means no, which is noted. Only a sheet of cells has empty ones.
        """
        if table.place is None or "enabled" not in table.columns:
            return False
        marks = [row.cells["enabled"] for row in table.rows if "enabled" in row.cells]
        empty = len(table.rows) - len(marks)
        if not marks or not empty or not all(map(_is_tick, marks)):
            return False
        self._columns -= {"enabled"}
        findings.note(
            f"ticks {count(len(marks), 'row')}, and an empty cell is read as no "
            f"({count(empty, 'row')}): "
            "write yes and no if that is not meant",
            **marks[0].place(value=str(marks[0].value)),
        )
        return True

    def consider(self, merged: Mapping[str, Cell], said: Mapping[str, Json]) -> None:
        """Note the guesses in the cells of a row, or of the defaults."""
        for column, cell in merged.items():
            if column not in self._columns:
                continue
            raw, value = cell.value, said.get(column)
            if type(raw) is not str or value is None or (raw == value and column != "language"):
                continue
            words = reading(column, raw, value) if raw != value else None
            if column == "language" and (meant := COUNTRIES.get(raw.casefold())):
                words = f'is sent as it stands, and is a country\'s code: is "{meant}" meant?'
            if words:
                self._count(cell, raw, words)

    def _count(self, cell: Cell, raw: str, said: str) -> None:
        kind = cell.column, _DIGITS.sub("0", raw.casefold())
        first, words, number, same = self._found.get(kind, (cell, said, 0, 0))
        if not number or first is not cell:  # A default is the same cell in every row.
            self._found[kind] = first, words, number + 1, same + (raw == first.value)

    def tell(self, findings: Findings) -> None:
        """Say every kind once."""
        for cell, words, number, same in self._found.values():
            also = "" if number == 1 else f", in {count(number, 'row')}"
            if number > same:
                also = f"; so {'is' if number == 2 else 'are'} {number - 1} more like it"
            findings.note(f"{words}{also}", **cell.place(value=str(cell.value)))


@lru_cache(maxsize=KNOWN)
def reading(column: str, raw: str, value: Json) -> str | None:
    """Return how a text was read where it could have been meant otherwise, else None."""
    if isinstance(value, bool):
        return f"is read as {'yes' if value else 'no'}" if raw.casefold() == "x" else None
    if isinstance(value, int | Decimal) and _PLAIN_NUMBER.fullmatch(raw):
        return None
    if column == "aspect_ratio":
        if not cells.is_time_of_day(raw):
            return None
        return f"is a time of day that a spreadsheet made of it; it is read as {value}"
    shown = f"{value:f}" if isinstance(value, Decimal) else str(value)
    money = ", not as money" if column in ("max_credits", "budget") and cells.is_money(raw) else ""
    return f"is read as {shown}{UNITS[column]}{money}"


def _is_tick(cell: Cell) -> bool:
    try:
        return not cell.faulty and cells.is_tick(cell.value)
    except ValueError:
        return False
