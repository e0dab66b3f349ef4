"""Four crews of one campaign against one, at a service whose answers take a while.

Each is a process with the lanes that Callsheet has by itself, on a PostgreSQL ledger. What is
measured is from the first batch that is claimed to the last film: starting crews is for whoever
has machines.
"""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Callable
from pathlib import Path
from statistics import median

import psycopg

from tests.bench.figures import Figure, beside
from tests.bench.programs import desk_at, stub
from tests.crews.stand import Processes, run_with
from tests.databases import postgres_server

#: How long the service takes for each answer, in seconds.
LATENCY = 0.2
CREWS = 4
#: What was asked for of so many crews against one.
TARGET = 3.2


def measure_crews(film: Path, folder: Path, rows: int, turns: int) -> list[Figure]:
    """Return rows a second of four crews beside one, and what a row costs either of them."""
    rates: dict[int, list[float]] = {1: [], CREWS: []}
    costs: dict[int, list[float]] = {1: [], CREWS: []}
    with postgres_server() as server, stub(film, latency=LATENCY) as address:
        for turn in range(turns):
            # Whoever is first in one turn is last in the next.
            for crews in sorted(rates, reverse=bool(turn % 2)):
                before = _processor()
                place = folder / f"{turn}-{crews}"
                seconds = _carry(address, place, server.new_database, rows, crews)
                rates[crews].append(rows / seconds)
                costs[crews].append((_processor() - before) / rows * 1000)
    spent = ", ".join(f"{median(costs[n]):.0f} ms with {n}" for n in rates)
    return [
        beside(
            "crews",
            f"{CREWS} workers against 1, every answer {LATENCY * 1000:.0f} ms late",
            rates[CREWS],
            rates[1],
            target=TARGET,
            rows=rows,
            note=f"processor time of the crews a row, start included: {spent}",
        )
    ]


def _carry(
    address: str, folder: Path, new_database: Callable[[], str], rows: int, crews: int
) -> float:
    """Carry a campaign by so many crews; return the seconds from the first batch to the end."""
    desk = desk_at(address, rows, folder)
    ledger = new_database()
    for name in ("SUBMITS", "WATCHES", "DELIVERIES"):
        del desk.environ[f"CALLSHEET_{name}"]
    desk.environ["CALLSHEET_LEDGER"] = ledger
    processes = Processes(folder, desk.environment())
    outcome = asyncio.run(run_with(processes, str(folder / "bench.csv"), crews))
    assert outcome.exit_status == 0, outcome
    assert all(processes.ended().values()), "a crew broke off"
    with psycopg.connect(ledger) as connection:
        first = "SELECT min(claimed_at) FROM batches WHERE holder <> ''"
        last = "SELECT max(at) FROM events WHERE new = 'delivered'"
        begun, done = (connection.execute(text).fetchone() for text in (first, last))  # type: ignore[call-overload]
    assert begun is not None
    assert done is not None
    return float(done[0] - begun[0])


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
