"""Reads a table into briefs, and applies what a person chose about hidden rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from callsheet.tasks.sheet import cells
from callsheet.tasks.sheet.columns import (
    ANY_ROW,
    ASKED,
    BODY,
    CLIP_COLUMNS,
    FIELDS,
    OWN,
    ROWS,
    Column,
)
from callsheet.tasks.sheet.grid import Grid
from callsheet.tasks.sheet.guesses import Guesses
from callsheet.tasks.sheet.placeholders import filled, has_placeholder
from callsheet.tasks.sheet.row_ids import Candidate, refuse_moves, refuse_twins
from callsheet.tasks.sheet.speech import too_long
from callsheet.tasks.sheet.table import Cell, Findings, Row, Table, Texts
from callsheet.tasks.sheet.text import content_id, is_blank
from callsheet.tasks.sheet.trees import read_object
from callsheet.tasks.values.amounts import count, say_date
from callsheet.tasks.values.briefs import (
    CREATE,
    VARIANT_OF,
    Brief,
    CaptionFormat,
    Json,
)
from callsheet.tasks.values.names import as_spelled
from callsheet.tasks.values.requests import REQUESTS

Cells = Mapping[str, Cell]
#: What a row says, by column: those of Callsheet's own with what a row has that does not say them.
Said = Mapping[str, Any]

#: An empty cell of a column in which rows are ticked.
_OFF = Cell(column="enabled", value=False, line=None, where="enabled")


#: Texts of a column that are remembered with what they were read as, at most.
KNOWN = 10_000
#: What a service lists by name, and how it is read.
_OFFERED: Mapping[str, Callable[[Json], Json]] = {"tool": cells.name, "character_id": cells.whole}


def to_briefs(
    table: Table, findings: Findings, *, folder: Path | None, cost_center: str | None = None
) -> tuple[tuple[Brief, ...], Mapping[str, Cells]]:
    """Return a brief for every row, and the cells of each by its id.

    The column `cost_center` says what a row is charged to that does not say it itself. The
    problems are noted, and with any the briefs are void.
    """
    reading = _Reading(findings, folder, table)
    plain = {n: cell for n, cell in table.defaults.items() if not has_placeholder(cell)}
    shared = reading.validated(None, plain)
    if shared is not None:
        reading.guesses.consider(plain, shared)
    off = {"enabled": _OFF} if reading.guesses.ticked(table, findings) else {}
    known: list[Candidate] = []
    places: dict[str, Cells] = {}
    rows = table.rows.drained() if isinstance(table.rows, Grid) else table.rows
    for row in rows:
        merged = with_defaults(row, table.defaults)
        merged = filled(row, merged, table, findings)
        if cost_center and cost_center in merged:
            merged = {"cost_center": merged[cost_center], **merged}
        candidate = reading.candidate(row, {**off, **merged} if off else merged)
        known.append(candidate)
        if not isinstance(table.rows, Grid):
            places[candidate.brief.row] = merged
    reading.guesses.tell(findings)
    refuse_twins(known, findings)
    refuse_moves(known, findings)
    if nameless := [one.brief.line for one in known if one.place is None]:
        findings.advise(
            f"has {count(len(nameless), 'row')} without an id (from line {nameless[0]} on): give "
            "each an id, else a changed row counts as a new video"
        )
    briefs = tuple(one.brief for one in known)
    _advise_length(known, findings)
    return briefs, GridCells(table.rows, briefs) if isinstance(table.rows, Grid) else places


def _advise_length(candidates: Iterable[Candidate], findings: Findings) -> None:
    """Advise on scripts that cannot be spoken in the length that their row asks for."""
    for brief, name, _ in candidates:
        if brief.enabled and (words := too_long(brief.request)):
            column = "script" if "script" in brief.request else "narration"
            row = brief.row if name else None
            findings.advise(words, line=brief.line, row=row, cell=column, column=column)


#: Rows that are named of those whose date has passed.
SHOWN = 5


def budgeted(briefs: Sequence[Brief], names: Collection[str]) -> tuple[Brief, ...]:
    """Return the briefs with cost centers spelled as those of these names that have a budget."""

    def spelled(one: Brief) -> Brief:
        named = one.cost_center and as_spelled(one.cost_center, names)
        return one if named == one.cost_center else replace(one, cost_center=named)

    return tuple(map(spelled, briefs))


def dated(briefs: Sequence[Brief], findings: Findings, *, now: float) -> tuple[Brief, ...]:
    """Return the briefs with which of them wait for their date; note dates that have passed."""
    late = [one for one in briefs if one.enabled and one.deliver_by and one.deliver_by < now]
    if late:
        named = ", ".join([*(one.row for one in late[:SHOWN]), *["..."] * (len(late) > SHOWN)])
        findings.advise(
            f"has {count(len(late), 'row')} whose deliver_by has passed ({named}); the videos are "
            "late already where they are not made yet",
            line=late[0].line,
        )
    return tuple(
        replace(one, waits=True) if (one.deliver_after or 0) > now else one for one in briefs
    )


class GridCells(Mapping[str, Cells]):
    """Where the cells of a grid's rows stand, by id: worked out when it is asked for."""

    def __init__(self, rows: Grid, briefs: Sequence[Brief]) -> None:
        self._rows = rows
        self._briefs = briefs
        self._by_row: dict[str, Brief] = {}

    def __getitem__(self, row: str) -> Cells:
        if not self._by_row:
            self._by_row = {brief.row: brief for brief in self._briefs}
        brief = self._by_row[row]
        return self._rows.cells(brief.line, brief.cells)

    def __iter__(self) -> Iterator[str]:
        return (brief.row for brief in self._briefs)

    def __len__(self) -> int:
        return len(self._briefs)


