"""`make bench`: rows a second beside scripts that do only the calls, and how late films come.

Every program is run in turn, several times over, in the same go: the ratios are what counts.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path
from statistics import median

from tests.bench.film import make_film
from tests.bench.hints import measure_hints
from tests.bench.programs import LANES, Measured, bare, callsheet, machine, stub
from tests.bench.shares import shares_of

ROWS = 1000
TURNS = 5

NAMES = {
    "aiohttp": "bare script, aiohttp (the limit)",
    "httpx": "bare script, httpx over aiohttp",
    "callsheet": "callsheet run --without-prefect",
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--only", choices=("rates", "hints"), help="one of the two alone")
    args = parser.parse_args()
    # Here and not in /tmp, which may be memory: what is synced is to reach a disk. Removed at
    # the very end, because ext4 is slow to make files for minutes after many were deleted.
    folder = Path(tempfile.mkdtemp(prefix=".bench-", dir=Path.cwd()))
    try:
        print(machine())
        if args.only != "hints":
            _measure(folder, args.rows, args.turns)
        if args.only != "rates":
            measure_hints(args.rows, folder / "hints")
    finally:
        shutil.rmtree(folder)


def _measure(folder: Path, rows: int, turns: int) -> None:
    film = make_film(folder / "film.mp4")
    at_once = sum(LANES.values())
    print(f"{rows} rows, a film of {film.stat().st_size / 1000:.0f} kB and two captions each,")
    print(f"{at_once} at once ({', '.join(f'{n} {lane}' for lane, n in LANES.items())})")
    found: dict[str, list[Measured]] = {name: [] for name in NAMES}
    with stub(film) as address:
        for turn in range(turns + 1):
            for name in _in_turn(turn):
                place = folder / f"{turn}-{name}"
                # The turn before the first warms the disk cache and the compiled modules.
                count = rows if turn else 50
                if name == "callsheet":
                    one = callsheet(address, count, place)
                else:
                    one = bare(name, address, count, place)
                if turn:
                    found[name].append(one)
        shares = shares_of(address, rows, folder / "shares")
    _print_table(found, rows)
    print(shares)


def _in_turn(turn: int) -> list[str]:
    """Return who goes first, second and third; nobody always comes after the same one."""
    names, first = list(NAMES), turn % len(NAMES)
    return names[first:] + names[:first]


def _print_table(found: dict[str, list[Measured]], rows: int) -> None:
    print(f"\nrows/s, median of {len(found['httpx'])} turns (least to most)")
    print(f"{'':34}{'inside the run':>22}{'whole process':>22}{'calls':>7}")
    for name, runs in found.items():
        calls = sum(runs[-1].calls.values()) - runs[-1].calls["charged"]
        inside, whole = ([rows / getattr(run, n) for run in runs] for n in ("inside", "whole"))
        print(f"{NAMES[name]:34}{_spread(inside):>22}{_spread(whole):>22}{calls:7}")
    for other in ("httpx", "aiohttp"):
        print(
            f"callsheet beside {other:17}{_ratio(found, other, 'inside'):>22.2f}"
            f"{_ratio(found, other, 'whole'):>22.2f}"
        )
    print(
        "Inside: first row approved to last delivered. Whole: the process, with start, quotes and\n"
        "report. The calls are the same. The rest is not: Callsheet commits every step before\n"
        "the next, decodes every film, parses the captions, reads back and syncs every file;\n"
        "the scripts write three files a row and forget."
    )


def _spread(rates: list[float]) -> str:
    return f"{median(rates):.0f} ({min(rates):.0f}-{max(rates):.0f})"


def _ratio(found: dict[str, list[Measured]], other: str, what: str) -> float:
    """Return the median of the turns' own ratios: what disturbs a turn disturbs both."""
    pairs = zip(found["callsheet"], found[other], strict=True)
    return float(median(getattr(theirs, what) / getattr(ours, what) for ours, theirs in pairs))


if __name__ == "__main__":
    main()
