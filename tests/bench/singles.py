"""Measurements that stand alone, each in a file of its own, told as lines of the one table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median

from tests.bench.figures import Figure
from tests.bench.large_ledger import measure_large_ledger
from tests.bench.plans import measure_plan
from tests.bench.start import ROWS, Start, measure_start
from tests.bench.up import measure_up

#: What was asked for of commands on a ledger was asked for at so many rows.
LARGE_LEDGER = 1_000_000
#: And of a plan; the start of the process weighs more on a smaller one.
LARGE_PLAN = 10_000
#: How long the service of a plan takes for each answer, in seconds.
LATENCY = 0.05
#: The ways of starting, and what was asked for, in seconds.
STARTS = {
    "alone": ("--without-prefect", None),
    "beside": ("a Prefect server is up", 3.0),
}


def ledger_figures(folder: Path, rows: int) -> list[Figure]:
    """Return how long commands take on a large ledger, from the start of the process to its end."""
    return [
        Figure(
            part="ledger",
            what=f"callsheet {one.command}, {rows:,} rows in the ledger",
            unit="s",
            ours=one.whole,
            target=0.3 if rows == LARGE_LEDGER else None,
            judged="ours",
            better="less",
            rows=rows,
            note=f"least of five; {one.processor:.2f} s of processor time",
        )
        for one in measure_large_ledger(folder, rows)
    ]


def plan_figures(folder: Path, rows: int) -> list[Figure]:
    """Return how long a plan takes beside what the service alone needs, at 50 ms an answer."""
    one = measure_plan(folder, rows, LATENCY)
    return [
        Figure(
            part="plan",
            what=f"callsheet plan, {rows:,} rows, against calls x {LATENCY * 1000:.0f} ms / width",
            unit="s",
            ours=one.seconds,
            peer=one.least,
            ratio=one.ratio,
            target=1.1 if rows == LARGE_PLAN else None,
            better="less",
            rows=rows,
            note=f"start included; {one.processor:.1f} s of processor time",
        )
    ]


def start_figures(folder: Path, turns: int) -> list[Figure]:
    """Return how long it is to the first paid request: without Prefect, and beside it."""
    found = measure_start(folder, turns=turns)
    return [_start(way, found[way], turns) for way in STARTS]


#: How long `up` may take to be ready, in seconds.
READY = 20.0


def up_figures(folder: Path, turns: int) -> list[Figure]:
    """Return how long `callsheet up` takes to be ready, in a new folder and again."""
    found = measure_up(folder, turns)
    return [
        Figure(
            part="up",
            what=f"callsheet up --sandbox until all is ready, {words}, against a Prefect server",
            unit="s",
            ours=median(moments),
            peer=median(one.prefect for one in found),
            ratio=median(ours / one.prefect for ours, one in zip(moments, found, strict=True)),
            target=READY,
            judged="ours",
            better="less",
            least=min(moments),
            most=max(moments),
            turns=turns,
        )
        for words, moments in (
            ("the first time", [one.first for one in found]),
            ("again", [one.again for one in found]),
        )
    ]


def _start(way: str, found: Sequence[Start], turns: int) -> Figure:
    words, target = STARTS[way]
    moments = [one.first_paid for one in found]
    busy, whole = (median(getattr(one, name) for one in found) for name in ("busy", "whole"))
    return Figure(
        part="start",
        what=f"first paid request, {words}",
        unit="s",
        ours=median(moments),
        target=target,
        judged="ours",
        better="less",
        least=min(moments),
        most=max(moments),
        rows=ROWS,
        turns=turns,
        note=f"{busy:.1f} s of processor time until then; all of the run {whole:.1f} s",
    )
