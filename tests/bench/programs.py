"""The programs that are measured, each as a process of its own: seconds inside and all in all."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.programs import ROOT, Desk, simple_sheet

#: Creates, looks and deliveries that Callsheet has under way at once; the bare scripts carry as
#: many rows at once as these are together.
LANES = {"submits": 16, "watches": 16, "deliveries": 16}


@dataclass(frozen=True)
class Measured:
    """One run: `inside` from the first row approved to the last delivered, in seconds."""

    inside: float
    whole: float
    calls: Mapping[str, int]


@contextmanager
def stub(film: Path) -> Iterator[str]:
    """Run the stub service; yield its root address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.bench.stub", str(film)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait(10)


def bare(kind: str, address: str, rows: int, folder: Path) -> Measured:
    """Measure a bare script, on `httpx` or on `aiohttp`."""
    _calls(address)
    words = [kind, f"{address}/api/v1", str(rows), str(sum(LANES.values())), str(folder / "films")]
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.bare", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    whole = time.perf_counter() - started
    _count_files(folder / "films", rows)
    return Measured(float(done.stdout), whole, _calls(address))


def callsheet(address: str, rows: int, folder: Path) -> Measured:
    """Measure `callsheet run --without-prefect` from an empty folder to the report."""
    _calls(address)
    desk = desk_at(address, rows, folder)
    started = time.perf_counter()
    done = desk.run("bench.csv")
    whole = time.perf_counter() - started
    assert done.status == 0, done.err
    assert done.json["rows"]["delivered"] == rows, done.out
    _count_files(folder / "deliveries", rows)
    return Measured(_inside(folder / ".callsheet" / "ledger.db"), whole, _calls(address))


def desk_at(address: str, rows: int, folder: Path) -> Desk:
    """Return a desk with the sheet on it and the settings of the benchmark."""
    # Made here, or a ledger of somebody at work in a folder above would be found and used.
    (folder / ".callsheet").mkdir(parents=True)
    settings = {f"CALLSHEET_{name.upper()}": str(count) for name, count in LANES.items()}
    environ = {
        "CALLSHEET_BASE_URL": f"{address}/api/v1",
        "CALLSHEET_API_KEY": "mav_bench",
        **settings,
    }
    desk = Desk(folder, environ)
    desk.sheet("bench.csv", simple_sheet(rows))
    return desk


def _inside(ledger: Path) -> float:
    with closing(sqlite3.connect(ledger)) as connection:
        moment = "SELECT {}(at) FROM events WHERE new = '{}'"
        (first,) = connection.execute(moment.format("min", "approved")).fetchone()
        (last,) = connection.execute(moment.format("max", "delivered")).fetchone()
    return float(last - first)


def _calls(address: str) -> dict[str, int]:
    """Return what the stub was asked since it was last asked this."""
    with urllib.request.urlopen(f"{address}/calls", timeout=10) as answer:
        return dict(json.load(answer))


def _count_files(folder: Path, rows: int) -> None:
    found = [path for path in folder.rglob("*-take1.*") if path.stat().st_size]
    assert len(found) == 3 * rows, f"{len(found)} files instead of {3 * rows} in {folder}"


def machine() -> str:
    """Say what this was measured on."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    model = names[0] if names else "unknown processor"
    return f"{model}, {os.cpu_count()} cores, Python {sys.version.split()[0]}"
