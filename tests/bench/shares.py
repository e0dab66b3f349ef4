"""Where the time of a run goes: processor time by thread, and the event loop's own by part.

One more run, slowed a little by a sampler and not part of the figures. As a program
(`python -m tests.bench.shares`) it is that run.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

from tests.bench.figures import Figure
from tests.bench.programs import desk_at
from tests.programs import ROOT

PERIOD = 0.003
#: A thread by the beginning of its name.
THREADS = {
    "MainThread": "event loop",
    "ledger": "ledger: statements and commits",
    "callsheet-folder": "store: write, sync, read back",
    "asyncio": "films decoded",
}
#: What the loop is at: the innermost file that is in this list, waiting and asyncio aside.
PARTS = {
    "/tasks/store/": "downloads and spool",
    "/aiohttp/": "HTTP library",
    "/httpx": "HTTP library",
    "/yarl/": "HTTP library",
    "/tasks/service/": "service client",
    "/tasks/ledger/": "engine",
    "/tasks/engine/": "engine",
}


def measure_loop(address: str, rows: int, folder: Path) -> tuple[list[Figure], str]:
    """Run Callsheet once more under the sampler; return the loop's time a row, and all shares."""
    desk = desk_at(address, rows, folder)
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.shares"],
        cwd=desk.folder,
        env={"PYTHONPATH": str(ROOT), **desk.environ},
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    busy = sum(found["threads"].values())
    lines = [
        f"\nWhere the time goes, one run under a sampler: {rows / found['wall']:.0f} rows/s, "
        f"{busy / found['wall']:.0%} of one core",
        "  processor time by thread",
        *_lines(found["threads"]),
        "  what the event loop's thread is at",
        *_lines(found["parts"]),
    ]
    loop = found["threads"]["event loop"] / rows * 1000
    figure = Figure(
        part="loop",
        what="processor time a row on the event loop's thread",
        unit="ms",
        ours=loop,
        target=2.5,
        judged="ours",
        better="less",
        rows=rows,
        note=f"all threads {busy / rows * 1000:.1f} ms; from the first create to the last film",
    )
    return [figure], "\n".join(lines)


def _lines(shares: dict[str, float]) -> list[str]:
    total = sum(shares.values())
    found = sorted(shares.items(), key=lambda pair: -pair[1])
    return [f"    {share / total:5.0%}  {name}" for name, share in found]


class Sampler(threading.Thread):
    """Looks at the main thread again and again; reads every thread's clock at both ends."""

    def __init__(self) -> None:
        super().__init__(name="sampler", daemon=True)
        self.parts: Counter[str] = Counter()
        self._over = threading.Event()

    def run(self) -> None:
        """Sample until `stop`."""
        main = threading.main_thread().ident
        assert main is not None
        started, before = time.perf_counter(), _clocks()
        while not self._over.wait(PERIOD):
            self.parts[_part(main)] += 1
        self.wall = time.perf_counter() - started
        self.threads: Counter[str] = Counter()
        for thread, clock in _clocks().items():
            name = next((n for t, n in THREADS.items() if thread.name.startswith(t)), None)
            if name is not None:
                self.threads[name] += clock - before.get(thread, 0.0)  # type: ignore[assignment]

    def stop(self) -> str:
        """End; return what was found as JSON."""
        self._over.set()
        self.join()
        return json.dumps({"wall": self.wall, "threads": self.threads, "parts": self.parts})


def _clocks() -> dict[threading.Thread, float]:
    return {
        thread: time.clock_gettime(time.pthread_getcpuclockid(thread.ident))
        for thread in threading.enumerate()
        if thread.ident is not None
    }


def _part(thread: int) -> str:
    frame = sys._current_frames().get(thread)
    if frame is not None and frame.f_code.co_filename.endswith("/selectors.py"):
        return "nothing: waiting"
    while frame is not None:
        file = frame.f_code.co_filename
        for part, name in PARTS.items():
            if part in file:
                return name
        frame = frame.f_back
    return "asyncio itself"


async def main() -> str:
    """Carry the campaign of this folder, sampled while its rows are on their way."""
    from flows.pipeline import PLAIN, prepare
    from tasks.campaign.run import open_run
    from tasks.campaign.steps import production
    from tasks.campaign.values import Plan, RunOptions
    from tasks.settings import load_settings

    async def approve(plan: Plan) -> str:
        return "approved for the benchmark"

    async with open_run(RunOptions(sheet="bench.csv"), load_settings(), approve) as run:
        campaign = await prepare(run, PLAIN)
        async with production(run) as shards:
            sampler = Sampler()
            sampler.start()
            await asyncio.gather(
                *(PLAIN.produce_rows(campaign, n, "") for n, _ in enumerate(shards))
            )
            return sampler.stop()


if __name__ == "__main__":
    print(asyncio.run(main()))
