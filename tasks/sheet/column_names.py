"""Columns for headers of your own: from `--map`, and from `columns.toml` next to the sheet."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from callsheet.tasks.runtime.errors import BadInput
from callsheet.tasks.sheet.headers import canonical_header
from callsheet.tasks.sheet.proposals import explain_column

#: The file next to a sheet that maps headers to columns.
FILE = "columns.toml"


def parse_map(words: Sequence[str]) -> dict[str, str]:
    """Return header -> column of `--map Headline=title`; raise BadInput for anything else."""
    found: dict[str, str] = {}
    for word in words:
        header, equals, column = word.rpartition("=")
        if not equals or not header.strip() or not column.strip():
            raise BadInput(
                f'--map "{word}" does not say which column a header means; nothing was spent',
                remedy="write `--map NAME=COLUMN`, NAME as in the sheet; use x_NAME to keep a "
                "column for yourself",
            )
        found[header.strip()] = _column(column.strip(), f"--map {word}")
    return found


def read_names(folder: Path | None) -> dict[str, str]:
    """Return header -> column of the `columns.toml` in a folder; raise BadInput for a bad one."""
    if folder is None or not (folder / FILE).is_file():
        return {}
    file = folder / FILE
    try:
        said = tomllib.loads(file.read_text(encoding="utf-8")).get("columns", {})
    except (OSError, ValueError) as error:
        raise BadInput(f"{file} cannot be read: {error}; nothing was spent") from error
    if not isinstance(said, dict) or not all(isinstance(one, str) for one in said.values()):
        raise BadInput(
            f'{file} has no [columns] of texts; write it like "Headline" = "title"; nothing was '
            "spent"
        )
    return {header: _column(column, str(file)) for header, column in said.items()}


def keep_names(folder: Path, said: Mapping[str, str]) -> Path:
    """Add header -> column to the `columns.toml` in a folder; return the file."""
    known = {**read_names(folder), **said}
    lines = (f"{json.dumps(h, ensure_ascii=False)} = {json.dumps(c)}" for h, c in known.items())
    file = folder / FILE
    text = "# Which column each header of the sheets in this folder means.\n[columns]\n"
    try:
        half = file.with_name(f".{FILE}.part")
        half.write_text(text + "\n".join(lines) + "\n", encoding="utf-8")
        half.replace(file)
    except OSError as error:
        raise BadInput(f"{file} cannot be written: {error.strerror}") from error
    return file


def _column(column: str, place: str) -> str:
    name = canonical_header(column)
    if fault := explain_column(name):
        raise BadInput(f'{place}: "{column}" {fault}; nothing was spent')
    return name
