"""Where the time of a run goes: processor time by thread, and the event loop's by part.

One more run, slowed a little by a sampler, and not part of the figures.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from types import FrameType

from tests.bench.programs import desk_at
from tests.programs import ROOT

PERIOD = 0.003
#: A thread by the beginning of its name.
THREADS = {
    "MainThread": "event loop",
    "ledger": "ledger: writing and committing",
    "callsheet-folder": "store: writing, reading back, syncing",
    "asyncio": "films decoded, ledger read",
}
#: What the loop is at, by the innermost file that says so.
PARTS = {
    "/selectors.py": "waiting",
    "/tasks/store/": "spool and downloads",
    "/aiohttp/": "HTTP",
    "/httpx": "HTTP",
    "/yarl/": "HTTP",
    "/tasks/service/": "service client",
    "/tasks/ledger/": "ledger (waiting for it)",
    "/sqlalchemy/": "ledger (waiting for it)",
    "/tasks/production/": "engine",
    "/rich/": "progress",
    "/deployments/": "progress",
}


def shares_of(address: str, rows: int, folder: Path) -> str:
    """Run Callsheet once more under the sampler; return what it found, for people."""
    desk = desk_at(address, rows, folder)
    words = ["run", "bench.csv", "--yes", "--json", "--without-prefect"]
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.shares", *words],
        cwd=desk.folder,
        env={"PYTHONPATH": str(ROOT), **desk.environ},
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stderr.splitlines()[-1])
    lines = [
        f"\nWhere the time goes, from the first row sent to the last at rest: {found['wall']:.2f} s,"
        f" {found['cpu'] / found['wall']:.0%} of one core",
        *_bars("processor time by thread", found["threads"], found["cpu"]),
        *_bars("the event loop's own time", found["parts"], sum(found["parts"].values())),
    ]
    return "\n".join(lines)


def _bars(title: str, shares: dict[str, float], total: float) -> list[str]:
    found = sorted(shares.items(), key=lambda pair: -pair[1])
    return [f"  {title}", *(f"    {share / total:5.0%}  {name}" for name, share in found)]


class Sampler(threading.Thread):
    """Looks at the main thread while production lasts, and at every thread's processor time."""

    def __init__(self) -> None:
        super().__init__(name="sampler", daemon=True)
        self.parts: Counter[str] = Counter()
        self.threads: Counter[str] = Counter()
        self.wall = 0.0
        self._before: dict[threading.Thread, float] = {}

    def run(self) -> None:
        """Sample until the process ends."""
        main = threading.main_thread().ident
        assert main is not None
        started: float | None = None
        while True:
            time.sleep(PERIOD)
            producing = _producing()
            if producing and started is None:
                started, self._before = time.perf_counter(), _clocks()
            elif started is not None and not producing:
                self.wall = time.perf_counter() - started
                return
            if producing:
                self.parts[_part(sys._current_frames()[main])] += 1
                self._note_threads()

    def _note_threads(self) -> None:
        clocks = _clocks()
        self.threads.clear()
        for thread, clock in clocks.items():
            if thread is not self:
                name = next((n for t, n in THREADS.items() if thread.name.startswith(t)), "other")
                self.threads[name] += clock - self._before.get(thread, 0.0)  # type: ignore[assignment]

    def report(self) -> str:
        """Return what was found as one line of JSON."""
        return json.dumps(
            {
                "wall": self.wall,
                "cpu": sum(self.threads.values()),
                "threads": self.threads,
                "parts": self.parts,
            }
        )


def _producing() -> bool:
    """Whether the engine's lanes are up and rows are on their way."""
    from tasks.production import run

    try:
        context = _runs[0]
    except IndexError:
        return False
    return isinstance(context, run.Run) and _busy(context)


_runs: list[object] = []
