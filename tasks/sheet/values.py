"""What is asked of a sheet, and what comes out of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Literal

from callsheet.tasks.brief import Brief
from callsheet.tasks.errors import Problem
from callsheet.tasks.origin import SheetOrigin
from callsheet.tasks.sheet.table import Cell

#: What becomes of rows that a workbook hides, or that a filter leaves out of it.
HiddenRows = Literal["skip", "read"]


@dataclass(frozen=True, kw_only=True)
class SheetOptions:
    """What the command line says about a sheet; it wins over what the sheet says."""

    campaign: str | None = None
    budget: Decimal | None = None
    delimiter: str | None = None
    worksheet: str | None = None
    #: None: nobody said; they are read, and a run asks before it pays for one.
    hidden_rows: HiddenRows | None = None
    name_template: str = "{campaign}/{row}/{row}-take{take}.mp4"


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
    #: Where it comes from; None for standard input.
    origin: SheetOrigin | None = None
    #: Whether its campaign was named after the file, for want of anything better.
    named_after_file: bool = False
    cells: Mapping[str, Mapping[str, Cell]] = field(default_factory=dict, repr=False)
    #: Rows that the workbook hides, as long as nobody said whether they are wanted.
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
