"""How long it is from `callsheet run SHEET --yes` to the first paid request at the service.

As a program (`python -m tests.bench.start`) it measures and prints; every way in turn, several
times over.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import psutil

from tests.bench.programs import desk_at, machine, stub
from tests.bench.video import make_video
from tests.prefect_servers import start_server
from tests.programs import CALLSHEET, Desk

ROWS = 100
TURNS = 3
#: How Prefect is there: not at all, or with a server that is up already.
WAYS = {"alone": "--without-prefect", "beside": "a Prefect server is up"}
#: How often processor time is looked at, in seconds.
LOOK = 0.02


@dataclass(frozen=True)
class Start:
    """Seconds from the start of the process to the first create at the service, and to its end.

    `busy` is the processor time of the command and of what it started, to the first create.
    """

    first_paid: float
    busy: float
    whole: float


def measure_start(folder: Path, *, rows: int = ROWS, turns: int = TURNS) -> dict[str, list[Start]]:
    """Run a sheet in every way, in turn, `turns` times over; return what was measured by way.

    `folder` is made, and holds everything that comes of it.
    """
    folder.mkdir(parents=True)
    video = make_video(folder / "video.mp4")
    found: dict[str, list[Start]] = {way: [] for way in WAYS}
    with stub(video) as address, _server(folder / "server") as server:
        for turn in range(turns):
            for way in WAYS:
                place = folder / f"{turn}-{way}"
                found[way].append(_measure(way, address, server, place, rows))
    return found


def _measure(way: str, address: str, server: str, place: Path, rows: int) -> Start:
    desk = desk_at(address, rows, place)
    if way == "beside":
        desk.environ["PREFECT_API_URL"] = server
    return _timed(desk, address, "bench.csv", *(["--without-prefect"] if way == "alone" else []))


def _timed(desk: Desk, address: str, *words: str) -> Start:
    _began(address)
    started = time.monotonic()
    process = subprocess.Popen(
        [*CALLSHEET, "run", *words, "--yes", "--json"],
        cwd=desk.folder,
        env=desk.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with _looked_at(process.pid) as busy_at:
        out, err = process.communicate(timeout=300)
    whole = time.monotonic() - started
    assert process.returncode == 0, err
    assert set(json.loads(out)["rows"]) == {"total", "delivered"}, out
    moment = _began(address)
    assert moment is not None, err
    return Start(moment - started, busy_at(moment), whole)


@contextmanager
def _looked_at(pid: int) -> Iterator[Callable[[float], float]]:
    """Follow a process and its children; yield what says their processor time up to a moment."""
    over = threading.Event()
    seen: list[tuple[float, float]] = []

    def look() -> None:
        while not over.wait(LOOK):
            seen.append((time.monotonic(), _busy(pid)))

    watcher = threading.Thread(target=look, name="processor time", daemon=True)
    watcher.start()
    try:
        yield lambda moment: max((busy for at, busy in seen if at <= moment), default=0.0)
    finally:
        over.set()
        watcher.join()


def _busy(pid: int) -> float:
    try:
        process = psutil.Process(pid)
        times = [one.cpu_times() for one in (process, *process.children(recursive=True))]
    except psutil.Error:
        return 0.0
    return float(sum(one.user + one.system for one in times))


def _began(address: str) -> float | None:
    """Return when the stub got its first create since this was asked last."""
    with urllib.request.urlopen(f"{address}/began", timeout=10) as answer:
        return json.load(answer)["create"]  # type: ignore[no-any-return]


@contextmanager
def _server(home: Path) -> Iterator[str]:
    running = start_server(home)
    try:
        running.wait()
        yield running.url
    finally:
        running.stop()


def table_of(found: Mapping[str, list[Start]]) -> str:
    """Return what was measured, for people: medians, and the least and most."""
    lines = [f"{'':40}{'first paid request':>22}{'processor':>11}{'whole':>8}"]
    for way, starts in found.items():
        moments = [one.first_paid for one in starts]
        spread = f"{median(moments):.2f} s ({min(moments):.2f}-{max(moments):.2f})"
        busy, whole = (median(getattr(one, n) for one in starts) for n in ("busy", "whole"))
        lines.append(f"{WAYS[way]:40}{spread:>22}{busy:>9.2f} s{whole:>6.1f} s")
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--turns", type=int, default=TURNS)
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix=".bench-", dir=Path.cwd()))
    try:
        print(machine())
        print(table_of(measure_start(folder / "start", rows=args.rows, turns=args.turns)))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
