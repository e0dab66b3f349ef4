"""How soon a finished video is in the store, and how many looks that costs: with hints and without.

The sandbox is service and sender of webhooks; its own log says when a render was finished. It runs
on the same processors as what is measured.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.bench.figures import Figure
from tests.programs import Desk, Sandbox, sandbox, simple_sheet
from tests.web import free_port


@dataclass(frozen=True)
class Renders:
    """How long a render takes, in seconds: all rows are under way before the first is finished."""

    shortest: float = 60.0
    longest: float = 120.0


@dataclass(frozen=True)
class Found:
    """Per row and sorted: seconds from a finished render to its notice, and to its delivery."""

    noticed: Sequence[float]
    delivered: Sequence[float]
    looks: float
    in_flight: int


def measure_hints(folder: Path, rows: int, renders: Renders) -> list[Figure]:
    """Return how both ways do, one after the other, in the same go."""
    hints, looks = (_run(rows, folder / wait, wait, renders) for wait in ("webhook", "poll"))
    note = f"{rows} in flight, renders of {renders.shortest:.0f} to {renders.longest:.0f} s"
    lines = [("polls a row, with webhooks | by polling", "", hints.looks, looks.looks)]
    for what in ("noticed", "delivered"):
        ours, others = getattr(hints, what), getattr(looks, what)
        for name, part in (("median", 0.5), ("of 95 in 100", 0.95)):
            words = f"finished video {what}, {name}, with webhooks | by polling"
            lines.append((words, "s", _part(ours, part), _part(others, part)))
    return [
        Figure(
            part="hints",
            what=what,
            unit=unit,
            ours=ours,
            peer=other,
            ratio=ours / other if other else None,
            better="less",
            rows=rows,
            note=note,
        )
        for what, unit, ours, other in lines
    ]


def _run(rows: int, folder: Path, wait: str, renders: Renders) -> Found:
    (folder / "desk" / ".callsheet").mkdir(parents=True)
    words = ("--allow-loopback-webhooks", "--credits", "100000000")
    with sandbox(folder / "service", *words) as service:
        chance = random.Random(1)
        for n in range(1, rows + 1):
            seconds = chance.uniform(renders.shortest, renders.longest)
            service.plan_fault(on="render", nth=n, do="slow", seconds=seconds)
        desk = Desk(folder / "desk", {**service.environ, **_receiver(), **LANES})
        desk.sheet("hints.csv", simple_sheet(rows))
        done = desk.run("hints.csv", "--wait", wait)
        assert done.status == 0, done.err
        found = _found(service, folder / "desk" / ".callsheet" / "ledger.db")
    assert found.in_flight == rows, f"only {found.in_flight} were under way at once"
    return found


LANES = {"CALLSHEET_AT_ONCE": "16"}


def _receiver() -> Mapping[str, str]:
    port = free_port()
    return {
        "CALLSHEET_WEBHOOK_URL": f"http://127.0.0.1:{port}",
        "CALLSHEET_RECEIVER": f"127.0.0.1:{port}",
    }


def _found(service: Sandbox, ledger: Path) -> Found:
    log = service.charges()
    ended = {entry["video_id"]: _seconds(entry["time"]) for entry in log if _is_end(entry)}
    with closing(sqlite3.connect(ledger)) as connection:
        takes = connection.execute(
            "SELECT video_id, accepted_at, ready_at, delivered_at FROM takes"
        ).fetchall()
    noticed = sorted(ready - ended[video] for video, _, ready, _ in takes)
    delivered = sorted(stored - ended[video] for video, _, _, stored in takes)
    first = min(ended.values())
    in_flight = sum(accepted < first for _, accepted, _, _ in takes)
    return Found(noticed, delivered, service.calls()["get"] / len(takes), in_flight)


def _is_end(entry: Mapping[str, Any]) -> bool:
    return entry["event"] == "charge"


def _seconds(moment: Any) -> float:
    text = isinstance(moment, str)
    return datetime.fromisoformat(moment).timestamp() if text else float(moment)


def _part(values: Sequence[float], part: float) -> float:
    return values[min(len(values) - 1, int(part * len(values)))]
