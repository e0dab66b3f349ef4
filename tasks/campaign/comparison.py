"""Compares a sheet with the service's catalog, and makes an example row for a tool.

Pure: a catalogue and a sheet in, findings out. A tool or a field that the service does not list
is a problem, since the row would be paid for without it. All else is advice: the specification
does not say that the service refuses it, and the shape of its lists is not shown (section 2).
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from difflib import get_close_matches
from typing import NamedTuple

from callsheet.tasks.runtime.errors import shorten
from callsheet.tasks.sheet import Sheet
from callsheet.tasks.sheet.all_rows import ForAllRows
from callsheet.tasks.sheet.columns import FIELDS
from callsheet.tasks.sheet.headers import canonical_header
from callsheet.tasks.sheet.table import Findings
from callsheet.tasks.sheet.text import row_id_fault, slugify
from callsheet.tasks.values.amounts import as_text
from callsheet.tasks.values.briefs import CREATE, Brief, Json
from callsheet.tasks.values.catalog import Catalogue, Tool, ToolField

#: Further lines that a finding names; the rest is counted.
NAMED = 3
#: Names that are offered where none is like the one that was written.
OFFERED = 8
_CHARACTER = "character_id"


class Finding(NamedTuple):
    """What is found in one cell or in many alike; `unknown` says that the catalogue lacks it."""

    message: str
    column: str
    value: str | None = None
    unknown: bool = False
    refused: bool = False


class _Place(NamedTuple):
    """Where a cell stands: its line, and how a message names it."""

    line: int | None
    where: str
    named: bool = True


@dataclass
class Compared:
    """What was found, with every place of it and the rows it counts for, in the sheet's order."""

    found: dict[Finding, dict[_Place, list[str]]] = field(default_factory=dict)

    @property
    def unknown(self) -> bool:
        """Whether the sheet names something that the catalogue lacks: it may be out of date."""
        return any(finding.unknown for finding in self.found)

    def tell(self, findings: Findings, *, refuse: bool) -> None:
        """Add what was found to the findings of the sheet; without `refuse` all of it is advice."""
        for finding, places in self.found.items():
            first, *others = places
            add = findings.refuse if finding.refused and refuse else findings.advise
            message = finding.message + _elsewhere([place.line for place in others])
            # What is shared by rows is no row's, and one without an id is called by its line.
            row = places[first][0] if len(places[first]) == 1 and first.named else None
            where, column = first.where, finding.column
            add(message, line=first.line, cell=where, value=finding.value, row=row, column=column)


def compare(sheet: Sheet, rows: Collection[str], catalogue: Catalogue | None) -> Compared:
    """Return what `rows` of a sheet ask for that the service does not offer, as far as it told."""
    comparison = Compared()
    if catalogue is None:
        return comparison
    for brief in sheet.briefs:
        if brief.row in rows:
            for finding in _findings(brief.request, brief.operation, catalogue):
                places = comparison.found.setdefault(finding, {})
                places.setdefault(_place(sheet, brief, finding.column), []).append(brief.row)
    return comparison


def names_offers(brief: Brief) -> bool:
    """Whether a row names something that a catalogue may list."""
    return "tool" in brief.request or _CHARACTER in brief.request


def _findings(said: Mapping[str, Json], operation: str, catalogue: Catalogue) -> Iterator[Finding]:
    if operation == CREATE and "tool" in said and catalogue.tools is not None:
        name = str(said["tool"])
        tool = catalogue.tool(name)
        if tool is None:
            hint = meant(name, catalogue.tools, of="it has")
            message = f"is not a tool that the service lists; {hint}"
            yield Finding(message, "tool", name, unknown=True, refused=True)
        elif tool.fields is not None:
            yield from _inputs(tool, said.get(FIELDS) or {})
    known = catalogue.characters
    if _CHARACTER in said and known is not None and str(said[_CHARACTER]) not in known:
        named = [f"{id} ({name})" if name else id for id, name in known.items()]
        message = f"is not a character that the service lists; it has {_some(named)}"
        yield Finding(message, _CHARACTER, str(said[_CHARACTER]), unknown=True)


def _inputs(tool: Tool, given: Mapping[str, Json]) -> Iterator[Finding]:
    """Yield what is wrong with the inputs of a tool whose fields are known."""
    fields = tool.fields or {}
    for name, value in given.items():
        if not tool.takes(name):
            message = f"is not a field of {tool.id}; {_meant_field(name, fields)}"
            yield Finding(message, f"{FIELDS}.{name}", unknown=True, refused=True)
        elif name in fields and (fault := fields[name].fault(value)):
            message = f"{fault}: {tool.id} may refuse or ignore it"
            yield Finding(message, f"{FIELDS}.{name}", shorten(str(value)))
    lacking = [f"{FIELDS}.{one.name}" for one in fields.values()
               if one.required and not {one.name, *one.others} & given.keys()]  # fmt: skip
    if lacking:
        message = f"asks for {_some(lacking)}, which the row lacks"
        yield Finding(message, "tool", tool.id)
    elif not given:
        names = [f"{FIELDS}.{name}" for name in fields]
        message = f"has none of its fields set in this row: {_some(names)}"
        yield Finding(message, "tool", tool.id)


