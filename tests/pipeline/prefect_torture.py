"""More of the road under Prefect: a signal, and many rows. Slow: not collected by default.

python -m pytest tests/pipeline/prefect_torture.py
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx

from tests.pipeline.test_prefect import Shown, run
from tests.prefect_servers import PrefectServer
from tests.programs import ROOT, Desk, sandbox, simple_sheet


def test_a_signal_parks_a_run_on_its_page_as_well(
    tmp_path: Path, server: PrefectServer, name: str
) -> None:
    with sandbox(tmp_path / "slow", "--render", "real", "--time-scale", "4") as slow:
        desk = Desk(tmp_path, {**slow.environ, "PREFECT_API_URL": server.url})
        sheet = desk.sheet(f"{name}.csv", simple_sheet(2))
        process = desk.start("run", sheet, "--yes", "--json")
        until = time.monotonic() + 150
        while slow.calls().get("create", 0) < 2 or not Shown.is_there(server, name):
            assert time.monotonic() < until
            time.sleep(0.1)

        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=90)

    assert process.returncode == 5, err
    assert json.loads(out)["rows"] == {"total": 2, "rendering": 2}
    assert "Traceback" not in err
    assert Shown(server, name).run["state_name"] == "Parked"


def test_a_large_campaign_stays_light(desk: Desk, server: PrefectServer, name: str) -> None:
    desk.environ["PREFECT_API_URL"] = server.url

    ended = run(desk, desk.sheet(f"{name}.csv", simple_sheet(450)))

    assert ended.status == 0, ended.err
    assert ended.json["rows"] == {"total": 450, "delivered": 450}
    shown = Shown(server, name)
    assert shown.run["state_name"] == "Completed"
    assert shown.count("task_runs") <= 200 + 4
    parts = {one["name"]: one["state"]["message"] for one in shown.found("task_runs")}
    said = parts["r001 to r002"]
    assert "2 delivered" in said
    assert f"/artifacts/key/callsheet-{name}-rows" in said


def test_a_schedule_that_somebody_paused_stays_paused_when_it_is_deployed_again(
    desk: Desk, server: PrefectServer
) -> None:
    environ = {**desk.environment(), "PREFECT_API_URL": server.url, "PWD": str(desk.folder)}
    deploy = [sys.executable, "-P", "-m", "prefect", "--no-prompt", "deploy"]
    deploy += ["--name", "reconcile", "--prefect-file", str(ROOT / "deployments/prefect.yaml")]
    with httpx.Client(base_url=server.url, timeout=30) as client:
        client.post("/work_pools/", json={"name": "callsheet", "type": "process"})
        found = []
        for _ in range(2):
            subprocess.run(deploy, cwd=desk.folder, env=environ, check=True, capture_output=True)
            found.append(client.get("/deployments/name/reconcile/reconcile").json())
            (schedule,) = found[-1]["schedules"]
            path = f"/deployments/{found[-1]['id']}/schedules/{schedule['id']}"
            client.patch(path, json={"active": False}).raise_for_status()
    assert [one["schedules"][0]["active"] for one in found] == [True, False]
    assert found[0]["global_concurrency_limit"]["limit"] == 1
