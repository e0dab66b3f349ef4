"""Which line of a table is its header: a title, a logo or a note may stand above it.

Known columns alone tell. A first line that is a header is never passed over, and where two lines
may be one nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tasks.sheet.headers import canonical_header, is_kept_only, is_known, is_ours

#: A header stands among so many first lines with something in them.
SEARCHED = 20


class HeaderLines(NamedTuple):
    """Where the header may be, by index: nowhere, in one line, or in several that differ.

    `certain` says that most of its names are known columns.
    """

    lines: tuple[int, ...]
    certain: bool


class _Names(NamedTuple):
    known: int
    unknown: int

    @property
    def certain(self) -> bool:
        return self.known > max(1, self.unknown)


def find_header(lines: Sequence[Sequence[str]]) -> HeaderLines:
    """Return which of the first lines may be the header."""
    names = {n: _names(cells) for n, cells in enumerate(lines) if any(map(str.strip, cells))}
    if not names:
        return HeaderLines((), False)
    first = min(names)
    if names[first].certain:
        return HeaderLines((first,), True)
    if certain := [n for n, found in names.items() if found.certain]:
        return HeaderLines(_different(lines, certain), True)
    if names[first].known:
        return HeaderLines((first,), False)
    most = max(found.known for found in names.values())
    # One known name among others is a word that happens to stand in a title.
    likely = [n for n, found in names.items() if found.known == most > min(1, found.unknown)]
    return HeaderLines(_different(lines, likely) if most else (), False)


def known_names(cells: Sequence[str]) -> int:
    """Return how many cells are the names of known columns."""
    return _names(cells).known


def _names(cells: Sequence[str]) -> _Names:
    written = [canonical_header(cell) for cell in cells if cell.strip()]
    known = sum(map(is_known, written))
    free = sum(is_kept_only(name) or is_ours(name) for name in written)
    return _Names(known, len(written) - known - free)


def _different(lines: Sequence[Sequence[str]], found: list[int]) -> tuple[int, ...]:
    """Return the lines that do not just repeat one above."""
    first: dict[tuple[str, ...], int] = {}
    for n in found:
        first.setdefault(tuple(map(str.strip, lines[n])), n)
    return tuple(first.values())
