"""Completes rows with what they share: the row that `uses` names, and the defaults of tags."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from callsheet.tasks.runtime.errors import did_you_mean
from callsheet.tasks.sheet.cells import words
from callsheet.tasks.sheet.headers import SETTINGS
from callsheet.tasks.sheet.rows import with_defaults
from callsheet.tasks.sheet.table import Cell, Findings, Row, Table
from callsheet.tasks.sheet.text import as_text, language_code

_USES = "uses"
#: What a row never takes from another.
_OWN = ("id", "was", _USES, "video_id")


def completed(table: Table, findings: Findings) -> Table:
    """Return the table with every row complete; one that shares nothing is returned as it is."""
    if not table.tagged and _USES not in table.columns:
        return table
    return _Reuse(table, findings).table()


class _Reuse:
    def __init__(self, table: Table, findings: Findings) -> None:
        self.given = table
        self.findings = findings
        self.rows = list(table.rows)
        self.numbers: dict[str, int] = {}
        for number, row in enumerate(self.rows):
            if row.name is not None:
                self.numbers.setdefault(row.name, number)
        self.failed = False
        self.seen: set[str] = set()

    def table(self) -> Table:
        """Return the rows with the cells of those they use, however long the chain."""
        finished: dict[int, Row] = {}
        for number in range(len(self.rows)):
            chain = self._chain(number, finished)
            for one in reversed(chain):
                base = self._used(one)
                shared = None if base is None else finished.get(base)
                finished[one] = _over(self.rows[one], shared)
        for number, row in finished.items():
            finished[number] = self._with_tags(row)
        self._advise_unused()
        return replace(
            self.given,
            rows=tuple(finished[number] for number in range(len(self.rows))),
            complete=self.given.complete and not self.failed,
        )

    def _chain(self, number: int, finished: Mapping[int, Row]) -> list[int]:
        """Return a row and those it uses that are not finished; refuse a circle and an unknown."""
        chain: dict[int, None] = {}
        at: int | None = number
        while at is not None and at not in finished:
            if at in chain:
                circle = [*chain][[*chain].index(at) :]
                names = [str(self.rows[one].name) for one in circle]
                through = " -> ".join([*names, names[0]]) if len(names) < 10 else "many rows"
                self._refuse(at, f"comes back to this row ({through}): take one of them out")
                break
            chain[at] = None
            before, at = at, self._used(at)
            if at is None and _USES in self.rows[before].cells:
                used = as_text(self.rows[before].cells[_USES].value)
                self._refuse(before, f"is not the id of a row{did_you_mean(used, self.numbers)}")
        return [*chain]

    def _with_tags(self, row: Row) -> Row:
        """Return a row with the defaults of its tags; two of them may not differ."""
        given = self.given
        if given.tagged and (axis := row.cells.get("matrix.tags")):
            message = "is an axis, and defaults of tags need the tags in the row"
            self.findings.refuse(message, line=axis.line, cell=axis.where, column="tags")
            return row
        cell = row.cells.get("tags") or given.defaults.get("tags")
        if not given.tagged or cell is None:
            return row
        try:
            tags = words(cell.value)
        except ValueError:
            return row
        shared: dict[str, Cell] = {}
        for tag in tags:
            self.seen.add(tag)
            for name, one in given.tagged.get(tag, {}).items():
                twin = shared.setdefault(name, one)
                if twin.value != one.value and name not in row.cells:
                    self.findings.refuse(
                        f"has two defaults for {name} (lines {twin.line} and {one.line}): "
                        f"write {name} in the row",
                        line=row.line,
                        cell=cell.where,
                        row=row.name,
                        column="tags",
                    )
        return _with_cells(row, shared) if shared else row

    def _advise_unused(self) -> None:
        for tag, cells in self.given.tagged.items():
            if tag not in self.seen:
                line = next((cell.line for cell in cells.values()), None)
                self.findings.advise("matches no row: remove it", line=line, cell=f"tag:{tag}")

    def _used(self, number: int) -> int | None:
        cell = self.rows[number].cells.get(_USES)
        return None if cell is None else self.numbers.get(as_text(cell.value))

    def _refuse(self, number: int, message: str) -> None:
        self.failed = True
        row = self.rows[number]
        cell = row.cells[_USES]
        self.findings.refuse(message, **cell.place(row=row.name, value=as_text(cell.value)))


def _over(row: Row, used: Row | None) -> Row:
    """Return a row with the cells of another one wherever it has none."""
    own = {name: cell for name, cell in row.cells.items() if name != _USES}
    row = row._replace(cells=own)
    return row if used is None else _with_cells(row, used.cells)


def _with_cells(row: Row, shared: Mapping[str, Cell]) -> Row:
    """Return a row with these cells wherever it has none."""
    return row._replace(cells=with_defaults(row, _shared(row.cells, shared)))


def _shared(own: Mapping[str, Cell], used: Mapping[str, Cell]) -> dict[str, Cell]:
    """Return the cells to take: none that would have a column of the row's say two things."""

    def is_said(name: str) -> bool:
        axis = name.removeprefix("matrix.")
        base, _, language = name.rpartition(".")
        return (
            name in _OWN
            or f"matrix.{name}" in own
            or (axis != name and axis not in SETTINGS and axis in own)
            or (base in own and language_code(language.replace("_", "-")) is not None)
        )

    return {name: cell for name, cell in used.items() if not is_said(name)}
