"""Callsheet beside other programs: all of them in turn, several times over, in the same go."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median

from tests.bench.figures import Figure, beside, missing
from tests.bench.programs import PEERS, Measured, Peer, callsheet, peer

OURS = "callsheet"
FEW = 10


def measure_pairs(
    address: str, folder: Path, names: Sequence[str], *, rows: int, turns: int
) -> list[Figure]:
    """Return rows a second beside each of the named programs, and how much of a machine each takes.

    A program that is not there, or breaks, is told as missing. Every turn begins with the next
    program, so that nobody always comes after the same one.
    """
    missed = {name: why for name in names if (why := PEERS[name].unavailable())}
    there = [name for name in names if name not in missed]
    few = _warm(address, folder, there)
    found: dict[str, list[Measured]] = {name: [] for name in (OURS, *there)}
    for turn in range(turns):
        first = turn % len(found)
        for name in [*found][first:] + [*found][:first]:
            place = folder / f"{turn}-{name}"
            print(f"  turn {turn + 1} of {turns}: {name}", file=sys.stderr, flush=True)
            if name in missed:
                continue
            try:
                found[name].append(_measure(name, address, rows, place))
            except Exception:
                if name == OURS:
                    raise
                # Another's fault is no reason to know nothing of the rest.
                traceback.print_exc()
                missed[name] = "it broke"
    lines = [
        missing(name, f"rows/s against {PEERS[name].what}", missed[name])
        if name in missed
        else _line(PEERS[name], found[OURS], found[name], rows)
        for name in names
    ]
    return [*lines, *_processor(few, found, rows)]


def _measure(name: str, address: str, rows: int, place: Path) -> Measured:
    if name == OURS:
        return callsheet(address, rows, place)
    return peer(PEERS[name], address, rows, place)


def _warm(address: str, folder: Path, names: Sequence[str]) -> dict[str, Measured]:
    """Warm the disk cache with a few rows of every script; return what each took for so few."""
    return {
        name: _measure(name, address, FEW, folder / f"few-{name}")
        for name in (OURS, *names)
        if name == OURS or not PEERS[name].quotes
    }


def _line(other: Peer, ours: Sequence[Measured], theirs: Sequence[Measured], rows: int) -> Figure:
    span = "quoted" if other.quotes else "inside"
    whole = [mine.whole / one.whole for mine, one in zip(theirs, ours, strict=True)]
    words = "quotes included" if other.quotes else "from the first create"
    note = f"{words}; with the start of the process the ratio is {median(whole):.2f}"
    return beside(
        other.name,
        f"rows/s against {other.what}",
        [rows / getattr(run, span) for run in ours],
        [rows / getattr(run, span) for run in theirs],
        target=other.target,
        rows=rows,
        note=note,
    )


def _processor(
    few: Mapping[str, Measured], found: Mapping[str, Sequence[Measured]], rows: int
) -> Iterator[Figure]:
    """Yield processor time a row beside the scripts: other programs disturb it less.

    Engines leave a part of theirs to servers, and are left out.
    """
    each = {
        name: (min(run.processor for run in found[name]) - one.processor) / (rows - FEW) * 1000
        for name, one in few.items()
        if len(found[name]) == len(found[OURS])
    }
    ours = each.pop(OURS)
    for name, other in each.items():
        yield Figure(
            part=name,
            what=f"processor time a row against {PEERS[name].what}",
            unit="ms",
            ours=ours,
            peer=other,
            ratio=ours / other,
            better="less",
            rows=rows,
            turns=len(found[OURS]),
            note="least of the turns, start taken off",
        )
