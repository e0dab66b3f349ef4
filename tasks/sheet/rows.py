"""A table to briefs: what each row asks for, and what is Callsheet's own about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from tasks.brief import Brief, Json
from tasks.sheet import cells
from tasks.sheet.defaults import is_input, merged_with
from tasks.sheet.findings import Findings
from tasks.sheet.headers import FIELDS
from tasks.sheet.identity import content_id, row_id_fault
from tasks.sheet.ratio import Recovered
from tasks.sheet.script import read_object, read_script
from tasks.sheet.table import Cell, Row, Table
from tasks.sheet.text import is_blank
from tasks.sheet.twins import Draft, refuse_twins


def to_briefs(table: Table, findings: Findings, *, folder: Path | None) -> tuple[Brief, ...]:
    """Return a brief for every row; the problems are noted, and with any the briefs are void."""
    reader = _Reader(findings, folder, complete=table.complete)
    drafts = [reader.draft(row, merged_with(row, table.defaults)) for row in table.rows]
    known = [draft for draft in drafts if draft is not None]
    refuse_twins(known, findings)
    if nameless := [draft.brief.line for draft in known if draft.place is None]:
        count = len(nameless)
        findings.advise(
            f"has {count} {'row' if count == 1 else 'rows'} without an id (from line "
            f"{nameless[0]} on): give each an id, else a changed row counts as a new film"
        )
    return tuple(draft.brief for draft in known)


class _Reader:
    def __init__(self, findings: Findings, folder: Path | None, *, complete: bool) -> None:
        self.findings = findings
        self.folder = folder
        self.complete = complete
        self.failed = False

    def draft(self, row: Row, merged: Mapping[str, Cell]) -> Draft | None:
        """Return the brief of a row, or None when something is wrong and it has no id."""
        self.failed = False
        request = self._request(row, merged)
        name = self._parsed(merged.get("id"), _row_id, "")
        captions = self._parsed(merged.get("captions"), cells.captions, cells.captions("both"))
        enabled = self._parsed(merged.get("enabled"), cells.truth, True)
        priority = self._parsed(merged.get("priority"), cells.whole, 0)
        max_credits = self._parsed(merged.get("max_credits"), cells.amount, None)
        tags = self._parsed(merged.get("tags"), cells.words, ())
        cost_center = self._parsed(merged.get("cost_center"), cells.text, None)
        notes = self._parsed(merged.get("notes"), cells.text, None)
        # A faulty row with an id still takes part in the search for twins: every problem at once.
        if self.failed and not name:
            return None
        brief = Brief(
            row=name or content_id(request),
            request=request,
            captions=captions,
            enabled=enabled,
            priority=priority,
            max_credits=max_credits,
            tags=tags,
            cost_center=cost_center,
            notes=notes,
            line=row.line,
            cells=row.texts,
        )
        return Draft(brief, merged.get("id"))

    def _request(self, row: Row, merged: Mapping[str, Cell]) -> dict[str, Json]:
        request: dict[str, Json] = {}
        for column, parse in cells.REQUEST_PARSERS.items():
            if column in merged:
                request[column] = self._parsed(merged[column], parse, None)
        if "script" in merged:
            request["script"] = self._parsed(
                merged["script"], lambda value: read_script(value, folder=self.folder), None
            )
        if inputs := self._inputs(merged):
            request["fields"] = inputs
        self._check_source(row, merged)
        return request

    def _inputs(self, merged: Mapping[str, Cell]) -> dict[str, Json]:
        whole = merged.get(FIELDS)
        inputs: dict[str, Json] = self._parsed(whole, read_object, {})
        inputs = {name: value for name, value in inputs.items() if not is_blank(value)}
        for column, cell in merged.items():
            if column.startswith("fields."):
                name = column.removeprefix("fields.")
                if name in inputs:
                    self._refuse(cell, f"is also in {FIELDS}: keep one")
                if not self._is_faulty(cell):
                    inputs[name] = cell.value
        return inputs

    def _check_source(self, row: Row, merged: Mapping[str, Cell]) -> None:
        if ("tool" in merged) == ("script" in merged):
            self.failed = True
            if "tool" in merged:
                message = "has both a tool and a script: give one of them"
                self.findings.refuse(message, line=row.line)
            elif self.complete:
                message = "has neither a tool nor a script: give one of them"
                self.findings.refuse(message, line=row.line)
        elif "script" in merged:
            for column, cell in merged.items():
                if is_input(column):
                    self._refuse(cell, "is an input for a tool, but the row has a script")

    def _parsed(self, cell: Cell | None, parse: Callable[[Json], Json], absent: Json) -> Json:
        if cell is None or self._is_faulty(cell):
            return absent
        try:
            value = parse(cell.value)
        except ValueError as fault:
            self._refuse(cell, str(fault))
            return absent
        if isinstance(value, Recovered):
            self.findings.advise(
                f"{value.how}; it is read as {value.value}",
                line=cell.line,
                cell=cell.where,
                value=str(cell.value),
            )
            return value.value
        return value

    def _is_faulty(self, cell: Cell) -> bool:
        self.failed = self.failed or cell.faulty
        return cell.faulty

    def _refuse(self, cell: Cell, message: str) -> None:
        shown = str(cell.value) if isinstance(cell.value, str | int | float) else None
        self.findings.refuse(message, line=cell.line, cell=cell.where, value=shown)
        self.failed = True


def _row_id(value: Json) -> str:
    said = cells.text(value)
    if fault := row_id_fault(said):
        raise ValueError(fault)
    return said
