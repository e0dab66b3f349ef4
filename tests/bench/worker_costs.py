"""`python -m tests.bench.worker_costs ROWS WORKERS...`: what workers ask of their ledger, a row.

Runs campaigns on the stub and a PostgreSQL server with full durability, and prints a line of JSON
for each number of workers: statements, commits, how much happens while lines are locked that others
change as well, processor time, write-ahead log, and bytes of tables. Counts hold on a busy machine,
seconds do not.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import psycopg

from tests.bench.programs import desk_at, stub
from tests.bench.video import make_video
from tests.databases import PostgresServer, postgres_server
from tests.workers.stand import Processes, run_with

_SPAN = "SELECT max(at) - min(at) FROM events WHERE new IN ('submitting', 'delivered')"
_BYTES = (
    "SELECT relname, pg_total_relation_size(oid) FROM pg_class "
    "WHERE relname IN ('rows', 'takes', 'events')"
)
_LINES = "SELECT relname, n_tup_ins, n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables"


@dataclass
class _Counted(Processes):
    """Starts workers that count."""

    async def start(self, production: str, number: int, turn: int) -> None:
        if (number, turn) not in self.workers:
            self.workers[number, turn] = subprocess.Popen(  # noqa: ASYNC220
                [sys.executable, "-m", "tests.bench.counted_worker", production, str(number)],
                cwd=self.folder,
                env=dict(self.environ),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )


def costs_of(server: PostgresServer, folder: Path, rows: int, workers: int) -> dict[str, Any]:
    """Carry a campaign by so many workers; return what was counted, divided by its rows."""
    with stub(make_video(folder / "video.mp4")) as address:
        desk = desk_at(address, rows, folder)
        ledger = desk.environ["CALLSHEET_LEDGER"] = server.new_database()
        desk.environ["CALLSHEET_STORE"] = str(folder / "videos")
        processes = _Counted(folder, desk.environment())
        with psycopg.connect(ledger, autocommit=True) as asking:
            postmaster = _postmaster(asking)
            log, busy = _log(asking), _processor(postmaster)
            outcome = asyncio.run(run_with(processes, str(folder / "bench.csv"), workers))
            assert outcome.exit_status == 0, outcome
            found = [
                json.loads(one.communicate()[0].splitlines()[-1])
                for one in processes.workers.values()
            ]
            summed = {name: sum(one[name] for one in found) / rows for name in found[0]}
            return {
                "workers": workers,
                "rows": rows,
                "rows_per_second": rows / float(_one(asking, _SPAN)),
                **{name: round(value, 4) for name, value in summed.items()},
                "postgres": round((_processor(postmaster) - busy) / rows, 4),
                "log_bytes": round((_log(asking) - log) / rows),
                "bytes": {name: round(size / rows) for name, size in asking.execute(_BYTES)},
                "lines": [line for line in asking.execute(_LINES).fetchall() if line[1] >= rows],
            }


def _one(asking: psycopg.Connection[Any], query: str) -> Any:
    found = asking.execute(query).fetchone()  # type: ignore[call-overload]
    return found[0]


def _log(asking: psycopg.Connection[Any]) -> int:
    return int(_one(asking, "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn"))


def _postmaster(asking: psycopg.Connection[Any]) -> psutil.Process:
    data = Path(str(_one(asking, "SHOW data_directory")))
    return psutil.Process(int((data / "postmaster.pid").read_text().split()[0]))


def _processor(process: psutil.Process) -> float:
    """Return the processor seconds of a server, its processes that are gone among them."""
    used = process.cpu_times()
    seconds = used.user + used.system + used.children_user + used.children_system
    for child in process.children(recursive=True):
        times = child.cpu_times()
        seconds += times.user + times.system
    return float(seconds)


def main() -> None:
    """Print what was found, a line for each number of workers."""
    rows, *counts = map(int, sys.argv[1:])
    with postgres_server() as server, tempfile.TemporaryDirectory() as folder:
        with psycopg.connect(server.address, autocommit=True) as asking:
            for setting in ("fsync", "full_page_writes", "synchronous_commit"):
                asking.execute(f"ALTER SYSTEM SET {setting} = on")  # type: ignore[call-overload]
            asking.execute("SELECT pg_reload_conf()")
        for workers in counts:
            place = Path(folder) / str(workers)
            place.mkdir()
            print(json.dumps(costs_of(server, place, rows, workers)), flush=True)


if __name__ == "__main__":
    main()
