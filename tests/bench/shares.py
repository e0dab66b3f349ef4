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
from collections.abc import Mapping
from pathlib import Path

from tests.bench.figures import SHARES, Figure
from tests.bench.programs import desk_at
from tests.launcher import IMPORTS

PERIOD = 0.003
LOOP, WAITING = "event loop", "nothing: waiting"
#: A thread by the beginning of its name.
THREADS = {
    "MainThread": LOOP,
    "ledger": "ledger: statements and commits",
    "reader": "ledger: reads",
    "callsheet-spool": "spool: large videos hashed and written",
    "callsheet-folder": "store: write, sync, read back",
    "callsheet-look": "videos checked",
    "callsheet-s3": "uploads",
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


def measure_shares(address: str, rows: int, folder: Path) -> list[Figure]:
    """Run Callsheet once more under the sampler; return the loop's time a row, and all shares."""
    desk = desk_at(address, rows, folder)
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.shares"],
        cwd=desk.folder,
        env={"PYTHONPATH": IMPORTS, **desk.environ},
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    each = {name: seconds / rows * 1000 for name, seconds in found["threads"].items()}
    parts = {name: count for name, count in found["parts"].items() if name != WAITING}
    samples = sum(parts.values())
    of_loop = {f"{LOOP}: {name}": each[LOOP] * n / samples for name, n in parts.items()}
    figure = Figure(
        part="loop",
        what="processor time a row on the event loop's thread",
        unit="ms",
        ours=each[LOOP],
        target=2.5,
        judged="ours",
        better="less",
        rows=rows,
        note=f"all threads {sum(each.values()):.1f} ms; from the first create to the last video",
    )
    return [figure, *_shares(each), *_shares(of_loop)]


def _shares(each: Mapping[str, float]) -> list[Figure]:
    """Return milliseconds a row and the share of all, largest first."""
    total = sum(each.values())
    return [
        Figure(part=SHARES, what=name, unit="ms", ours=value, ratio=value / total)
        for name, value in sorted(each.items(), key=lambda pair: -pair[1])
    ]


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
            name = next((n for t, n in THREADS.items() if thread.name.startswith(t)), "the rest")
            if thread is not self:
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
        return WAITING
    while frame is not None:
        file = frame.f_code.co_filename
        for part, name in PARTS.items():
            if part in file:
                return name
        frame = frame.f_back
    return "asyncio itself"


async def main() -> str:
    """Carry the campaign of this folder, sampled while its rows are on their way."""
    from callsheet.flows.executor import prepare
    from callsheet.tasks.campaign.options import RunOptions
    from callsheet.tasks.campaign.production import produce_step, production
    from callsheet.tasks.campaign.run import open_run
    from callsheet.tasks.runtime.settings import load_settings
    from tests.approvers import Approving

    options = RunOptions(sheet="bench.csv")
    async with open_run(options, load_settings(), approver=Approving()) as run:
        campaign = await prepare(run)
        async with production(run) as shards:
            sampler = Sampler()
            sampler.start()
            await asyncio.gather(
                *(produce_step(run, campaign, n, "") for n, _ in enumerate(shards))
            )
            return sampler.stop()


if __name__ == "__main__":
    print(asyncio.run(main()))
