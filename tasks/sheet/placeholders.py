"""Fills the `{placeholders}` in a row's texts from its own `x_` columns.

A name is replaced once by the text of its column. Nothing is evaluated or formatted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from callsheet.tasks.runtime.errors import did_you_mean
from callsheet.tasks.sheet.columns import FIELDS
from callsheet.tasks.sheet.headers import canonical_header, is_kept_only
from callsheet.tasks.sheet.table import Cell, Findings, Row
from callsheet.tasks.sheet.text import as_text
from callsheet.tasks.sheet.trees import parse_json
from callsheet.tasks.values.briefs import Json

_WORDS = frozenset(("title", "topic", "script", "narration", "notes", "cost_center", FIELDS))
#: Columns in which text that begins with a brace is an object.
_OBJECTS = frozenset(("script", "narration", FIELDS))
#: A doubled brace, a placeholder, or one that is not closed. What has quotes is JSON.
_MARK = re.compile(r'\{\{|\}\}|\{([^{}"]*)\}|(\{\s*x_\w*)')


def has_placeholder(cell: Cell) -> bool:
    """Say whether a cell may have a placeholder: a brace in a column of texts."""
    column = cell.column
    return (column in _WORDS or column.startswith(f"{FIELDS}.")) and _has_brace(cell.value)


def filled(
    row: Row, merged: Mapping[str, Cell], defaults: Mapping[str, Cell], findings: Findings
) -> Mapping[str, Cell]:
    """Return the cells of a row with its texts filled; note each mistake with its cell."""
    marked = [cell for cell in merged.values() if not cell.faulty and has_placeholder(cell)]
    if not marked:
        return merged
    given = [(canonical_header(header), text) for header, text in row.texts]
    own = {name: text for name, text in given if is_kept_only(name)}
    name = merged.get("id")
    changed: dict[str, Cell] = {}
    for cell in marked:
        filling = _Filling(own)
        value = filling.value(cell.column, cell.value)
        for fault, is_rows_own in filling.faults.items():
            shared = defaults.get(cell.column) is cell and not is_rows_own
            findings.refuse(
                fault,
                line=row.line if is_rows_own and cell.line is None else cell.line,
                cell=cell.where,
                row=as_text(name.value) if name and not shared else None,
                column=cell.column,
            )
        if filling.faults or value != cell.value:
            changed[cell.column] = cell._replace(value=value, faulty=bool(filling.faults))
    return {**merged, **changed} if changed else merged


class _Filling:
    """Fills one cell; a fault says whether it is about the row alone."""

    def __init__(self, own: Mapping[str, str]) -> None:
        self.own = own
        self.faults: dict[str, bool] = {}

    def value(self, column: str, value: Json) -> Json:
        """Return a cell's value filled; an object in JSON is filled text by text."""
        if not isinstance(value, str) or not value.lstrip().startswith("{"):
            return self.tree(value)
        try:
            document = parse_json(value)
        except ValueError:
            # A broken object is refused by whoever reads the column.
            broken = column in _OBJECTS and re.match(r"\s*\{\s*[\"'“]", value)
            return value if broken else self.text(value)
        found = self.tree(document)
        if found == document:
            return value
        return found if column in _OBJECTS else json.dumps(found, ensure_ascii=False)

    def tree(self, value: Json) -> Json:
        """Return a value with each text in it filled, names of members excepted."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {name: self.tree(one) for name, one in value.items()}
        return [self.tree(one) for one in value] if isinstance(value, list) else value

    def text(self, text: str) -> str:
        """Return a text filled: names first, doubled braces as one."""
        return _MARK.sub(self._mark, text) if "{" in text else text

    def _mark(self, found: re.Match[str]) -> str:
        mark: str = found[0]
        if mark in ("{{", "}}"):
            return mark[0]
        if found[2]:
            self.faults[f"has {mark} without its closing brace; write {{{{ for a brace"] = False
            return mark
        name = canonical_header(found[1].strip())
        column = name if name in self.own else f"x_{name}"
        if column not in self.own:
            column = name if is_kept_only(name) else column
            meant = did_you_mean(column, self.own, cutoff=0.75) or "; write {{ for a brace"
            self.faults[f"has {mark}, and no column is called {column}{meant}"] = False
        elif not self.own[column].strip():
            self.faults[f"has {mark}, and {column} is empty in this row"] = True
        return self.own.get(column, mark)


def _has_brace(value: Json) -> bool:
    if isinstance(value, str):
        return "{" in value
    if isinstance(value, Mapping):
        return any(map(_has_brace, value.values()))
    return isinstance(value, list) and any(map(_has_brace, value))
