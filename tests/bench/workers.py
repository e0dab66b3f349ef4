"""Four workers of one campaign against one, at a service whose answers take a while.

Each is a process with the lanes that Callsheet has by itself, on a PostgreSQL ledger. What is
measured is from the moment when every worker has begun to the last video: here they start
on the same two cores, elsewhere each on its own. Four have four times the rows, so that beginning
and end, when few are under way, weigh the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import psycopg

from tests.bench.figures import Figure, beside
from tests.bench.programs import LANES, desk_at, stub
from tests.databases import postgres_server
from tests.workers.stand import Processes, run_with

#: How long the service takes for each answer, in seconds.
LATENCY = 0.2
WORKERS = 4
#: What was asked for of so many workers against one.
TARGET = 3.2


def measure_workers(video: Path, folder: Path, rows: int, turns: int) -> list[Figure]:
    """Return rows/s of four workers beside one, with so many rows for each of them."""
    rates: dict[int, list[float]] = {1: [], WORKERS: []}
    with postgres_server() as server, stub(video, latency=LATENCY) as address:
        for turn in range(turns):
            # Whoever is first in one turn is last in the next.
            for workers in sorted(rates, reverse=bool(turn % 2)):
                place = folder / f"{turn}-{workers}"
                all_rows = rows * workers
                rates[workers].append(_rate(address, place, server.new_database, all_rows, workers))
    return [
        beside(
            "workers",
            f"{WORKERS} workers against 1, every answer {LATENCY * 1000:.0f} ms late",
            rates[WORKERS],
            rates[1],
            target=TARGET,
            rows=rows,
            note=f"{rows:,} rows a worker, {rows * WORKERS:,} with {WORKERS}",
        )
    ]


def _rate(
    address: str, folder: Path, new_database: Callable[[], str], rows: int, workers: int
) -> float:
    """Carry a campaign by so many workers; return rows a second with all of them at work."""
    desk = desk_at(address, rows, folder)
    ledger = new_database()
    # Each worker with the settings that a user has.
    for name in LANES:
        del desk.environ[f"CALLSHEET_{name.upper()}"]
    desk.environ |= {"CALLSHEET_LEDGER": ledger, "CALLSHEET_STORE": str(folder / "videos")}
    processes = Processes(folder, desk.environment())
    outcome = asyncio.run(run_with(processes, str(folder / "bench.csv"), workers))
    assert outcome.exit_status == 0, outcome
    assert all(processes.ended().values()), "a worker broke off"
    with psycopg.connect(ledger) as connection:
        found = connection.execute(_DELIVERED).fetchone()
    assert found is not None
    videos, seconds = found
    return float(videos / seconds)


#: Videos since the last of the workers has begun, and in how many seconds.
_DELIVERED = """
    WITH began AS (SELECT max(asked_at) AS at FROM runs WHERE kind = 'worker')
    SELECT count(*), max(events.at) - min(began.at) FROM events, began
    WHERE new = 'delivered' AND events.at > began.at
"""
