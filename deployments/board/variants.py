"""Rows that a matrix made from one row, shown together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby
from typing import Any, Generic, TypeVar

from callsheet.tasks.ledger.row_views import ShownRow
from callsheet.tasks.values.amounts import count, parse_credits

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Variants(Generic[T]):
    """Rows that follow each other; `base` is the id of the row they were made from, if it is one.

    `kinds` is how many there are of each state or action; amounts are in credits.
    """

    base: str | None
    rows: Sequence[T]
    title: str = ""
    kinds: Mapping[str, int]
    axes: str = ""
    quoted: Decimal = Decimal(0)
    charged: Decimal = Decimal(0)
    #: Whether these are rows of one kind that stand alone: a narrow page shows one for all.
    alike: bool = False

    @property
    def words(self) -> str:
        """How many videos, and by what they differ: `9 videos: 3 languages x 3 ratios`."""
        if self.alike:
            first, last = (one["row"] for one in (self.rows[0], self.rows[-1]))  # type: ignore[index]
            return f"{count(len(self.rows), 'row')}: {first} to {last}"
        return count(len(self.rows), "video") + (f": {self.axes}" if self.axes else "")


def variants_shown(rows: Sequence[ShownRow]) -> list[Variants[ShownRow]]:
    """Return the rows of a page of a campaign with those of one row together."""
    return [
        Variants(
            base=base,
            rows=these,
            title=_title(base, [row.title for row in these]),
            kinds=Counter(row.state for row in these),
            axes=_axes([row.language for row in these], [row.ratio for row in these]),
            quoted=sum((row.quoted or Decimal(0) for row in these), Decimal(0)),
            charged=sum((row.charged or Decimal(0) for row in these), Decimal(0)),
        )
        for base, these in _grouped(rows, lambda row: row.variant_of)
    ]


def variants_planned(
    rows: Sequence[Mapping[str, Any]], *, paid: Sequence[str]
) -> list[Variants[Mapping[str, Any]]]:
    """Return the lines of a plan with those of one row together; `paid` are actions that cost."""
    none = Decimal(0)
    return [
        Variants(
            base=base,
            rows=these,
            alike=base is None and len(these) >= ALIKE,
            title=_title(base, [line["title"] for line in these]),
            kinds=Counter(line["action"] for line in these),
            axes=_axes(
                [line.get("language") for line in these],
                [line.get("aspect_ratio") for line in these],
            ),
            quoted=sum(
                (parse_credits(line["quoted"]) or none for line in these if line["action"] in paid),
                none,
            ),
        )
        for base, several in _grouped(rows, lambda line: line.get("variant_of"))
        for these in ([several] if base else _kinds(several))
    ]


#: So many rows of one kind, one after the other, are one on a narrow page.
ALIKE = 6


def _kinds(rows: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """Return runs of lines to which the same happens for the same reason; short ones together."""
    found: list[list[Mapping[str, Any]]] = []
    for _, several in groupby(rows, lambda line: (line["action"], line.get("why"))):
        run = [*several]
        if found and len(run) < ALIKE and len(found[-1]) < ALIKE:
            found[-1] += run
        else:
            found.append(run)
    return found


def _grouped(rows: Sequence[T], of: Callable[[T], str | None]) -> list[tuple[str | None, list[T]]]:
    """Return runs of rows of one base, and between them runs of rows that stand alone."""
    sizes = [(base, [*these]) for base, these in groupby(rows, of)]
    alone = [(base if len(these) > 1 else None, these) for base, these in sizes]
    runs = groupby(alone, lambda one: one[0])
    return [(base, [row for _, these in several for row in these]) for base, several in runs]


def _title(base: str | None, titles: Sequence[str]) -> str:
    """Return the title of a row of variants: the first one's, unless it is only an id."""
    return "" if base is None or titles[0].startswith(base) else titles[0]


def _axes(languages: Sequence[str | None], ratios: Sequence[str | None]) -> str:
    """Return by what rows differ: `3 languages x 3 ratios`, with a comma if some are missing."""
    sizes = [(len({*languages}), "language"), (len({*ratios}), "ratio")]
    several = [(size, word) for size, word in sizes if size > 1]
    whole = 1
    for size, _ in several:
        whole *= size
    joint = " x " if whole == len(languages) else ", "
    return joint.join(count(size, word) for size, word in several)
