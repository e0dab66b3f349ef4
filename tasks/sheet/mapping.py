"""YAML and JSON trees to a table: the parts of a document and its rows, or just the rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from callsheet.tasks.sheet.columns import FIELDS, PARTS
from callsheet.tasks.sheet.headers import (
    DATES,
    SCHEMA,
    canonical_header,
    explain_part,
    is_kept_only,
    is_ours,
)
from callsheet.tasks.sheet.proposals import check_header
from callsheet.tasks.sheet.synonyms import Names
from callsheet.tasks.sheet.table import Cell, Findings, Row, Table, Where
from callsheet.tasks.sheet.text import MAX_COLUMNS, MAX_ROWS, is_blank, tidy_value
from callsheet.tasks.sheet.trees import Object
from callsheet.tasks.values.briefs import Json

#: Begins the name of a tag under `defaults`.
TAG = "tag:"
#: Stands for a value whose problem is noted already.
_FAULTY = object()


class Mapped:
    """Turns the tree of one sheet into a table; `numbered` names rows as `rows[3]`."""

    def __init__(self, findings: Findings, *, numbered: bool) -> None:
        self.findings = findings
        self.numbered = numbered
        self.refused: set[str] = set()
        self.tagged: dict[str, Mapping[str, Cell]] = {}
        #: The header of each column of a row.
        self.columns: dict[str, str] = {}

    def table(self, document: Json) -> Table:
        """Return the table; problems are noted, hopeless sheets raise."""
        top = self._top(document)
        listed = top.get("rows")
        if is_blank(listed):
            self.findings.raise_if_any()
            self.findings.give_up("has no rows")
        if not isinstance(listed, list):
            self.findings.give_up("has rows that are not a list", cell="rows")
        if len(listed) > MAX_ROWS:
            self.findings.give_up(f"has more than {MAX_ROWS:,} rows; split it")
        written = (header for row in listed if isinstance(row, Object) for header in row)
        self.findings.names = self.findings.names.of_headers(written)
        rows = [self._row(number, row) for number, row in enumerate(listed) if not is_blank(row)]
        kept = [row for row in rows if row is not None]
        defaults, shared = self._defaults(top.get("defaults"))
        parts = dict(self._parts(top))
        dates = {name: parts.pop(name) for name in DATES if name in parts}
        defaults = {**dates, **defaults}
        if len(self.columns) > MAX_COLUMNS:
            self.findings.give_up(f"has {len(self.columns)} columns; {MAX_COLUMNS} is the limit")
        return Table(
            columns=self.columns,
            rows=tuple(row._replace(cells={**shared, **row.cells}) for row in kept),
            defaults=defaults,
            tagged=self.tagged,
            parts=parts,
            complete=not self.refused,
        )

    def _top(self, document: Json) -> Object:
        if isinstance(document, Object):
            for name in document:
                if name not in (*PARTS, SCHEMA):
                    self.findings.refuse(explain_part(name), line=document.lines[name], value=name)
            return document
        top = Object(line=1)
        top["rows"] = document
        return top

    def _parts(self, top: Object) -> Iterator[tuple[str, Cell]]:
        """Yield the parts of a document that say something, but for its rows and defaults."""
        for name in PARTS:
            value = None if name in ("rows", "defaults") else top.get(name)
            line = top.lines.get(name, top.line)
            if name != "matrix":
                value = self._tidy(value, {"line": line, "cell": name})
            if not is_blank(value) and value is not _FAULTY:
                yield name, Cell(column=name, value=value, line=line, where=name)

    def _defaults(self, value: Json) -> tuple[Mapping[str, Cell], Mapping[str, Cell]]:
        """Return the cells that rows without them have, and those of them in `x_` columns."""
        if is_blank(value):
            return {}, {}
        if not isinstance(value, Object):
            self.findings.refuse("are not an object of columns", cell="defaults")
            return {}, {}
        shared = Object(line=value.line)
        for header, one in value.items():
            if header.startswith(TAG):
                self._tag_defaults(header, one, value.lines.get(header))
            else:
                shared[header] = one
        shared.lines = value.lines
        cells, columns = self._cells(shared, "defaults")
        self._refuse_ids(cells)
        own = {name: header for name, header in columns.items() if is_kept_only(name)}
        self._add(own)
        return cells, {name: cells.pop(name) for name in own if name in cells}

    def _tag_defaults(self, header: str, value: Json, line: int | None) -> None:
        place = f"defaults.{header}"
        tag = header.removeprefix(TAG).strip()
        if not tag or tag in self.tagged or not (is_blank(value) or isinstance(value, Object)):
            self.findings.refuse("is not a tag with an object of columns", line=line, cell=place)
        elif isinstance(value, Object):
            cells, columns = self._cells(value, place)
            self._refuse_ids(cells)
            for name in filter(is_kept_only, columns):
                self.findings.refuse("cannot be a default of a tag", line=line, cell=place,
                                     value=name)  # fmt: skip
            self.tagged[tag] = cells

    def _refuse_ids(self, cells: dict[str, Cell]) -> None:
        for name in ("id", "uses", "video_id", "was"):
            if own := cells.pop(name, None):
                self.findings.refuse("cannot be a default: every row has its own", **own.place())

    def _row(self, number: int, value: Json) -> Row | None:
        if not isinstance(value, Object):
            self.findings.refuse("is not an object of columns", cell=f"rows[{number}]")
            return None
        cells, columns = self._cells(value, f"rows[{number}]" if self.numbered else "")
        self._add(columns)
        return Row(line=value.line, cells=cells)

    def _add(self, columns: Mapping[str, str]) -> None:
        for name, header in columns.items():
            self.columns.setdefault(name, header)

    def _cells(self, row: Object, of: str) -> tuple[dict[str, Cell], dict[str, str]]:
        """Return the cells, and the header of each column; `of` says where the object is found."""
        cells: dict[str, Cell] = {}
        seen: dict[str, str] = {}
        name = row.get("id")
        shown = name if isinstance(name, str) and name else None
        for header, column, value, line in _spread(row, self.findings.names):
            cell = Cell(column, value, line, f"{header} ({of})" if of else header)
            place = cell.place(row=shown if column != "id" else None)
            if twin := seen.get(column):
                message = f'and "{twin}" are the same column ({column}): keep one'
                self.findings.refuse(message, **place)
            seen.setdefault(column, header)
            self._check(header, line, of)
            clean = self._tidy(value, place)
            if not is_blank(clean):
                faulty = clean is _FAULTY
                cells[column] = cell._replace(value="" if faulty else clean, faulty=faulty)
        return cells, seen

    def _check(self, header: str, line: int, of: str) -> None:
        """Refuse an unknown column where it stands first, and not in every row."""
        place = f"column ({of})" if of else "column"
        if header in self.refused or check_header(header, self.findings, line=line, where=place):
            return
        self.refused.add(header)

    def _tidy(self, value: Json, place: Where) -> Json:
        try:
            return tidy_value(value)
        except ValueError as fault:
            self.findings.refuse(str(fault), **place)
            return _FAULTY


def _spread(row: Object, names: Names) -> list[tuple[str, str, Json, int]]:
    """Return (header, column, value, line) with an object of `fields` as a column for each.

    A header is matched loosely; inside an object the tool's own spelling is kept to the letter.
    """
    columns: list[tuple[str, str, Json, int]] = []
    for written, value in row.items():
        header = names.named(written)
        column = canonical_header(header)
        line = row.lines.get(written, row.line)
        if is_ours(column):
            continue
        if column == FIELDS and isinstance(value, Object):
            columns += [
                (f"fields.{name}", f"fields.{name}", one, value.lines.get(name, line))
                for name, one in value.items()
            ]
        else:
            columns.append((header, column, value, line))
    return columns