def unlisted_in(request: Mapping[str, Json], catalogue: Catalogue | None) -> str | None:
    """Return what a request names that the service does not list: a tool, or an input of one."""
    if catalogue is None:
        return None
    said = request if isinstance(request.get(FIELDS), Mapping) else {**request, FIELDS: {}}
    for one in _findings(said, CREATE, catalogue):
        if one.refused:
            # Here they are members, and no columns.
            return f'"{one.value or one.column}" {one.message}'.replace(f"{FIELDS}.", "")
    return None


def meant(name: str, known: Iterable[str], *, of: str) -> str:
    """Return what was probably meant by a name, else what there is to choose from."""
    folded = {one.casefold(): one for one in known}
    close = get_close_matches(name.casefold(), folded, n=1)
    return f"did you mean {folded[close[0]]}?" if close else f"{of} {_some(folded.values())}"


def _meant_field(name: str, fields: Iterable[str]) -> str:
    columns = [f"{FIELDS}.{one}" for one in fields]
    hint = meant(f"{FIELDS}.{name}", columns, of="it takes")
    near = hint.removeprefix(f"did you mean {FIELDS}.").removesuffix("?")
    # A header is read without capitals and blanks; inside an object every letter is kept.
    if near in fields and canonical_header(f"{FIELDS}.{near}") != f"{FIELDS}.{near}":
        return f'did you mean "{near}"? Write it in the column {FIELDS}, as {{"{near}": "..."}}'
    return hint


def _some(names: Iterable[str]) -> str:
    names = list(names)
    more = len(names) - OFFERED
    return ", ".join(names[:OFFERED]) + (f" and {more} more" if more > 0 else "")


def _place(sheet: Sheet, brief: Brief, column: str) -> _Place:
    cells = sheet.cells.get(brief.row, {})
    cell = cells.get(column)
    named = "id" in cells
    if cell is not None:
        return _Place(cell.line, cell.where, named)
    # One member of an object that is in one cell.
    whole = cells.get(FIELDS) if column.startswith(f"{FIELDS}.") else None
    return _Place(whole.line if whole else brief.line, column, named)


def _elsewhere(lines: list[int | None]) -> str:
    numbers = sorted({line for line in lines if line is not None})
    if not numbers:
        return ""
    named = ", ".join(map(str, numbers[:NAMED]))
    more = len(numbers) - NAMED
    return f" (so, too, in line {named}{f' and {more} more' if more > 0 else ''})"


# A row for a tool, to begin a sheet with: as CSV and as YAML, each a sheet without a problem.


#: Characters of an example value.
WIDEST = 60


def example_csv(tool: Tool, languages: Sequence[str] = ()) -> str:
    """Return a header and a line, which means a video in each of the languages."""
    wanted = ForAllRows(languages=tuple(languages), inputs=_example_inputs(tool), shapes=("9:16",))
    cells = {**_begun(tool), **wanted.columns}
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows((cells, cells.values()))
    return text.getvalue()


def example_yaml(tool: Tool, languages: Sequence[str] = (), budget: Decimal | None = None) -> str:
    """Return a row as YAML, its texts between quotes, and above it what holds for the sheet."""
    head = "" if budget is None else f"budget: {as_text(budget)}\n"
    if languages[1:]:
        head += f"matrix:\n  axes:\n    language: {_quoted(list(languages))}\n"
    lines = [f"{name}: {_quoted(value)}" for name, value in _begun(tool).items()]
    if inputs := _example_inputs(tool):
        lines += [f"{FIELDS}:"]
        lines += [f"  {_key(name)}: {_quoted(value)}" for name, value in inputs.items()]
    lines += ['aspect_ratio: "9:16"']
    lines += [f"language: {_quoted(languages[0])}"] if len(languages) == 1 else []
    return head + "rows:\n  - " + "\n    ".join(lines) + "\n"


def _begun(tool: Tool) -> Mapping[str, str]:
    name = slugify(f"{tool.id}-1")
    id = "row-1" if row_id_fault(name) else name
    return {"id": id, "tool": tool.id, "title": tool.name or tool.id}


def _example_inputs(tool: Tool) -> dict[str, str]:
    """Return a value for every field, first for those that the tool needs."""
    fields = sorted((tool.fields or {}).values(), key=lambda one: not one.required)
    return {one.name: _value(one) for one in fields}


def _value(one: ToolField) -> str:
    if one.allowed:
        return one.allowed[0]
    if one.example:
        return one.example
    if one.least is not None or one.kind in ("integer", "number", "int", "float"):
        return f"{1 if one.least is None else one.least:g}"
    if one.kind in ("boolean", "bool"):
        return "true"
    words = shorten(one.words or one.name, WIDEST)
    return words if one.longest is None else words[: int(one.longest)]


def _key(name: str) -> str:
    return name if name.isascii() and name.isidentifier() else _quoted(name)


def _quoted(value: str | list[str]) -> str:
    return json.dumps(value, ensure_ascii=False)
