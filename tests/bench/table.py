"""The one table of `make bench`, for a terminal and for a page.

`python -m tests.bench.table FILE` prints the table of `--json FILE` as Markdown.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.bench.figures import Figure

HEAD = ("what", "ours", "other", "ratio", "spread", "asked for", "met")
MET = {True: "yes", False: "NO", None: "-"}


def lines_of(figures: Sequence[Figure]) -> list[tuple[str, ...]]:
    """Return the cells of the table, a line for each figure."""
    return [
        (
            figure.what,
            _number(figure.ours, figure.unit),
            _number(figure.peer, figure.unit),
            _number(figure.ratio),
            _spread(figure),
            _target(figure),
            MET[figure.met] if not figure.note.startswith("not measured") else "not measured",
        )
        for figure in figures
    ]


def text_table(figures: Sequence[Figure]) -> str:
    """Return the table for a terminal, with its notes below it."""
    cells = [HEAD, *lines_of(figures)]
    widths = [max(len(line[n]) for line in cells) for n in range(len(HEAD))]
    lines = [
        "  ".join(
            cell.ljust(width) if n == 0 else cell.rjust(width)
            for n, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in cells
    ]
    lines.insert(1, "-" * max(map(len, lines)))
    return "\n".join([*lines, "", *_notes(figures)])


def markdown_table(figures: Sequence[Figure]) -> str:
    """Return the table for a page."""
    cells = [HEAD, ("---", *["---:"] * (len(HEAD) - 1)), *lines_of(figures)]
    lines = ["| " + " | ".join(line) + " |" for line in cells]
    return "\n".join([*lines, "", *(f"- {note}" for note in _notes(figures))])


def _notes(figures: Sequence[Figure]) -> Iterator[str]:
    for figure in figures:
        words = [figure.note] if figure.note else []
        if figure.rows:
            words.insert(0, f"{figure.rows:,} rows, {figure.turns} turn{'s'[: figure.turns > 1]}")
        if words:
            yield f"{figure.what}: {'; '.join(words)}"


def _number(value: float | None, unit: str = "") -> str:
    if value is None:
        return "-"
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:,.{digits}f} {unit}".rstrip()


def _spread(figure: Figure) -> str:
    if figure.least is None or figure.most is None or figure.turns < 2:
        return "-"
    return f"{_number(figure.least)} to {_number(figure.most)}"


def _target(figure: Figure) -> str:
    if figure.target is None:
        return "-"
    sign = "at least" if figure.better == "more" else "at most"
    return f"{sign} {_number(figure.target, figure.unit if figure.judged == 'ours' else '')}"


def heading(told: Mapping[str, Any]) -> str:
    """Return where and when the figures were found."""
    return f"{told['machine']}; {told['day']}; load before {told['load']:.1f}"


if __name__ == "__main__":
    found = json.loads(Path(sys.argv[1]).read_text())
    print(heading(found) + "\n")
    print(markdown_table([Figure.read(told) for told in found["figures"]]))
