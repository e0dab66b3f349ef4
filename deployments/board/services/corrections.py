"""The problems of an uploaded sheet by kind, and the new texts that a person gives their cells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from callsheet.tasks.runtime.errors import LINES, Problem, kind_of
from callsheet.tasks.sheet.correct import UNIQUE, is_correctable, is_shared

#: A problem with its number among those of its sheet.
Numbered = tuple[int, Problem]


@dataclass(frozen=True, kw_only=True)
class Corrections:
    """New texts: for single cells, for all cells like one, and for all cells of a kind, each by
    the number of the (first) problem."""

    cells: Mapping[int, str] = field(default_factory=dict)
    same: Mapping[int, str] = field(default_factory=dict)
    all: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Kind:
    """Problems of one kind."""

    several: list[Numbered] = field(default_factory=list)

    @property
    def lines(self) -> str:
        """The lines of the first ones, in words."""
        found = list(dict.fromkeys(one.line for _, one in self.several if one.line is not None))
        more = len(found) - LINES
        named = ", ".join(f"{line:,}" for line in found[:LINES])
        return named + (f" and {more:,} more" if more > 0 else "")

    @property
    def values(self) -> dict[str | None, int]:
        """The wrong texts, the most frequent first, and how many cells have each."""
        return dict(Counter(one.value for _, one in self.several).most_common())

    @property
    def alike(self) -> list[list[Numbered]]:
        """The cells with one wrong text, where several have it: one correction fits them."""
        found: dict[str, list[Numbered]] = {}
        for number, one in self.several:
            if one.value is not None and one.column not in UNIQUE and is_correctable(one):
                found.setdefault(one.value, []).append((number, one))
        return sorted((c for c in found.values() if len(c) > 1), key=len, reverse=True)

    @property
    def is_shared(self) -> bool:
        """Whether one text may be right for all cells, whatever is in each of them."""
        _, first = self.several[0]
        differ = len(self.values) > 1 or None in self.values
        return differ and is_shared(first.column) and is_correctable(first)

    def corrected(self, said: Corrections) -> dict[int, str]:
        """Return the new texts of its cells, by number: that of a cell itself comes first."""
        texts: dict[int, str] = {}
        # The field for all cells begins empty, those of others with what is in the cells.
        of_all = said.all.get(self.several[0][0], "").strip() if self.is_shared else ""
        like = {n: cells[0][0] for cells in self.alike for n, _ in cells}
        for number, one in self.several:
            same = said.same.get(like.get(number, -1))
            for text in (said.cells.get(number), same, of_all or None):
                if text is not None and text.split() != (one.value or "").split():
                    texts.setdefault(number, text)
        return texts


def kinds_of(problems: Iterable[Numbered]) -> list[Kind]:
    """Return problems by kind, in the order of the first of each."""
    found: dict[tuple[str, str | None, str], Kind] = {}
    for number, one in problems:
        found.setdefault(kind_of(one), Kind()).several.append((number, one))
    return [*found.values()]
