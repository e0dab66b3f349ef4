"""A row for a tool, to begin a sheet with: as CSV and as YAML, each a sheet without a problem."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping

from callsheet.tasks.catalogue import Tool, ToolField
from callsheet.tasks.errors import shorten
from callsheet.tasks.sheet.columns import FIELDS
from callsheet.tasks.sheet.headers import canonical_header
from callsheet.tasks.sheet.names import row_id_fault, slugify

#: Characters of an example value.
WIDEST = 60


def example_csv(tool: Tool) -> str:
    """Return a header and a line."""
    inputs = _inputs(tool)
    columns = {f"{FIELDS}.{name}": value for name, value in inputs.items() if _is_header(name)}
    if others := {name: value for name, value in inputs.items() if not _is_header(name)}:
        columns[FIELDS] = json.dumps(others, ensure_ascii=False)
    cells = {**_begun(tool), **columns, "aspect_ratio": "9:16"}
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows((cells, cells.values()))
    return text.getvalue()


def example_yaml(tool: Tool) -> str:
    """Return a row as YAML, its texts between quotes."""
    lines = [f"{name}: {_quoted(value)}" for name, value in _begun(tool).items()]
    if inputs := _inputs(tool):
        lines += [f"{FIELDS}:"]
        lines += [f"  {_key(name)}: {_quoted(value)}" for name, value in inputs.items()]
    lines += ['aspect_ratio: "9:16"']
    return "rows:\n  - " + "\n    ".join(lines) + "\n"


def _begun(tool: Tool) -> Mapping[str, str]:
    name = slugify(f"{tool.id}-1")
    id = "row-1" if row_id_fault(name) else name
    return {"id": id, "tool": tool.id, "title": tool.name or tool.id}


def _inputs(tool: Tool) -> dict[str, str]:
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


def _is_header(name: str) -> bool:
    """Whether the header of a column can name a field to the letter."""
    return canonical_header(f"{FIELDS}.{name}") == f"{FIELDS}.{name}"


def _key(name: str) -> str:
    return name if name.isascii() and name.isidentifier() else _quoted(name)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
