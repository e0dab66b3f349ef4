"""Rows that a workbook hides, or that a filter leaves out of it: read, or left out as asked.

They are in the sheet either way: a row that is hidden has not left it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from callsheet.tasks.brief import Brief
from callsheet.tasks.sheet.findings import Findings
from callsheet.tasks.sheet.rows import to_briefs
from callsheet.tasks.sheet.table import Table
from callsheet.tasks.sheet.values import HiddenRows


def note_hidden(table: Table, wanted: HiddenRows | None, findings: Findings) -> None:
    """Note how many rows are hidden, and what becomes of them."""
    hidden = table.hidden
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


def without_hidden(
    table: Table, findings: Findings, folder: Path | None
) -> tuple[Table, frozenset[str]]:
    """Return the table without its hidden rows, and the ids of those, right or not."""
    if not table.hidden:
        return table, frozenset()
    hidden = replace(table, rows=tuple(row for row in table.rows if row.hidden))
    seen = tuple(row for row in table.rows if not row.hidden)
    visible = replace(table, rows=seen, hidden=())
    unseen, _ = to_briefs(hidden, Findings(findings.file), folder=folder)
    if hidden.rows and not visible.rows:
        findings.refuse("has no rows but hidden ones; --include-hidden reads them")
    return visible, frozenset(brief.row for brief in unseen)


def hidden_among(briefs: Iterable[Brief], table: Table) -> frozenset[str]:
    """Return the ids of the briefs whose rows are hidden."""
    lines = frozenset(table.hidden)
    return frozenset(brief.row for brief in briefs if brief.line in lines) if lines else frozenset()


def _ranges(lines: Sequence[int]) -> str:
    found: list[list[int]] = []
    for line in lines:
        if found and found[-1][1] == line - 1:
            found[-1][1] = line
        else:
            found.append([line, line])
    said = [str(first) if first == last else f"{first} to {last}" for first, last in found]
    return ", ".join(said[:4] + ["..."] * (len(said) > 4))
