"""Defaults of a YAML or JSON sheet: what a row does not say itself."""

from __future__ import annotations

from collections.abc import Mapping

from tasks.sheet.clips import clip_of, is_asked, is_for_clips
from tasks.sheet.headers import FIELDS
from tasks.sheet.table import Cell, Row


def merged_with(row: Row, defaults: Mapping[str, Cell]) -> dict[str, Cell]:
    """Return the row's cells over the defaults.

    A row's script replaces a default tool, and a clip takes no default that is not for it.
    """
    inputs = {name for name in defaults if name == "tool" or is_input(name)}
    operation = row.cells.get("operation", defaults.get("operation"))
    clip = clip_of(operation.value) if operation is not None else None
    if "operation" in row.cells and clip is None:
        unwanted = {name for name in defaults if is_for_clips(name)}
    elif "operation" in row.cells and clip is not None:
        unwanted = {name for name in defaults if is_asked(name) and not clip.takes(name)}
    elif "script" in row.cells:
        unwanted = inputs
    elif "tool" in row.cells:
        unwanted = {"script"}
    else:
        unwanted = set()
    kept = {name: cell for name, cell in defaults.items() if name not in unwanted}
    return kept | dict(row.cells)


def is_input(column: str) -> bool:
    """Say whether a column is an input for a tool."""
    return column == FIELDS or column.startswith("fields.")
