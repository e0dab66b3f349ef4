"""A row's cells to what it asks of the service: a film, or one of the clips."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from tasks.brief import Json
from tasks.sheet import cells, clips
from tasks.sheet.defaults import is_input
from tasks.sheet.findings import Findings
from tasks.sheet.headers import BODY, FIELDS
from tasks.sheet.json_tree import parse_json
from tasks.sheet.ratio import Recovered
from tasks.sheet.script import read_object, read_script
from tasks.sheet.table import Cell, Row
from tasks.sheet.text import is_blank


class Reading:
    """Reads the cells of one row at a time; `failed` says that one of them had a problem.

    A sheet that is not `complete` had columns refused: what a row lacks may be in one of them.
    """

    def __init__(self, findings: Findings, folder: Path | None, *, complete: bool) -> None:
        self.findings = findings
        self.folder = folder
        self.complete = complete
        self.failed = False

    def request(self, row: Row, merged: Mapping[str, Cell], operation: str) -> dict[str, Json]:
        """Return the body that a row asks for, without what Callsheet adds to it."""
        clip = clips.CLIPS.get(operation)
        if clip is None:
            return self._film(row, merged)
        return self._clip(row, merged, clip, operation)

    def parsed(self, cell: Cell | None, parse: Callable[[Json], Json], absent: Json) -> Json:
        """Return what a cell says, or `absent`; a problem is noted."""
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

    def _film(self, row: Row, merged: Mapping[str, Cell]) -> dict[str, Json]:
        request: dict[str, Json] = {}
        for column, parse in cells.REQUEST_PARSERS.items():
            if column in merged:
                request[column] = self.parsed(merged[column], parse, None)
        if "script" in merged:
            request["script"] = self.parsed(
                merged["script"], lambda value: read_script(value, folder=self.folder), None
            )
        if inputs := self._inputs(merged):
            request["fields"] = inputs
        self._check_source(row, merged)
        for column, cell in merged.items():
            if clips.is_for_clips(column):
                kinds = ", ".join(clips.CLIPS)
                self._refuse(cell, f"is for a row whose operation is one of {kinds}")
        return request

    def _clip(
        self, row: Row, merged: Mapping[str, Cell], clip: clips.Clip, operation: str
    ) -> dict[str, Json]:
        """Return the request of a clip; members given as `body.<name>` win."""
        request: dict[str, Json] = {}
        parsers = clips.parsers_of(clip, self.folder)
        given: dict[str, Json] = {}
        for column, cell in merged.items():
            if column in parsers:
                request[column] = self.parsed(cell, parsers[column], None)
            elif column.startswith(f"{BODY}."):
                given[column.removeprefix(f"{BODY}.")] = self.parsed(cell, _member, None)
            elif clips.is_asked(column):
                self._refuse(cell, f"is not for {operation}")
        for group in clip.needs:
            count = sum(column in request for column in group)
            # What the service calls it may be another name: then it is among the `body.` columns.
            if count > 1:
                self._refuse_row(row, f"has both {' and '.join(group)}: give one of them")
            elif count == 0 and not given and self.complete:
                self._refuse_row(row, f"asks for {operation} and has no {' or '.join(group)}")
        return {**request, **given}

    def _inputs(self, merged: Mapping[str, Cell]) -> dict[str, Json]:
        whole = merged.get(FIELDS)
        inputs: dict[str, Json] = self.parsed(whole, read_object, {})
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
                self._refuse_row(row, "has both a tool and a script: give one of them")
            elif self.complete:
                self._refuse_row(row, "has neither a tool nor a script: give one of them")
        elif "script" in merged:
            for column, cell in merged.items():
                if is_input(column):
                    self._refuse(cell, "is an input for a tool, but the row has a script")

    def _is_faulty(self, cell: Cell) -> bool:
        self.failed = self.failed or cell.faulty
        return cell.faulty

    def _refuse_row(self, row: Row, message: str) -> None:
        self.findings.refuse(message, line=row.line)
        self.failed = True

    def _refuse(self, cell: Cell, message: str) -> None:
        shown = str(cell.value) if isinstance(cell.value, str | int | float) else None
        self.findings.refuse(message, line=cell.line, cell=cell.where, value=shown)
        self.failed = True


def _member(value: Json) -> Json:
    """Return a member of a body: JSON where it is JSON (`5`, `true`, `["a"]`), else the text."""
    if not isinstance(value, str):
        return value
    try:
        return parse_json(value)
    except ValueError:
        return value
