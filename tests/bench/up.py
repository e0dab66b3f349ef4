"""How long it takes until all of `callsheet up` is ready, beside Prefect's server alone."""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from tests.bench.programs import prefect_server
from tests.programs import CALLSHEET, Desk

WORDS = ("up", "--sandbox", "--json", "--port", "0", "--prefect-port", "0")


@dataclass(frozen=True)
class UpTime:
    """Seconds until all is ready, in a new folder and again, and of a new Prefect server alone."""

    first: float
    again: float
    prefect: float


def measure_up(folder: Path, turns: int) -> list[UpTime]:
    """Measure each of them in turn, several times over."""
    return [_measure(folder / str(turn)) for turn in range(turns)]


def _measure(folder: Path) -> UpTime:
    folder.mkdir(parents=True)
    began = time.monotonic()
    with prefect_server(folder / "prefect"):
        prefect = time.monotonic() - began
    desk = Desk(folder, {"CALLSHEET_RECEIVER": "127.0.0.1:0"})
    return UpTime(_ready(desk), _ready(desk), prefect)


def _ready(desk: Desk) -> float:
    began = time.monotonic()
    with (desk.folder / "errors.txt").open("w") as errors:
        process = subprocess.Popen(
            [*CALLSHEET, *WORDS],
            cwd=desk.folder,
            env=desk.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
        )
    assert process.stdout.readline(), (desk.folder / "errors.txt").read_text()
    ready = time.monotonic() - began
    process.terminate()
    process.wait()
    return ready
