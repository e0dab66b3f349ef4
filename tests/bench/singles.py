"""Measurements that stand alone, each in a file of its own, told as lines of the one table."""

from __future__ import annotations

from pathlib import Path
from statistics import median

from tests.bench.figures import Figure
from tests.bench.large_ledger import measure_large_ledger
from tests.bench.plans import measure_plan
from tests.bench.start import ROWS, measure_start

#: What was asked for of commands on a ledger was asked for at so many rows.
LARGE_LEDGER = 1_000_000
#: How long the service of a plan takes for each answer, in seconds.
LATENCY = 0.05


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
            what=f"callsheet plan, {rows:,} rows, beside calls x {LATENCY * 1000:.0f} ms / width",
            unit="s",
            ours=one.seconds,
            peer=one.least,
            ratio=one.ratio,
            target=1.1,
            better="less",
            rows=rows,
            note=f"start included; {one.processor:.1f} s of processor time",
        )
    ]


def start_figures(folder: Path, turns: int) -> list[Figure]:
    """Return how long it is to the first paid request: without Prefect, beside it, and with it."""
    found = measure_start(folder, turns=turns)
    ways = {
        "alone": ("--without-prefect", None),
        "beside": ("a Prefect server is up", 3.0),
        "first": ("no Prefect server, first run here", 8.0),
        "again": ("no Prefect server, ran here before", 8.0),
    }
    lines = []
    for way, (words, target) in ways.items():
        moments = [one.first_paid for one in found[way]]
        busy, whole = (median(getattr(one, n) for one in found[way]) for n in ("busy", "whole"))
        lines.append(
            Figure(
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
        )
    return lines
