"""What a worksheet says of its rows and columns beside their cells: hidden ones, merged ones.

openpyxl tells this only when it holds the whole workbook in memory, in half as much time again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO
from xml.parsers import expat

from callsheet.tasks.sheet.findings import Findings
from callsheet.tasks.sheet.limits import MAX_CELLS, MAX_COLUMNS, MAX_ROWS
from callsheet.tasks.sheet.line import Line, Span, is_blank


@dataclass(frozen=True)
class Shape:
    """Lines from 1, columns from 0."""

    hidden_lines: set[int] = field(default_factory=set)
    hidden_columns: set[int] = field(default_factory=set)
    spans: list[Span] = field(default_factory=list)


def read_shape(source: IO[bytes], findings: Findings) -> Shape:
    """Return the shape of a worksheet from its XML (ECMA-376 part 1, 18.3.1).

    Raises SheetError for one with more cells or merged cells than anybody fills, before any is
    built.
    """
    shape = Shape()
    line = cells = 0

    def begin(tag: str, said: Mapping[str, str]) -> None:
        nonlocal line, cells
        match tag.rpartition(":")[2]:
            case "c":
                cells += 1
                if cells > MAX_CELLS:
                    findings.give_up(f"has more than {MAX_CELLS:,} cells; split it")
            case "row":
                line = int(said.get("r", line + 1))
                if _truth(said.get("hidden")):
                    shape.hidden_lines.add(line)
            case "col" if _truth(said.get("hidden")):
                last = min(int(said["max"]), MAX_COLUMNS * 4)
                shape.hidden_columns.update(range(int(said["min"]) - 1, last))
            case "mergeCell":
                shape.spans.append(_span(said["ref"]))
                if len(shape.spans) > MAX_ROWS:
                    findings.give_up(f"has more than {MAX_ROWS:,} merged cells; split it")

    parser = expat.ParserCreate()
    parser.StartElementHandler = begin
    parser.ParseFile(source)
    return shape


def filled_down(lines: Iterable[Line], spans: Iterable[Span]) -> Iterator[Line]:
    """Yield the lines with the text of a merged cell in every line it reaches.

    A line with nothing else in it stays blank: people merge cells to make them taller, too.
    """
    waiting = sorted(spans, reverse=True)
    #: By column what reaches down from above: the merged cell, its text and its fault.
    reaching: dict[int, tuple[Span, str, str | None]] = {}
    for line in lines:
        reaching = {n: one for n, one in reaching.items() if one[0].last_line >= line.number}
        beside: dict[int, Span] = {}
        while waiting and waiting[-1].first_line <= line.number:
            span = waiting.pop()
            n = span.first_column
            text = line.cells[n] if n < len(line.cells) else ""
            if span.first_line != line.number or not text.strip():
                continue
            if span.last_column > n:
                last = min(span.last_column, MAX_COLUMNS * 4)
                beside |= dict.fromkeys(range(n, last + 1), span)
            elif span.last_line > line.number:
                reaching[n] = (span, text, line.faults.get(n))
        below = {n: one for n, one in reaching.items() if one[0].first_line < line.number}
        if beside or (below and not is_blank(line)):
            line = _with(line, below, beside)
        yield line


def _with(
    line: Line, below: Mapping[int, tuple[Span, str, str | None]], beside: Mapping[int, Span]
) -> Line:
    cells = [*line.cells, *[""] * (max([*below, -1]) + 1 - len(line.cells))]
    faults = dict(line.faults)
    for n, (_, text, fault) in below.items():
        cells[n] = text
        if fault:
            faults[n] = fault
    spans = {n: span for n, (span, _, _) in below.items()} | dict(beside)
    return line._replace(cells=tuple(cells), faults=faults, spans=spans)


def _truth(said: str | None) -> bool:
    return said in ("1", "true", "on")


def _span(reference: str) -> Span:
    from openpyxl.utils import range_boundaries

    # A merged range always names its cells: no boundary is missing.
    first_column, first_line, last_column, last_line = (n or 1 for n in range_boundaries(reference))
    return Span(first_line, last_line, first_column - 1, last_column - 1)
