"""Rows that a workbook hides, or that a filter leaves out of it: read, or left out as asked.

They are in the sheet either way: a row that is hidden has not left it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from callsheet.tasks.sheet.headers import is_usable
from callsheet.tasks.sheet.rows import to_briefs
from callsheet.tasks.sheet.table import Findings, Table
from callsheet.tasks.sheet.text import row_id_fault
from callsheet.tasks.values.briefs import (
    Brief,
    HiddenRows,
)


def note_hidden(table: Table, wanted: HiddenRows | None, findings: Findings) -> None:
    """Note how many rows are hidden, and what becomes of them."""
    hidden = sorted(table.hidden)
    if not hidden:
        return
    rows, they = ("row", "it is") if len(hidden) == 1 else ("rows", "they are")
    outcome = {
        "skip": f"{they} left out",
        "read": f"{they} read",
        None: "a run asks before it pays for them (--visible-only leaves them out, "
        "--include-hidden reads them)",
    }[wanted]
    findings.note(
        f"has {len(hidden)} of its {len(table.rows)} rows hidden ({rows} {_ranges(hidden)}): "
        f"{outcome}"
    )


def without_refused(table: Table) -> Table:
    """Return a table whose refused columns are kept and never read, under names no header has."""
    names = {name: name if is_usable(name) else f"x_.{name}" for name in table.columns}
    rows = (
        row._replace(cells={names[name]: cell for name, cell in row.cells.items()})
        for row in table.rows
    )
    columns = {names[name]: header for name, header in table.columns.items()}
    return replace(table, columns=columns, rows=tuple(rows))


def without_hidden(
    table: Table, findings: Findings, folder: Path | None
) -> tuple[Table, frozenset[str]]:
    """Return the table without its hidden rows, and the ids of those, right or not."""
    if not table.hidden:
        return table, frozenset()
    rows = [*table.rows]
    hidden = replace(table, rows=[row for row in rows if row.line in table.hidden])
    visible = replace(table, rows=[row for row in rows if row.line not in table.hidden], hidden=())
    unseen, _ = to_briefs(hidden, Findings(findings.file), folder=folder)
    if hidden.rows and not visible.rows:
        findings.refuse("has no rows but hidden ones; --include-hidden reads them")
    return visible, frozenset(brief.row for brief in unseen if not row_id_fault(brief.row))


def hidden_among(briefs: Iterable[Brief], table: Table) -> frozenset[str]:
    """Return the ids of the briefs whose rows are hidden."""
    return frozenset(brief.row for brief in briefs if brief.line in table.hidden)


def _ranges(lines: Sequence[int]) -> str:
    found: list[list[int]] = []
    for line in lines:
        if found and found[-1][1] == line - 1:
            found[-1][1] = line
        else:
            found.append([line, line])
    said = [str(first) if first == last else f"{first} to {last}" for first, last in found]
    return ", ".join(said[:4] + ["..."] * (len(said) > 4))
