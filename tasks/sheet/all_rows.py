"""What is chosen for all rows of a sheet at once: languages, shapes, a tool with its inputs.

Owns which columns say that (`correct.with_columns` writes them) and how many videos it makes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import get_args

from callsheet.tasks.sheet import cells
from callsheet.tasks.sheet.columns import FIELDS
from callsheet.tasks.sheet.headers import canonical_header
from callsheet.tasks.sheet.table import Sheet
from callsheet.tasks.values.amounts import count
from callsheet.tasks.values.briefs import Brief
from callsheet.tasks.values.requests import AspectRatio

#: The shapes that a video can have.
SHAPES: tuple[str, ...] = get_args(AspectRatio)


@dataclass(frozen=True, kw_only=True)
class ForAllRows:
    """What all rows get; where nothing is chosen, each keeps what the sheet says."""

    languages: tuple[str, ...] = ()
    shapes: tuple[str, ...] = ()
    tool: str = ""
    inputs: Mapping[str, str] = field(default_factory=dict)

    @property
    def columns(self) -> dict[str, str]:
        """The columns that say so: several values are an axis of the matrix, one is no axis."""
        found = {"tool": self.tool} if self.tool else {}
        found |= input_columns(self.inputs)
        for column, values in self._axes.items():
            found[column if len(values) == 1 else f"matrix.{column}"] = "|".join(values)
        return found

    @property
    def _axes(self) -> dict[str, tuple[str, ...]]:
        axes = {"aspect_ratio": self.shapes, "language": self.languages}
        return {column: values for column, values in axes.items() if values}

    def words(self, sheet: Sheet | None, rows: int) -> str:
        """Return how many videos it makes of a sheet of so many rows, in words."""
        sizes = {"language": len(self.languages), "shape": len(self.shapes)}
        said = " x ".join(count(size, noun) for noun, size in sizes.items() if size)
        each = prod(filter(None, sizes.values()))
        made = [one for one in sheet.briefs if one.enabled] if sheet else []
        bases: dict[str, list[Brief]] = {}
        for brief in made:
            bases.setdefault(brief.variant_of or brief.row, []).append(brief)
        rows = len(bases) or rows
        total = sum(map(self._videos, bases.values())) if bases else rows * each
        of_each = f"{said} = {count(each, 'video')} for each row. " if said else ""
        more = ", with the other values of its matrix" if said and total != rows * each else ""
        return f"{of_each}{count(rows, 'row')}: {count(total, 'video')}{more}."

    def _videos(self, variants: list[Brief]) -> int:
        """Return how many videos are made of a row that meant these before."""
        found = len(variants)
        for column, values in self._axes.items():
            before = len({one.request.get(column) for one in variants})
            found = found // before * len(values)
        return found


def parse_languages(text: str) -> tuple[str, ...]:
    """Return the codes of languages that are typed with commas between; raise ValueError."""
    found = []
    for said in filter(None, map(str.strip, re.split(r"[,;|\n]", text))):
        try:
            found.append(cells.language(said))
        except ValueError as fault:
            raise ValueError(f'"{said[:40]}" {fault}') from None
    return tuple(dict.fromkeys(found))


def input_columns(inputs: Mapping[str, str]) -> dict[str, str]:
    """Return the columns of a tool's inputs; those that no header can name are one object."""
    columns = {f"{FIELDS}.{name}": value for name, value in inputs.items() if _is_header(name)}
    if others := {name: value for name, value in inputs.items() if not _is_header(name)}:
        columns[FIELDS] = json.dumps(others, ensure_ascii=False)
    return columns


def _is_header(name: str) -> bool:
    """Whether the header of a column can name an input to the letter."""
    return canonical_header(f"{FIELDS}.{name}") == f"{FIELDS}.{name}"
