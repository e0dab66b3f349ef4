"""A run can be stopped at any time, says how to go on, and goes on."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.programs import Desk, Sandbox, sandbox, simple_sheet


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[Sandbox]:
    """A sandbox whose videos take a few seconds."""
    with sandbox(tmp_path / "slow") as running:
        running.plan_fault(on="render", do="slow", every=1, seconds=5)
        yield running


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_within_seconds_and_the_next_run_goes_on(
    tmp_path: Path, slow: Sandbox, name: str, number: signal.Signals
) -> None:
    desk = Desk(tmp_path, slow.environ)
    sheet = desk.sheet(f"{name}.csv", simple_sheet(4))
    process = desk.start("run", sheet, "--yes", "--json", "--without-prefect")
    _wait_for_creates(slow, 4)

    process.send_signal(number)
    out, err = process.communicate(timeout=60)

    assert process.returncode == 5
    assert json.loads(out)["exit"] == 5
    assert "run the same command again" in err
    assert "Traceback" not in err
    ended = desk.run(sheet)
    assert ended.status == 0
    keys = [row["key"] for row in desk.rows(name).values()]
    assert slow.charged(keys) == dict.fromkeys(keys, 1)


@pytest.mark.merge
def test_max_wait_parks_the_run(tmp_path: Path, slow: Sandbox, name: str) -> None:
    desk = Desk(tmp_path, slow.environ)
    sheet = desk.sheet(f"{name}.csv", simple_sheet(2))

    parked = desk.run(sheet, "--max-wait", "1s")
    ended = desk.run(sheet, "--max-wait", "2m")

    assert parked.status == 5
    assert parked.json["not_before"] > f"{datetime.now(UTC):%Y-%m-%d}"
    assert parked.json["rows"]["total"] == 2
    assert "delivered" not in parked.json["rows"]
    assert "--max-wait" in parked.err
    assert ended.status == 0
    assert ended.json["credits"]["charged"] == 30


@pytest.mark.merge
def test_a_second_run_at_the_same_time_is_told_who_is_at_work(
    tmp_path: Path, slow: Sandbox, name: str
) -> None:
    desk = Desk(tmp_path, slow.environ)
    sheet = desk.sheet(f"{name}.csv", simple_sheet(2))
    process = desk.start("run", sheet, "--yes", "--without-prefect")
    _wait_for_creates(slow, 2)

    second = desk.run(sheet, "--if-running", "leave")

    assert second.status == 5
    assert f"is being run by process {process.pid}" in second.err
    process.communicate(timeout=180)
    assert process.returncode == 0


def _wait_for_creates(running: Sandbox, count: int) -> None:
    until = time.monotonic() + 90
    while running.calls().get("create", 0) < count:
        assert time.monotonic() < until
        time.sleep(0.05)
