"""What the service said, for people and for JSON: whole, but for its secrets."""

from __future__ import annotations

import json
from collections.abc import Sequence

from rich.console import Console

from callsheet.deployments.terminal import plain, table
from callsheet.tasks.brief import Json
from callsheet.tasks.errors import shorten
from callsheet.tasks.redact import redacted

_WIDEST = 120


def show_record(record: Json, console: Console, *, told: Sequence[str] = ()) -> None:
    """Show the members of a record that say something, but for those already `told`."""
    if not isinstance(record, dict):
        console.print(plain(cell(record)))
        return
    for name, value in sorted(record.items()):
        if name not in told and value not in (None, "", [], {}):
            console.print(f"  {plain(name)}: {plain(cell(value, name))}")


def show_records(
    title: str, records: Sequence[Json], likely: Sequence[str], console: Console
) -> None:
    """Show records of an unknown shape: those of the `likely` members that are there."""
    known = [record for record in records if isinstance(record, dict)]
    columns = [name for name in likely if any(record.get(name) is not None for record in known)]
    made = table(title, columns or ["what the service says"])
    for record in records:
        if columns and isinstance(record, dict):
            made.add_row(*(plain(cell(record.get(name), name)) for name in columns))
        else:
            made.add_row(plain(cell(record)))
    console.print(made)


def cell(value: Json, name: str = "") -> str:
    """Return a value on one line, without secrets and never long."""
    if value is None:
        return "-"
    kept = redacted({name: value})[name]
    if isinstance(kept, list) and all(isinstance(one, dict) and "name" in one for one in kept):
        kept = ", ".join(str(one["name"]) for one in kept)
    return shorten(kept if isinstance(kept, str) else json.dumps(kept, ensure_ascii=False), _WIDEST)