def with_defaults(row: Row, defaults: Cells) -> Cells:
    """Return the row's cells over the defaults.

    A row's script replaces a default tool and the other way round, and a clip takes no default
    that is not for it.
    """
    if not defaults:
        return row.cells
    operation = _operation(row.cells.get("operation") or defaults.get("operation"))
    if operation in (None, CREATE):
        unwanted = {name for name in defaults if _is_for_clips(name) and "operation" in row.cells}
        if "script" in row.cells:
            unwanted |= {name for name in defaults if name == "tool" or _is_input(name)}
        elif "tool" in row.cells:
            unwanted |= {"script"}
    else:
        taken = ROWS[operation]
        unwanted = {
            name for name in defaults if name not in taken and (_is_input(name) or name in ASKED)
        }
    return {name: cell for name, cell in defaults.items() if name not in unwanted} | dict(row.cells)


def _operation(cell: Cell | None) -> str | None:
    """Return which operation a cell names: a video where there is no cell, None for none."""
    return CREATE if cell is None else _salvaged(cell, OWN["operation"].parse)


class _Shape(NamedTuple):
    """What the columns of a row are for, apart from what its cells say."""

    #: Inputs of a tool that have a column each, with the names of the inputs.
    inputs: tuple[tuple[str, str], ...]
    has_inputs: bool
    for_clips: tuple[str, ...]


@lru_cache(maxsize=1000)
def _shape(columns: tuple[str, ...]) -> _Shape:
    """Return what columns are for: most rows of a sheet have the same."""
    prefix = f"{FIELDS}."
    inputs = tuple((one, one.removeprefix(prefix)) for one in columns if one.startswith(prefix))
    clips = tuple(column for column in columns if _is_for_clips(column))
    return _Shape(inputs, any(map(_is_input, columns)), clips)


def _is_input(column: str) -> bool:
    return column == FIELDS or column.startswith(f"{FIELDS}.")


def _is_for_clips(column: str) -> bool:
    return column in CLIP_COLUMNS or column.startswith(f"{BODY}.")


#: The members of the request of each operation.
_MEMBERS = {name: tuple(request.model_fields) for name, request in REQUESTS.items()}
_DEFAULTS = {name: column.default for name, column in OWN.items()}
#: The columns that a brief has as they are.
_AS_SAID = tuple(
    one.name
    for one in fields(Brief)
    if one.name in OWN and one.name not in ("operation", "captions")
)


#: Reads the value of a cell; raises ValueError with what is wrong.
Read = Callable[[Json], Json]


def _readers(columns: Mapping[str, Column], folder: Path | None) -> Mapping[str, Read]:
    """Return what reads each column of a sheet; `folder` is where files next to it are."""

    def of(column: Column) -> Read:
        if column.wants_folder:
            return partial(column.parse, folder=folder)
        return column.parse if column.free else _remembering(column.parse)

    return {name: of(column) for name, column in columns.items()}


