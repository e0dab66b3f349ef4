"""Rows that are alike: most differ in their texts alone, and need not be validated each anew.

Owns what is remembered of a row that was validated. A row is like one before when it has the same
columns, the same values in those that are read into something else, and no cell with a problem.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

from callsheet.tasks.brief import Json
from callsheet.tasks.sheet.columns import FIELDS, ROWS, OwnColumns, is_free
from callsheet.tasks.sheet.table import Cell

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
        elif name == FIELDS or name not in asked:
            return None
        elif not (kind := is_free(asked[name])).free:
            coded.append(name)
        elif name in OwnColumns.model_fields:
            own.append(name)
        else:
            free.append((name, kind.parse))
    return _Columns(tuple(coded), tuple(free), tuple(own), tuple(inputs), {})
