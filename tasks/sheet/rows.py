"""A table to briefs: what each row asks for, and what is Callsheet's own about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from tasks.brief import CREATE, Brief, Json
from tasks.sheet import cells, clips
from tasks.sheet.defaults import merged_with
from tasks.sheet.findings import Findings
from tasks.sheet.identity import content_id, row_id_fault
from tasks.sheet.requests import Reading
from tasks.sheet.table import Cell, Row, Table
from tasks.sheet.twins import Draft, refuse_twins


def to_briefs(table: Table, findings: Findings, *, folder: Path | None) -> tuple[Brief, ...]:
    """Return a brief for every row; the problems are noted, and with any the briefs are void."""
    reading = Reading(findings, folder, complete=table.complete)
    drafts = [_draft(reading, row, merged_with(row, table.defaults)) for row in table.rows]
    known = [draft for draft in drafts if draft is not None]
    refuse_twins(known, findings)
    if nameless := [draft.brief.line for draft in known if draft.place is None]:
        count = len(nameless)
        findings.advise(
            f"has {count} {'row' if count == 1 else 'rows'} without an id (from line "
            f"{nameless[0]} on): give each an id, else a changed row counts as a new film"
        )
    return tuple(draft.brief for draft in known)


def _draft(reading: Reading, row: Row, merged: Mapping[str, Cell]) -> Draft | None:
    """Return the brief of a row, or None when something is wrong and it has no id."""
    reading.failed = False

    def parsed(column: str, parse: Callable[[Json], Json], absent: Json) -> Json:
        return reading.parsed(merged.get(column), parse, absent)

    operation = parsed("operation", clips.operation, CREATE)
    # What a row of an unknown operation lacks, or has too much, nobody can say.
    request = {} if reading.failed else reading.request(row, merged, operation)
    usual = cells.captions("both" if operation == CREATE else "none")
    name = parsed("id", _row_id, "")
    brief = Brief(
        row=name or content_id(operation, request),
        operation=operation,
        request=request,
        captions=parsed("captions", cells.captions, usual),
        enabled=parsed("enabled", cells.truth, True),
        priority=parsed("priority", cells.whole, 0),
        max_credits=parsed("max_credits", cells.amount, None),
        tags=parsed("tags", cells.words, ()),
        cost_center=parsed("cost_center", cells.text, None),
        notes=parsed("notes", cells.text, None),
        line=row.line,
        cells=row.texts,
    )
    # A faulty row with an id still takes part in the search for twins: every problem at once.
    return None if reading.failed and not name else Draft(brief, merged.get("id"))


def _row_id(value: Json) -> str:
    said = cells.text(value)
    if fault := row_id_fault(said):
        raise ValueError(fault)
    return said
