"""One large campaign beside a small one: memory, rate, and what running it again takes."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.bench.figures import Figure
from tests.bench.process import Ended
from tests.bench.programs import callsheet, creates, desk_at, run_sheet
from tests.programs import simple_sheet

SMALL = 1000
#: What was asked for was asked for at so many rows.
LARGE = 100_000
CHANGED = 10
MB = 1_000_000


def measure_scale(address: str, folder: Path, rows: int) -> list[Figure]:
    """Return memory and rate of `rows` rows against a thousand, and the runs after that.

    A thousand rows are run before and after: the machine of the large run is between the two.
    """
    before = callsheet(address, SMALL, folder / "before")
    print(f"  {rows:,} rows", file=sys.stderr, flush=True)
    large = callsheet(address, rows, folder / "large")
    # Only a long run meets another machine at its end than at its beginning.
    after = callsheet(address, SMALL, folder / "after") if rows == LARGE else before
    small = (before.inside + after.inside) / 2
    rate = Figure(
        part="scale",
        what=f"rows/s at {rows:,} rows against {SMALL:,}",
        unit="rows/s",
        ours=rows / large.inside,
        peer=SMALL / small,
        ratio=rows / large.inside / (SMALL / small),
        target=0.9 if rows == LARGE else None,
        rows=rows,
        note=f"processor time {large.processor / rows * 1000:.1f} ms a row against "
        f"{(before.processor + after.processor) / 2 / SMALL * 1000:.1f}, start included",
    )
    least = min(before.peak, after.peak)
    memory = Figure(
        part="scale",
        what=f"most memory at {rows:,} rows above {SMALL:,}",
        unit="MB",
        ours=(large.peak - least) / MB,
        target=300.0 if rows == LARGE else None,
        judged="ours",
        better="less",
        rows=rows,
        note=f"{large.peak / MB:,.0f} MB and {least / MB:,.0f} MB",
    )
    return [rate, memory, *_again(address, folder / "large", rows)]


def _again(address: str, folder: Path, rows: int) -> list[Figure]:
    """Run the delivered sheet again as it is, then with some of its rows changed."""
    desk = desk_at(address, rows, folder)
    creates(address)
    lines = [_line(run_sheet(desk), rows, creates(address), changed=0, target=5.0)]
    desk.sheet("bench.csv", _changed(rows))
    lines += [_line(run_sheet(desk), rows, creates(address), changed=CHANGED, target=6.0)]
    return lines


def _changed(rows: int) -> str:
    """Return the sheet with some rows, all over it, that ask for another video."""
    lines = simple_sheet(rows).splitlines()
    for n in range(CHANGED):
        at = 1 + n * rows // CHANGED
        lines[at] = lines[at].replace("Kettle", "Teapot")
    return "\n".join(lines) + "\n"


def _line(ended: Ended, rows: int, created: int, *, changed: int, target: float) -> Figure:
    assert created == changed, f"{created} creates instead of {changed}"
    what = f"{changed} rows changed" if changed else "nothing changed"
    return Figure(
        part="scale",
        what=f"run again at {rows:,} rows, {what}",
        unit="s",
        ours=ended.seconds,
        target=target if rows == LARGE else None,
        judged="ours",
        better="less",
        rows=rows,
        note=f"{created} creates; processor {ended.processor:.1f} s; {ended.peak / MB:,.0f} MB",
    )
