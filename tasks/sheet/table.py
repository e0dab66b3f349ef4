"""The one shape that every format is read into.

Rows of named cells with their places, and what is wrong with them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn, TypedDict, Unpack

from callsheet.tasks.runtime.errors import Problem, SheetError
from callsheet.tasks.sheet.synonyms import Names
from callsheet.tasks.sheet.text import MAX_BYTES, as_text
from callsheet.tasks.values.amounts import say_bytes
from callsheet.tasks.values.briefs import Brief, HiddenRows, Json, SheetOrigin
from callsheet.tasks.values.names import DEFAULT_NAMES


class Where(TypedDict, total=False):
    """Where in a sheet something was found, as a `Problem` has it."""

    line: int | None
    cell: str | None
    value: str | None
    row: str | None
    column: str | None


class Cell(NamedTuple):
    """One value: text from a CSV or a spreadsheet, also lists and objects from YAML and JSON.

    `column` is the canonical name (`aspect_ratio`, `fields.offer`), `where` what a message says
    (`aspect_ratio (Sheet1!D14)`). A faulty cell has its problem noted already. `shown` is its text
    where a spreadsheet shows another one than it holds.
    """

    column: str
    value: Json
    line: int | None
    where: str
    faulty: bool = False
    shown: str | None = None

    def place(self, *, row: str | None = None, value: str | None = None) -> Where:
        """Return where it is, for a problem: `row` is the id of its row, `value` what it says."""
        where: Where = {"line": self.line, "cell": self.where, "column": self.column}
        return {**where, "row": row, "value": value}

    @property
    def text(self) -> str:
        """The cell as one text, for the status sheet."""
        shown = self.value if self.shown is None else self.shown
        if type(shown) is str:
            return shown
        is_tree = isinstance(shown, Mapping | list)
        return json.dumps(shown, ensure_ascii=False) if is_tree else as_text(shown)


@dataclass(frozen=True, slots=True)
class Texts:
    """The headers of a sheet, which all its rows share, with the texts of one row."""

    headers: tuple[str, ...]
    texts: tuple[str, ...]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return zip(self.headers, self.texts, strict=True)


class Row(NamedTuple):
    """One row that is not blank: its cells that are not blank, by column."""

    line: int
    cells: Mapping[str, Cell]

    @property
    def name(self) -> str | None:
        """Its id as the sheet has it, right or wrong."""
        return as_text(self.cells["id"].value) if "id" in self.cells else None


@dataclass(frozen=True, kw_only=True)
class Table:
    """A whole sheet before any of it is understood; complete when no column was refused.

    Its rows may be made again each time they are gone through.
    """

    #: The header of each column.
    columns: Mapping[str, str]
    rows: Collection[Row]
    defaults: Mapping[str, Cell] = field(default_factory=dict)
    #: Defaults for the rows that have a tag, by tag.
    tagged: Mapping[str, Mapping[str, Cell]] = field(default_factory=dict)
    #: What a YAML or JSON sheet says besides rows and defaults, by its name (`columns.PARTS`).
    parts: Mapping[str, Cell] = field(default_factory=dict)
    complete: bool = True
    #: Which worksheet of a workbook it is.
    worksheet: str | None = None
    #: The lines of rows that the workbook hides.
    hidden: Collection[int] = ()
    #: Names the cell of a column in a line, also an empty one, as a CSV has them; it returns None
    #: without such a column.
    place: Callable[[str, int], str | None] | None = None

    def lacking(self, columns: Iterable[str], line: int) -> tuple[str, str] | None:
        """Return the first of these columns that the sheet has, and its cell in a line."""
        if self.place is not None:
            for column in columns:
                if (where := self.place(column, line)) is not None:
                    return column, where
        return None


# One line of a CSV or a worksheet, before its columns are known: what is in it, and what it is.


#: A checkbox that is not ticked, as spreadsheets save it in the languages they speak.
_UNTICKED = frozenset(
    ("FALSE", "FALSCH", "FAUX", "FALSO", "ONWAAR", "FALSK", "FALSKT", "USANN", "EPÄTOSI", "FAŁSZ",
     "NEPRAVDA", "YANLIŞ", "ЛОЖЬ")
)  # fmt: skip
_TOTAL = re.compile(
    r"(?:grand )?totals?|total général|totale|totaal|sum|summe|summa|gesamt|gesamtsumme|"
    r"insgesamt|ergebnis|somme|somma|suma",
    re.IGNORECASE,
)


class Span(NamedTuple):
    """Cells that are merged into one: lines from 1, columns from 0, all of them included."""

    first_line: int
    last_line: int
    first_column: int
    last_column: int

    def __str__(self) -> str:
        from openpyxl.utils import get_column_letter

        first, last = (get_column_letter(n + 1) for n in (self.first_column, self.last_column))
        return f"{first}{self.first_line}:{last}{self.last_line}"


#: What most lines have of everything else: nothing.
_NONE: Mapping[int, Any] = MappingProxyType({})


class Line(NamedTuple):
    """One line; by column position `faults` are what is wrong, and `spans` what is merged.

    A cell is in `spans` when it took its text from a merged cell, or shares one with its neighbour.
    A line that a filter leaves out is hidden as any other. `dates` are the cells that the
    spreadsheet holds as dates, whatever was typed; `shown` are times as it shows them.
    """

    number: int
    cells: tuple[str, ...]
    faults: Mapping[int, str] = _NONE
    spans: Mapping[int, Span] = _NONE
    hidden: bool = False
    dates: Collection[int] = ()
    shown: Mapping[int, str] = _NONE

    @property
    def is_odd(self) -> bool:
        """Whether there is more to a cell of it than its text."""
        return bool(self.faults or self.spans or self.dates or self.shown)


def is_blank(line: Line) -> bool:
    """Say whether no one wrote anything into a line: checkboxes come unticked by themselves."""
    for text in line.cells:
        # Most lines show by their first cell that they are not.
        if text and not text.isspace() and text.strip() not in _UNTICKED:
            return False
    return True


def is_total(line: Line) -> bool:
    """Say whether a line sums up the others: one word for that, and else only numbers."""
    texts = [text for text in map(str.strip, line.cells) if text]
    words = [text for text in texts if any(map(str.isalpha, text))]
    return len(texts) > 1 and len(words) == 1 and bool(_TOTAL.fullmatch(words[0].rstrip(" :")))


# What is asked of a sheet, and what comes out of it.


@dataclass(frozen=True, kw_only=True)
class SheetOptions:
    """What the command line says about a sheet; it wins over what the sheet says."""

    campaign: str | None = None
    budget: Decimal | None = None
    delimiter: str | None = None
    worksheet: str | None = None
    #: None: no one said; they are read, and a run asks before it pays for one.
    hidden_rows: HiddenRows | None = None
    #: Header -> column, as a person has said.
    columns: Mapping[str, str] = field(default_factory=dict)
    #: A person's word: the sheet's matrix may make more than 10,000 videos.
    yes_many: bool = False
    #: The moment at which it is read (Unix seconds); without one no date is to come or has passed.
    now: float | None = None
    #: The profile's template of names, for sheets that have none.
    names: str = DEFAULT_NAMES
    #: The profile's addresses of copies, for sheets that have none.
    copies: tuple[str, ...] = ()
    #: The `x_` column that says the cost center of rows that name none.
    cost_center_column: str | None = None
    #: The cost centers that have a budget, as its setting spells them.
    cost_centers: Collection[str] = ()
    #: Raise MeansMany for a matrix that means more videos: they are made elsewhere.
    few: int | None = None


class MeansMany(Exception):
    """A sheet that seems small means more videos than are to be made here."""


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """A sheet without a problem.

    `briefs` are in sheet order, disabled ones included. `digest` is the sha256 (hex) of the
    sheet's bytes; files its scripts point to (`@file`) are in the briefs' digests, not in this.
    `advice` does not stop a run; `notes` say how what could have been meant otherwise was read.
    `cells` says by row and column where each value stands.
    """

    campaign: str
    address: str
    name: str
    digest: str
    budget: Decimal | None
    briefs: tuple[Brief, ...]
    columns: tuple[str, ...]
    advice: tuple[Problem, ...]
    notes: tuple[Problem, ...] = ()
    #: Whether one video of each kind is made first: yes, no or auto, where it says so.
    canary: str | None = None
    #: Whether changed rows are edited (cheapest) or made again (retake), where it says so.
    edits: str | None = None
    #: The parts of the rows that are made first, as `10%`.
    waves: tuple[str, ...] = ()
    #: How many new takes of each row are made whose render fails, where it says so.
    retry_failed: int | None = None
    #: How long the service keeps a delivered video, in seconds, where it says so.
    keep_at_service: float | None = None
    #: Whether it says itself what files are called, and where they are copied to; else the settings
    #: may.
    says_names: bool = False
    says_copies: bool = False
    #: When it was read (Unix seconds), where dates matter.
    read_at: float | None = None
    #: Where it comes from; None for standard input.
    origin: SheetOrigin | None = None
    #: Whether its campaign was named after the file, for want of anything better.
    named_after_file: bool = False
    cells: Mapping[str, Mapping[str, Cell]] = field(default_factory=dict, repr=False)
    #: Rows that the workbook hides, as long as no one said whether they are wanted.
    hidden: frozenset[str] = frozenset()
    #: Hidden rows that are left out: not among the briefs, but in the sheet all the same.
    skipped: frozenset[str] = frozenset()

    def visible_only(self) -> Sheet:
        """Return the sheet without the rows that its workbook hides."""
        return replace(
            self,
            briefs=tuple(brief for brief in self.briefs if brief.row not in self.hidden),
            hidden=frozenset(),
            skipped=self.skipped | self.hidden,
        )

    def without_rows(self) -> Sheet:
        """Return the sheet without what only its rows need, once the ledger has them."""
        return replace(self, briefs=(), cells={})


# Collects what is found in a sheet, so that all of it is said at once, and each thing once.


class Findings:
    """The problems, the advice and the notes of one sheet.

    A problem keeps the sheet from being used, advice is what would be better, and a note says how
    something was understood that could have been meant otherwise.
    """

    def __init__(self, file: str, names: Names | None = None) -> None:
        self.file = file
        #: Which columns the headers mean, as a person has said.
        self.names = names or Names({})
        self._problems: dict[Problem, None] = {}
        self._advice: dict[Problem, None] = {}
        self._notes: dict[Problem, None] = {}

    def refuse(self, message: str, **place: Unpack[Where]) -> None:
        """Note something that keeps the sheet from being used."""
        self._problems[Problem(file=self.file, message=message, **place)] = None

    def advise(self, message: str, **place: Unpack[Where]) -> None:
        """Note something worth knowing that stops nothing."""
        self._advice[Problem(file=self.file, message=message, **place)] = None

    def note(self, message: str, **place: Unpack[Where]) -> None:
        """Note how something was understood, and what says that it was meant otherwise."""
        self._notes[Problem(file=self.file, message=message, **place)] = None

    def give_up(self, message: str, **place: Unpack[Where]) -> NoReturn:
        """Note a problem that makes reading on pointless, and raise all there are."""
        self.refuse(message, **place)
        raise SheetError(self.problems, notes=self.notes)

    def raise_if_any(self) -> None:
        """Raise SheetError when there is a problem."""
        if self._problems:
            raise SheetError(self.problems, notes=self.notes)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems from the top of the sheet to its end."""
        return _in_order(self._problems)

    @property
    def advice(self) -> tuple[Problem, ...]:
        """The advice from the top of the sheet to its end."""
        return _in_order(self._advice)

    @property
    def notes(self) -> tuple[Problem, ...]:
        """The notes from the top of the sheet to its end."""
        return _in_order(self._notes)


def _in_order(found: Iterable[Problem]) -> tuple[Problem, ...]:
    return tuple(sorted(found, key=lambda problem: problem.line or 0))


# What comes of fetching a sheet: its bytes, or a sentence that says why there are none.


@dataclass(frozen=True, kw_only=True)
class Fetched:
    """A sheet's bytes, what to call it, and the folder it lies in if it is a local file."""

    content: bytes
    name: str
    folder: Path | None = None


def refused(name: str, message: str) -> SheetError:
    """Return the error for a sheet that could not be had."""
    return SheetError([Problem(file=name, message=message)])


def too_large(name: str) -> SheetError:
    """Return the error for a sheet that is larger than any campaign."""
    return refused(name, f"is larger than {say_bytes(MAX_BYTES)}, the limit for a sheet: split it")
