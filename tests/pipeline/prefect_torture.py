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
from typing import Any

import httpx

from callsheet.deployments.servers import PrefectServer
from tests.pipeline.test_prefect import children_left, run, task_runs
from tests.programs import ROOT, Desk, sandbox, simple_sheet


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
    desk.wait_for_prefect()
    assert not children_left(tmp_path)


def test_a_run_that_is_killed_ends_in_prefect_as_well(
    tmp_path: Path, server: PrefectServer, name: str
) -> None:
    with sandbox(tmp_path / "slow", "--render", "real", "--time-scale", "4") as slow:
        desk = Desk(tmp_path, {**slow.environ, "PREFECT_API_URL": server.url})
        process = desk.start("run", desk.sheet(f"{name}.csv", simple_sheet(2)), "--yes", "--json")
        body = {"flow_runs": {"name": {"like_": name}}}
        with httpx.Client(base_url=server.url) as client:
            until = time.monotonic() + 150
            while not (found := client.post("/flow_runs/filter", json=body).json()):
                assert time.monotonic() < until
                time.sleep(0.1)
            process.kill()
            process.communicate(timeout=30)
            calls = slow.calls()
            desk.wait_for_prefect()
            (found,) = client.post("/flow_runs/filter", json=body).json()
        assert slow.calls() == calls
    assert found["state_name"] == "Failed"
    assert "the command ended before the run did" in found["state"]["message"]


def test_a_large_campaign_stays_light(desk: Desk, server: PrefectServer, name: str) -> None:
    desk.environ["PREFECT_API_URL"] = server.url

    ended = run(desk, desk.sheet(f"{name}.csv", simple_sheet(450)))

    assert ended.status == 0, ended.err
    assert ended.json["rows"] == {"total": 450, "delivered": 450}
    assert task_runs(server, name) == 200 + 4
    with httpx.Client(base_url=server.url) as client:
        body: dict[str, Any] = {"flow_runs": {"name": {"like_": name}}, "limit": 1}
        body["task_runs"] = {"name": {"any_": ["r001 to r002"]}}
        (part,) = client.post("/task_runs/filter", json=body).json()
        body = {"logs": {"task_run_id": {"any_": [part["id"]]}}}
        said = [one["message"] for one in client.post("/logs/filter", json=body).json()]
    table = f"/artifacts/key/callsheet-{name}-rows"
    assert any("2 delivered" in words and table in words for words in said), said


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
