"""A service that allows only so many creates: no process of a ledger asks before its moment."""

from __future__ import annotations

import json
import math
import signal
import time
from pathlib import Path

import pytest

from tests.faults.watched import watched
from tests.programs import Desk, sandbox, simple_sheet

pytestmark = pytest.mark.merge

#: The service takes so many creates in so many seconds.
RATE, WINDOW = 8, 5
#: Two runs have so many rows each: more than the service takes in two windows.
ROWS = 10
#: What one process was told is known to the other after so long at most, in seconds.
HEARD = 1.5
#: Creates that a process may have under way at once.
SUBMITS = 8


@pytest.mark.slow
def test_two_processes_of_a_ledger_share_the_gate(tmp_path: Path) -> None:
    limits = ("--rate", str(RATE), "--rate-window", str(WINDOW), "--credits", "1000000")
    with (
        sandbox(tmp_path / "service", *limits) as service,
        watched(service.ready["base_url"]) as between,
    ):
        environ = {**service.environ, "CALLSHEET_BASE_URL": between.url}
        desk = Desk(tmp_path, environ | {"CALLSHEET_AT_ONCE": str(SUBMITS)})
        (tmp_path / ".callsheet").mkdir()
        runs = []
        for name in ("one", "two"):
            sheet = desk.sheet(f"{name}.csv", simple_sheet(ROWS, title=name))
            runs.append(desk.start("run", sheet, "--yes", "--json", "--without-prefect"))
        ended = [process.communicate(timeout=120) for process in runs]

    assert [process.wait() for process in runs] == [0, 0], ended
    taken = [seen for seen in between.creates if seen.status < 300]
    refused = [seen for seen in between.creates if seen.status == 429]
    assert len(taken) == 2 * ROWS
    assert refused, "the service has refused none, and nothing is shown"
    early = [
        (seen.came - told.answered, told.until - seen.came)
        for told in refused
        for seen in between.creates
        if told.answered + HEARD < seen.came < told.until - 0.01
    ]
    assert early == []
    # In each window at most what both have under way at once.
    windows = math.ceil(2 * ROWS / RATE)
    assert len(refused) <= windows * 2 * SUBMITS


@pytest.mark.slow
def test_a_run_that_waits_at_the_gate_can_be_stopped_and_goes_on_later(tmp_path: Path) -> None:
    rows = 16
    limits = ("--rate", "3", "--rate-window", "4", "--credits", "1000000")
    with sandbox(tmp_path / "service", *limits) as service:
        desk = Desk(tmp_path, service.environ | {"CALLSHEET_AT_ONCE": "4"})
        sheet = desk.sheet("one.csv", simple_sheet(rows))
        run = desk.start("run", sheet, "--yes", "--json", "--without-prefect")
        while len(service.bought()) < 4:
            assert run.poll() is None
            time.sleep(0.05)
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=60)
        stopped = dict(json.loads(out))
        ended = desk.run(sheet)
    assert (run.wait(), stopped["exit"]) == (5, 5), err
    # Nothing was intended beyond what is under way at once.
    assert stopped["rows"]["approved"] > 0
    assert stopped["rows"].get("submitting", 0) <= 4
    assert ended.json["rows"] == {"total": rows, "delivered": rows}, ended.err
