"""Reports how ambiguous cells were read, and remembers rows of the same pattern.

Owns which readings could have been meant otherwise. A reading that could not is not mentioned.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

from callsheet.tasks.sheet import cells
from callsheet.tasks.sheet.columns import FIELDS, NAMES, ROWS, OwnColumns, is_free
from callsheet.tasks.sheet.headers import canonical_header
from callsheet.tasks.sheet.table import Cell, Findings, Table
from callsheet.tasks.sheet.text import COUNTRIES
from callsheet.tasks.values.briefs import Json

#: Columns whose readings may be guesses, and the unit of what was read.
UNITS = {
    "duration_seconds": " seconds", "max_credits": " credits", "budget": " credits",
    "priority": "", "character_id": "", "aspect_ratio": "", "language": "", "id": "",
    "enabled": "", **dict.fromkeys(NAMES, ""),
}  # fmt: skip
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
        if not table.gridded:
            return False
        if "enabled" not in map(canonical_header, table.columns):
            return False
        marks = [row.cells["enabled"] for row in table.rows if "enabled" in row.cells]
        empty = len(table.rows) - len(marks)
        if not marks or not empty or not all(map(_is_tick, marks)):
            return False
        self._columns -= {"enabled"}
        findings.note(
            f"ticks {_rows(len(marks))}, and an empty cell is read as no ({_rows(empty)}): "
            "write yes and no if that is not meant",
            line=marks[0].line,
            cell=marks[0].where,
            value=str(marks[0].value),
            column="enabled",
        )
        return True

    def consider(self, merged: Mapping[str, Cell], said: OwnColumns) -> bool:
        """Note the guesses in the cells of a row, or of the defaults; return whether any is."""
        guessed = False
        for column, cell in merged.items():
            if column not in self._columns:
                continue
            raw, value = cell.value, getattr(said, column, None)
            if not isinstance(raw, str) or value is None:
                continue
            words = reading(column, raw, value) if raw != value else None
            if column == "language" and (meant := COUNTRIES.get(raw.casefold())):
                words = f'is sent as it stands, and is a country\'s code: is "{meant}" meant?'
            if words:
                guessed = True
                self._count(cell, raw, words)
        return guessed

    def _count(self, cell: Cell, raw: str, said: str) -> None:
        kind = cell.column, _DIGITS.sub("0", raw.casefold())
        first, words, count, same = self._found.get(kind, (cell, said, 0, 0))
        if not count or first is not cell:  # A default is the same cell in every row.
            self._found[kind] = first, words, count + 1, same + (raw == first.value)

    def tell(self, findings: Findings) -> None:
        """Say every kind once."""
        for (column, _), (cell, words, count, same) in self._found.items():
            also = "" if count == 1 else f", in {_rows(count)}"
            if count > same:
                also = f"; so {'is' if count == 2 else 'are'} {count - 1} more like it"
            findings.note(
                f"{words}{also}",
                line=cell.line,
                cell=cell.where,
                value=str(cell.value),
                column=column,
            )


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


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows"


def _is_tick(cell: Cell) -> bool:
    try:
        return not cell.faulty and cells.is_tick(cell.value)
    except ValueError:
        return False


# Rows that are alike: most differ in their texts alone, and need not each be validated again.
#
# Owns what is remembered of a row that was validated. A row is like one before when it has the same
# columns, the same values in those that are read into something else, and no cell with a problem.


#: Patterns that are remembered at most, of each set of columns.
KNOWN = 10_000
_CREATE = "create"
_INPUT = f"{FIELDS}."


class _Columns(NamedTuple):
    """The columns of a row, by how they are read."""

    #: What is read into something else, or one of a closed list.
    coded: tuple[str, ...]
    #: Members of the request that are as they were written, with what reads them otherwise.
    free: tuple[tuple[str, Callable[..., Json] | None], ...]
    #: Callsheet's own that are as they were written.
    own: tuple[str, ...]
    #: Inputs of a tool: the column, and the name of the input.
    inputs: tuple[tuple[str, str], ...]
    known: dict[tuple[Json, ...], tuple[OwnColumns, dict[str, Json]]]


class Patterns:
    """Remembers rows that ask for a video."""

    def __init__(self, folder: Path | None) -> None:
        self._columns: dict[tuple[str, ...], _Columns | None] = {}
        self._info = SimpleNamespace(context=folder)

    def like(self, merged: Mapping[str, Cell]) -> tuple[OwnColumns, dict[str, Json]] | None:
        """Return what a row says, but for its free columns, and its request; None: look closely."""
        columns = self._columns.get(tuple(merged))
        if columns is None:
            return None
        key = _key(columns, merged)
        found = None if key is None else columns.known.get(key)
        if found is None:
            return None
        said, pattern = found
        request = dict(pattern)
        for name, parse in columns.free:
            value = merged[name].value
            if type(value) is not str:
                return None
            try:
                request[name] = value if parse is None else parse(value, self._info)
            except ValueError:
                return None
        for own in columns.own:
            if type(merged[own].value) is not str:
                return None
        if columns.inputs:
            request[FIELDS] = {name: merged[column].value for column, name in columns.inputs}
        return said, request

    def keep(self, merged: Mapping[str, Cell], said: OwnColumns, request: dict[str, Json]) -> None:
        """Remember a row that has no problem, and in which nothing was guessed."""
        names = tuple(merged)
        if names not in self._columns:
            self._columns[names] = _sorted(names) if len(self._columns) < KNOWN else None
        columns = self._columns[names]
        if columns is None or len(columns.known) >= KNOWN:
            return
        key = _key(columns, merged)
        if key is not None:
            columns.known[key] = said, request


def _key(columns: _Columns, merged: Mapping[str, Cell]) -> tuple[Json, ...] | None:
    key = []
    for name in columns.coded:
        value = merged[name].value
        # 1, 1.0 and True are the same key, and not the same value.
        if type(value) is not str:
            return None
        key.append(value)
    for cell in merged.values():
        if cell.faulty:
            return None
    return tuple(key)


def _sorted(names: tuple[str, ...]) -> _Columns | None:
    """Return columns by how they are read; None where there is more to one of them."""
    asked = ROWS[_CREATE].model_fields
    coded: list[str] = []
    free: list[tuple[str, Callable[..., Json] | None]] = []
    own: list[str] = []
    inputs: list[tuple[str, str]] = []
    for name in names:
        if name.startswith(_INPUT):
            inputs.append((name, name.removeprefix(_INPUT)))
        elif name == "id":
            continue
        elif name in (FIELDS, "was") or name not in asked:
            return None
        elif not (kind := is_free(asked[name])).free:
            coded.append(name)
        elif name in OwnColumns.model_fields:
            own.append(name)
        else:
            free.append((name, kind.parse))
    return _Columns(tuple(coded), tuple(free), tuple(own), tuple(inputs), {})
