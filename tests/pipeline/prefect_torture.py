"""More of the road under Prefect: a signal, and many rows. Slow: not collected by default.

python -m pytest tests/pipeline/prefect_torture.py
"""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

from deployments.servers import PrefectServer
from tests.pipeline.test_prefect import children_left, run, task_runs
from tests.programs import Desk, sandbox, simple_sheet


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


def test_a_large_campaign_stays_light(desk: Desk, server: PrefectServer, name: str) -> None:
    desk.environ["PREFECT_API_URL"] = server.url

    ended = run(desk, desk.sheet(f"{name}.csv", simple_sheet(450)))

    assert ended.status == 0, ended.err
    assert ended.json["rows"] == {"total": 450, "delivered": 450}
    assert task_runs(server, name) == 200 + 4