def _remembering(parse: Read) -> Read:
    """Return what remembers what texts were read as, since many rows have the same."""
    known: dict[str, Json] = {}

    def read(value: Json) -> Json:
        if type(value) is not str:
            return parse(value)
        if value in known:
            return known[value]
        said = parse(value)
        if len(known) < KNOWN:
            known[value] = said
        return said

    return read


class _Reading:
    """Reads one row at a time; `failed` says that a cell of it had a problem.

    A table that is not complete had columns refused: what a row lacks may be in one of them.
    """

    def __init__(self, findings: Findings, folder: Path | None, table: Table) -> None:
        self.findings = findings
        self.table = table
        self.guesses = Guesses()
        self._any = _readers(ANY_ROW, folder)
        self._of = {name: _readers(columns, folder) for name, columns in ROWS.items()}
        self.failed = False
        #: The cell with the id of the row that is read.
        self.name: Cell | None = None
        #: The row that a matrix made it from.
        self.base: Cell | None = None
        self._names = tuple(table.columns)
        self._headers = tuple(table.columns.values())

    def candidate(self, row: Row, merged: Cells) -> Candidate:
        """Return the brief of a row, or what can be told of it when something is wrong."""
        self.failed = False
        self.name, self.base = merged.get("id"), merged.get(VARIANT_OF)
        operation = _operation(merged.get("operation"))
        said = self.validated(operation, merged)
        # What a row of an unknown operation lacks, or has too much, no one can say.
        request = {} if operation is None else self._request(row, merged, operation, said)
        if said is not None and None not in (said["deliver_after"], said["deliver_by"]):
            self._check_dates(merged, said)
        if said is None or self.failed:
            return self._faulty(row, merged, operation, request)
        self.guesses.consider(merged, said)
        usual: tuple[CaptionFormat, ...] = ("srt", "vtt") if operation == CREATE else ()
        brief = Brief(
            row=said["id"] or content_id(operation or "", request),
            operation=operation or "",
            request=request,
            captions=usual if said["captions"] is None else said["captions"],
            line=row.line,
            cells=self._texts(row),
            **{name: said[name] for name in _AS_SAID},
        )
        return Candidate(brief, self.name, merged.get("was"))

    def _faulty(
        self, row: Row, merged: Cells, operation: str | None, request: Mapping[str, Json]
    ) -> Candidate:
        """Return what can be told of a row with problems, so that every other one is found too."""
        known = {column: _salvaged(merged.get(column), read) for column, read in _OFFERED.items()}
        asked = {name: value for name, value in known.items() if value is not None}
        if FIELDS in request:
            asked[FIELDS] = request[FIELDS]
        name = _salvaged(self.name, cells.row_id)
        brief = Brief(
            row=str(name or f"line {row.line}"),
            was=_salvaged(merged.get("was"), cells.row_id),
            operation=operation or "",
            request=asked,
            enabled=_salvaged(merged.get("enabled"), cells.truth) is not False,
            line=row.line,
            cells=self._texts(row),
        )
        return Candidate(brief, self.name, merged.get("was"))

    def validated(self, operation: str | None, merged: Cells) -> Said | None:
        """Return what a row of an operation says (None: of any), or None; problems are noted."""
        said: dict[str, Any] = dict(_DEFAULTS)
        readers = self._of.get(operation or "", self._any)
        faults: list[tuple[str, str]] = []
        for name, cell in merged.items():
            if cell.faulty:
                self.failed = True
                continue
            if (read := readers.get(name)) is None:
                continue
            try:
                said[name] = read(cell.value)
            except ValueError as error:
                faults.append((name, str(error)))
        if not faults:
            return said
        places = list(readers)
        for name, words in sorted(faults, key=lambda one: (one[0] in OWN, places.index(one[0]))):
            self._refuse(merged[name], words)
        return None

    def _request(
        self, row: Row, merged: Cells, operation: str, said: Said | None
    ) -> dict[str, Json]:
        """Return the body that a row asks for, without what Callsheet adds to it."""
        known: Said = {} if said is None else said
        request = {name: known.get(name) for name in _MEMBERS[operation] if name in merged}
        if operation == CREATE:
            request.pop(FIELDS, None)
            shape = _shape(tuple(merged))
            if shape.has_inputs and (inputs := self._inputs(merged, shape)):
                request[FIELDS] = inputs
            self._check_video(row, merged, shape)
        else:
            self._check_clip(row, merged, operation)
            members = [name for name in merged if name.startswith(f"{BODY}.")]
            # Members in the service's own spelling win.
            request |= {
                name.removeprefix(f"{BODY}."): cells.member(merged[name].value) for name in members
            }
        return request

    def _inputs(self, merged: Cells, shape: _Shape) -> dict[str, Json]:
        whole: Mapping[str, Json] = _salvaged(merged.get(FIELDS), read_object) or {}
        inputs = {name: value for name, value in whole.items() if not is_blank(value)}
        for column, name in shape.inputs:
            if name in inputs:
                self._refuse(merged[column], f"is also in {FIELDS}: keep one")
            inputs[name] = merged[column].value
        return inputs

    def _check_dates(self, merged: Cells, said: Said) -> None:
        if said["deliver_after"] > said["deliver_by"]:
            by = say_date(said["deliver_by"])
            self._refuse(merged["deliver_after"], f"is later than its deliver_by, {by}")

    def _check_video(self, row: Row, merged: Cells, shape: _Shape) -> None:
        if "tool" in merged and "script" in merged:
            self._refuse_row(row, "has both a tool and a script: give one of them")
        elif "script" in merged:
            for column in filter(_is_input, merged) if shape.has_inputs else ():
                self._refuse(merged[column], "is an input for a tool, but the row has a script")
        elif "tool" not in merged:
            wanted = ("script", "tool")
            words = "has neither a tool nor a script: give one of them"
            self._refuse_lack(row, words, wanted[::-1] if shape.has_inputs else wanted)
        for column in shape.for_clips:
            clips = ", ".join(name for name in ROWS if name != CREATE)
            words = f"is for a row whose operation is one of {clips}"
            spoken = "; what a video says is its script" if column == "narration" else ""
            self._refuse(merged[column], words + spoken)

    def _check_clip(self, row: Row, merged: Cells, operation: str) -> None:
        request = REQUESTS[operation]
        for column, cell in merged.items():
            if column not in request.model_fields and (column in ASKED or _is_input(column)):
                self._refuse(cell, f"is not for {operation}")
        # What the service calls it may be another name: then it is among the `body.` columns.
        passed_through = any(column.startswith(f"{BODY}.") for column in merged)
        for group in request.needs:
            given = sum(column in merged for column in group)
            if given > 1:
                self._refuse_row(row, f"has both {' and '.join(group)}: give one of them")
            elif given == 0 and not passed_through:
                self._refuse_lack(
                    row, f"asks for {operation} and has no {' or '.join(group)}", group
                )

    def _refuse_lack(self, row: Row, message: str, columns: Sequence[str]) -> None:
        """Refuse a row without a value in one of these columns; an empty cell of one is named."""
        self.failed = True
        if self.table.complete:
            column, cell = self.table.lacking(columns, row.line) or (None, None)
            if cell is not None:
                message = f"is empty, and the row {message}"
            self.findings.refuse(
                message, line=row.line, row=self._shown(), cell=cell, column=column
            )

    def _refuse_row(self, row: Row, message: str) -> None:
        self.findings.refuse(message, line=row.line, row=self._shown())
        self.failed = True

    def _shown(self) -> str | None:
        """Return the id of the row as the sheet says it: all variants of a row have one problem."""
        name = _salvaged(self.name, cells.row_id)
        return name if name is None or self.base is None else self.base.text

    def _texts(self, row: Row) -> Texts:
        """Return a row as the sheet shows it, column by column."""
        own = row.cells
        return Texts(self._headers, tuple([own[n].text if n in own else "" for n in self._names]))

    def _refuse(self, cell: Cell, message: str) -> None:
        value = str(cell.value) if isinstance(cell.value, str | int | float) else None
        # What is shared by all rows is no row's.
        shared = self.table.defaults.get(cell.column) is cell
        self.findings.refuse(
            message, **cell.place(row=None if shared else self._shown(), value=value)
        )
        self.failed = True


def _salvaged(cell: Cell | None, parse: Callable[[Json], Json]) -> Json:
    """Return what one cell of a row says that has faults elsewhere, or None."""
    try:
        return None if cell is None or cell.faulty else parse(cell.value)
    except ValueError:
        return None
