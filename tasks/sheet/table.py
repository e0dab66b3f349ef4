"""The one shape every format is read into: rows of named cells that know where they stand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tasks.brief import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One value: text from a CSV or a spreadsheet, also lists and objects from YAML and JSON.

    `column` is the canonical name (`aspect_ratio`, `fields.offer`), `where` what a message says
    (`aspect_ratio (Sheet1!D14)`). A faulty cell has its problem noted already.
    """

    column: str
    value: Json
    line: int | None
    where: str
    faulty: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row that is not blank: its cells that are not blank, and all its texts as written.

    A hidden one is not shown by the workbook it is in.
    """

    line: int
    cells: Mapping[str, Cell]
    texts: tuple[tuple[str, str], ...]
    hidden: bool = False


@dataclass(frozen=True, kw_only=True)
class Table:
    """A whole sheet before any of it is understood; complete when no column was refused.

    In a gridded one a row without a cell of a column has an empty one, as in a CSV.
    """

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    defaults: Mapping[str, Cell] = field(default_factory=dict)
    campaign: Cell | None = None
    budget: Cell | None = None
    complete: bool = True
    gridded: bool = False
    #: Which worksheet of a workbook it is.
    worksheet: str | None = None
