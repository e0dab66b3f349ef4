"""The one table of `make bench`, for a terminal and for a page.

`python -m tests.bench.table FILE [PART ...]` prints what `--json FILE` kept as Markdown; with
`--into PAGE` it goes between the two marks of a page.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.bench.figures import NOT_MEASURED, SHARES, Figure

HEAD = ("what", "Callsheet", "other", "ratio", "spread", "target", "met", "rows x turns")
SHARES_HEAD = ("where the time goes, one run under a sampler", "a row", "share")
MET = {True: "yes", False: "NO", None: "-"}
BEGIN, END = "<!-- bench -->", "<!-- end of bench -->"
Cells = Sequence[tuple[str, ...]]


def text_tables(figures: Sequence[Figure]) -> str:
    """Return the table for a terminal, with its notes and where the time goes below it."""
    cells, shares = lines_of(figures), shares_of(figures)
    tables = [_text(HEAD, cells), "\n".join(_notes(figures)), _text(SHARES_HEAD, shares)]
    return "\n\n".join(tables[: 2 + bool(shares)])


def markdown_tables(figures: Sequence[Figure], *, notes: bool = True) -> str:
    """Return the same for a page."""
    shares = shares_of(figures)
    tables = [_markdown(HEAD, lines_of(figures))]
    if notes:
        tables.append("\n".join(f"- {note}" for note in _notes(figures)))
    if shares:
        tables.append(_markdown(SHARES_HEAD, shares))
    return "\n\n".join(tables)


def lines_of(figures: Sequence[Figure]) -> Cells:
    """Return the cells of the table, a line for each figure."""
    return [
        (
            figure.what,
            _number(figure.ours, figure.unit),
            _number(figure.peer, figure.unit),
            _number(figure.ratio),
            _spread(figure),
            _target(figure),
            "not measured" if figure.note.startswith(NOT_MEASURED) else MET[figure.met],
            f"{figure.rows:,} x {figure.turns}" if figure.rows else "-",
        )
        for figure in figures
        if figure.part != SHARES
    ]


def shares_of(figures: Sequence[Figure]) -> Cells:
    """Return the cells of the table that says where the time goes."""
    return [
        (figure.what, _number(figure.ours, figure.unit), f"{figure.ratio or 0:.0%}")
        for figure in figures
        if figure.part == SHARES
    ]


def _text(head: tuple[str, ...], cells: Cells) -> str:
    lines = [head, *cells]
    widths = [max(len(line[n]) for line in lines) for n in range(len(head))]
    made = [
        "  ".join(
            cell.ljust(width) if n == 0 else cell.rjust(width)
            for n, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
    return "\n".join([made[0], "-" * max(map(len, made)), *made[1:]])


def _markdown(head: tuple[str, ...], cells: Cells) -> str:
    lines = [head, ("---", *["---:"] * (len(head) - 1)), *cells]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines
    )


def _notes(figures: Sequence[Figure]) -> Iterator[str]:
    """Yield every note once, with the lines it is about."""
    about: dict[str, list[str]] = {}
    for figure in figures:
        if figure.note and figure.part != SHARES:
            about.setdefault(figure.note, []).append(figure.what)
    for note, lines in about.items():
        yield f"{'; '.join(lines)}: {note}"


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


def page_of(told: Mapping[str, Any], parts: Collection[str], *, notes: bool) -> str:
    """Return what `--json` kept, of some parts or of all, as Markdown."""
    figures = [Figure.read(one) for one in told["figures"]]
    wanted = [figure for figure in figures if not parts or figure.part in parts]
    return f"{heading(told)}\n\n{markdown_tables(wanted, notes=notes)}\n"


def _put_between(page: Path, made: str) -> None:
    """Replace what a page has between its two marks."""
    before, _, rest = page.read_text().partition(BEGIN)
    _, found, after = rest.partition(END)
    assert found, f"{page} has no place between {BEGIN} and {END}"
    page.write_text(f"{before}{BEGIN}\n{made}{END}{after}")


def main() -> None:
    """Print the page, or put it into another."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.table", description=__doc__)
    parser.add_argument("file", type=Path, metavar="FILE", help="what --json FILE wrote")
    parser.add_argument("parts", nargs="*", metavar="PART", help="these parts alone")
    parser.add_argument("--into", type=Path, metavar="PAGE", help=f"replace what is after {BEGIN}")
    parser.add_argument("--without-notes", action="store_true")
    args = parser.parse_args()
    made = page_of(json.loads(args.file.read_text()), args.parts, notes=not args.without_notes)
    if args.into:
        _put_between(args.into, made)
    else:
        print(made, end="")


if __name__ == "__main__":
    main()
