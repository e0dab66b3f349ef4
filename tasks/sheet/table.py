"""The one shape every format is read into: rows of named cells that know where they stand."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, overload

from callsheet.tasks.brief import Json


class Cell(NamedTuple):
    """One value: text from a CSV or a spreadsheet, also lists and objects from YAML and JSON.

    `column` is the canonical name (`aspect_ratio`, `fields.offer`), `where` what a message says
    (`aspect_ratio (Sheet1!D14)`). A faulty cell has its problem noted already.
    """

    column: str
    value: Json
    line: int | None
    where: str
    faulty: bool = False


class Texts(Sequence[tuple[str, str]]):
    """The headers of a sheet, which all its rows share, with the texts of one row."""

    __slots__ = ("headers", "texts")

    def __init__(self, headers: tuple[str, ...], texts: tuple[str, ...]) -> None:
        self.headers = headers
        self.texts = texts

    def __len__(self) -> int:
        return len(self.texts)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return zip(self.headers, self.texts, strict=True)

    @overload
    def __getitem__(self, index: int) -> tuple[str, str]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[tuple[str, str]]: ...
    def __getitem__(self, index: int | slice) -> tuple[str, str] | Sequence[tuple[str, str]]:
        return tuple(self)[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


class Row(NamedTuple):
    """One row that is not blank: its cells that are not blank, and all its texts as written.

    A hidden one is not shown by the workbook it is in.
    """

    line: int
    cells: Mapping[str, Cell]
    texts: Sequence[tuple[str, str]]
    hidden: bool = False


@dataclass(frozen=True, kw_only=True)
class Table:
    """A whole sheet before any of it is understood; complete when no column was refused.

    Its rows may be made anew each time they are gone through. In a gridded one a row without a
    cell of a column has an empty one, as in a CSV.
    """

    columns: tuple[str, ...]
    rows: Collection[Row]
    defaults: Mapping[str, Cell] = field(default_factory=dict)
    campaign: Cell | None = None
    budget: Cell | None = None
    complete: bool = True
    gridded: bool = False
    #: Which worksheet of a workbook it is.
    worksheet: str | None = None
    #: The lines of rows that the workbook hides.
    hidden: tuple[int, ...] = ()
