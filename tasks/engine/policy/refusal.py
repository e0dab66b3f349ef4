"""What the service says against a brief, in terms of the sheet: line, column and value. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Protocol

from callsheet.tasks.brief import Json
from callsheet.tasks.errors import shorten


class Refusable(Protocol):
    """A row of a sheet or of the ledger: where it stands, and what it asks of the service."""

    @property
    def line(self) -> int: ...
    def asked(self) -> Mapping[str, Json]: ...


def in_columns(words: str, row: Refusable) -> str:
    """Return a refusal with the cells it is about, and what to edit; `words` stand behind.

    `words` are the client's: "create was refused (400): " and what the service says. It names
    members of the request, which are columns of the sheet.
    """
    said = words.partition("): ")[2] or words
    cells = [
        f'{column} "{shorten(_text(value))}"'
        for column, value in _columns(row.asked())
        if re.search(rf"(?<![\w.]){re.escape(column)}(?!\w)", said)
    ]
    where = f"line {row.line} of the sheet" if row.line else "the row in the sheet"
    if not cells:
        return f"{words}: edit {where} and run again"
    return (
        f"the service refused {' and '.join(cells)}: edit {where} and run again; its words: {words}"
    )


def _columns(request: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
    """Yield the columns that a request was read from, and their values."""
    for name, value in request.items():
        if isinstance(value, Mapping) and name == "fields":
            yield from ((f"{name}.{inner}", one) for inner, one in value.items())
        else:
            yield name, value


def _text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
