"""One object of a YAML or JSON sheet, laid out as the columns of a row."""

from __future__ import annotations

import json
from collections.abc import Mapping

from tasks.brief import Json
from tasks.sheet.headers import FIELDS, canonical_header, is_ours
from tasks.sheet.text import as_text
from tasks.sheet.tree import Object


def spread(row: Object) -> list[tuple[str, str, Json]]:
    """Return (header, column, value) with an object of `fields` as a column for each.

    A header is matched loosely; inside an object the tool's own spelling is kept to the letter.
    """
    columns: list[tuple[str, str, Json]] = []
    for header, value in row.items():
        column = canonical_header(header)
        if is_ours(column):
            continue
        if column == FIELDS and isinstance(value, Mapping):
            columns += [(f"fields.{name}", f"fields.{name}", one) for name, one in value.items()]
        else:
            columns.append((header, column, value))
    return columns


def shown(value: Json) -> str:
    """Return a value as one text, for the status sheet."""
    if value is None:
        return ""
    if isinstance(value, Mapping | list):
        return json.dumps(value, ensure_ascii=False)
    return as_text(value)
