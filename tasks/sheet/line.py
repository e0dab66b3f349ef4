"""One line of a CSV or a worksheet, before its columns are known: what is in it, and what it is."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

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
    """Say whether nobody wrote anything into a line: checkboxes come unticked by themselves."""
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
