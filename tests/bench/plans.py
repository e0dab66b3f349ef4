"""How long `callsheet plan` takes at a service whose answers take a while: whose time is it?

`python -m tests.bench.plans [ROWS [LATENCY]]` prints it; start and checks are in it.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tests.bench.programs import desk_at, stub
from tests.bench.video import make_video
from tests.programs import CALLSHEET

#: Estimates under way at once, by default.
AT_ONCE = 16


@dataclass(frozen=True)
class Planned:
    """One plan, in seconds: `least` is calls x latency / concurrency, the service's own part."""

    seconds: float
    processor: float
    least: float

    @property
    def ratio(self) -> float:
        """How many times as long as the service alone would make it."""
        return self.seconds / self.least


def measure_plan(folder: Path, rows: int = 10_000, latency: float = 0.05) -> Planned:
    """Measure the plan of so many distinct rows while an answer takes `latency` seconds."""
    folder.mkdir(parents=True, exist_ok=True)
    with stub(make_video(folder / "video.mp4"), latency=latency) as address:
        desk = desk_at(address, rows, folder / "desk")
        before, started = _processor(), time.perf_counter()
        done = subprocess.run(
            [*CALLSHEET, "plan", "bench.csv", "--json"],
            cwd=desk.folder,
            env=desk.environment(),
            capture_output=True,
            text=True,
            check=True,
        )
        seconds, processor = time.perf_counter() - started, _processor() - before
    found = json.loads(done.stdout)["credits"]
    assert (found["unpriced"], found["total"]) == (0, 12 * rows), done.stderr
    return Planned(seconds, processor, rows * latency / AT_ONCE)


def _processor() -> float:
    """Return the seconds of processor time that processes which ended have used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    rows, latency = [*sys.argv[1:], *("10000", "0.05")[len(sys.argv) - 1 :]]
    with tempfile.TemporaryDirectory(prefix=".bench-", dir=Path.cwd()) as place:
        one = measure_plan(Path(place), int(rows), float(latency))
    print(
        f"{rows} rows: {one.seconds:.1f} s, {one.ratio:.2f} of what the service needs "
        f"({one.least:.1f} s); {one.processor:.1f} s of processor time"
    )
