"""An uploaded sheet as pages and programs see it: its columns, its problems, what it would mean."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from callsheet.deployments.board.problem_details import listed
from callsheet.deployments.board.services.corrections import Kind, Numbered, kinds_of
from callsheet.tasks.ledger.diff import Action
from callsheet.tasks.ledger.plans import KeptSheet
from callsheet.tasks.runtime.errors import Problem, SpendRefused
from callsheet.tasks.sheet import Sheet
from callsheet.tasks.sheet.first_row import Told
from callsheet.tasks.sheet.headers import (
    AXES,
    KNOWN_COLUMNS,
    TRANSLATED,
    canonical_header,
    is_translation,
)
from callsheet.tasks.sheet.matrix import asks_for_many
from callsheet.tasks.sheet.read import FoundColumn
from callsheet.tasks.sheet.text import language_code

#: The languages of translated columns that are always offered.
_USUAL_LANGUAGES = ("en", "de", "fr", "es", "it", "pt")


@dataclass(frozen=True, kw_only=True)
class Trial:
    """Columns for the headers of a sheet, and what would be made of its first rows with them.

    `cells` is how many cells and rows would be left to fix.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    first: tuple[Told, ...] = ()
    cells: int = 0

    @property
    def key(self) -> str:
        """What tells these columns from others."""
        return columns_key(self.columns)


@dataclass(frozen=True, kw_only=True)
class SheetView:
    """A sheet that was uploaded, and what is in it.

    One with problems has no campaign and no actions. `actions` counts what would happen to rows;
    `refusal` is why a run would stop; `hidden` are rows that a workbook hides, no one said whether
    they are wanted; `mapped` is header -> column, as a person confirmed it; `trial` is what the
    columns would mean that are proposed or were chosen, and nobody has confirmed yet.
    """

    kept: KeptSheet
    rows: int
    columns: tuple[FoundColumn, ...]
    campaign: str | None = None
    problems: tuple[Problem, ...] = ()
    advice: tuple[Problem, ...] = ()
    notes: tuple[Problem, ...] = ()
    actions: Mapping[Action, int] | None = None
    refusal: SpendRefused | None = None
    hidden: tuple[str, ...] = ()
    mapped: Mapping[str, str] = field(default_factory=dict)
    trial: Trial = field(default_factory=lambda: Trial())
    #: As it was read; with problems, what can be told of it.
    sheet: Sheet | None = field(default=None, repr=False)

    @property
    def unmapped(self) -> frozenset[str]:
        """The headers of which nothing is known."""
        return frozenset(one.name for one in self.columns if one.column is None)

    @property
    def to_fix(self) -> list[Numbered]:
        """The numbered problems, without those of headers that a person may say the meaning of."""
        return [
            (number, one)
            for number, one in enumerate(self.problems)
            if one.column is not None or one.value not in self.unmapped
        ]

    @property
    def kinds(self) -> list[Kind]:
        """What there is to fix, those of one kind together."""
        return kinds_of(self.to_fix)

    @property
    def many(self) -> str | None:
        """How many videos it means, where nothing else has to be settled but that: in words."""
        asks = len(self.problems) == 1 and asks_for_many(self.problems[0])
        return self.problems[0].message.partition(":")[0] if asks else None

    def meanings(self, column: FoundColumn) -> dict[str, list[tuple[str, str]]]:
        """Return what a header may mean, by kind, the likeliest first: columns with their words.

        Without a kind and without words it is one that a person has to choose.
        """
        name = canonical_header(column.name)
        kinds = {
            # As the columns of a status sheet: left out when the sheet is read.
            "Not read": [(f"x_{name}", f"Keep as x_{name}"), (f"cs_{name}", "Leave it out")],
            "Columns": [(one, one) for one in KNOWN_COLUMNS],
            "Translations": [(one, one) for one in self._translations],
            "Several values in one cell": [(f"matrix.{one}", f"matrix.{one}") for one in AXES],
            "Inputs of the tool": [(one := canonical_header(f"fields.{column.name}"), one)],
        }
        chosen = self.trial.columns.get(column.name) or column.column
        if chosen is None:
            return {"": [("", "Choose a column")], **kinds} if column.open else kinds
        words = dict(one for several in kinds.values() for one in several)
        return {"": [(chosen, words.get(chosen, chosen))], **kinds}

    @property
    def languages(self) -> list[str]:
        """The languages that headers and cells of the sheet name, then the usual ones: codes."""
        columns = [one.column or one.proposed or "" for one in self.columns]
        said = [one.partition(".")[2] for one in columns if is_translation(one)]
        for one in self.columns:
            if (one.column or one.proposed or "").removeprefix("matrix.") == "language":
                cells = (part.strip() for text in one.samples for part in text.split("|"))
                said += [code for cell in cells if (code := language_code(cell))]
        return list(dict.fromkeys([*(code.casefold() for code in said), *_USUAL_LANGUAGES]))

    @property
    def _translations(self) -> list[str]:
        """The translated columns in these languages."""
        return [f"{one}.{code}" for code in self.languages for one in TRANSLATED]

    def has_column(self, *names: str) -> bool:
        """Whether it has one of these columns, also as an axis or translated."""
        known = (one.column or "" for one in self.columns)
        return any(one.removeprefix("matrix.").partition(".")[0] in names for one in known)

    def as_json(self) -> dict[str, Any]:
        """Return the answer of `POST /sheets`."""
        return {
            "sheet": self.kept.id,
            "name": self.kept.name,
            "campaign": self.campaign,
            "rows": self.rows,
            "columns": [one.as_json() for one in self.columns],
            "problems": listed(self.problems, problem_json, more_problems),
            "advice": listed(self.advice, str, str),
            "notes": listed(self.notes, str, str),
            "actions": None if self.actions is None else dict(self.actions),
            "refusal": None if self.refusal is None else str(self.refusal),
            "hidden": list(self.hidden),
        }


def more_problems(words: str) -> dict[str, Any]:
    """Return the last problem of an answer: how many others there are."""
    return {"line": None, "column": None, "words": words, "row": None, "cell": None}


def problem_json(problem: Problem) -> dict[str, Any]:
    """Return a problem of a sheet as programs read it."""
    words = problem.message
    if problem.value is not None:
        words = f'"{problem.value}" {words}'
    # Of a header that is unknown, the column is what the header says.
    place = problem.value if problem.cell == "column" else problem.cell
    return {
        "line": problem.line,
        "column": problem.column or place,
        "words": words,
        "row": problem.row,
        "cell": problem.cell,
    }


def columns_key(columns: Mapping[str, str]) -> str:
    """Return what tells columns for headers from others, without headers that name theirs."""
    said = sorted(f"{h}={c}" for h, c in columns.items() if canonical_header(h) != c)
    return hashlib.sha256("\n".join(said).encode()).hexdigest()[:32]
