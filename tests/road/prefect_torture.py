"""A signal under Prefect. Slow: not collected by default.

python -m pytest tests/road/prefect_torture.py
"""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

from tests.programs import Desk, sandbox, simple_sheet
from tests.road.test_prefect import children_left


def test_a_signal_stops_a_run_under_prefect_as_well(tmp_path: Path, name: str) -> None:
    with sandbox(tmp_path / "slow", "--render", "real", "--time-scale", "4") as slow:
        desk = Desk(tmp_path, slow.environ)
        sheet = desk.sheet(f"{name}.csv", simple_sheet(2))
        process = desk.start("run", sheet, "--yes", "--json")
        until = time.monotonic() + 150
        while slow.calls().get("create", 0) < 2:
            assert time.monotonic() < until
            time.sleep(0.1)

        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=90)

    assert process.returncode == 5, err
    assert json.loads(out)["rows"] == {"total": 2, "rendering": 2}
    assert "Traceback" not in err
    assert not children_left(tmp_path)
