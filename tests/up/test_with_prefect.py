"""`callsheet up` whole, with Prefect: a run uses its server, and killed it leaves nothing."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path
from typing import Any

import psutil
import pytest

from callsheet.deployments.up.orphans import marked
from tests.programs import Desk, sandbox, simple_sheet
from tests.up.conftest import up_at

pytestmark = pytest.mark.prefect


@pytest.mark.slow
def test_runs_use_its_server_and_nothing_outlives_it(desk: Desk) -> None:
    with up_at(desk, "--prefect-port", "0") as up:
        ready = up.ready()
        assert ready["prefect_api"] == f"{ready['prefect']}/api"
        known = ask(ready["prefect_api"], "deployments/filter", {})
        assert {"campaign", "approved-plan", "carry-on"} <= {one["name"] for one in known}

        ended = desk.call(
            "run", desk.sheet("tea.csv", simple_sheet(1)), "--sandbox", "--yes", "--json"
        )

        assert ended.status == 0, ended.err
        # It brought none of its own.
        assert not (desk.folder / ".callsheet" / "prefect" / "server.log").exists()
        mine = {"flow_runs": {"name": {"like_": "tea"}}}
        (run,) = ask(ready["prefect_api"], "flow_runs/filter", mine)
        assert run["state_type"] == "COMPLETED"
        there = up.started()
        # The Prefect worker is held by a program of ours.
        assert len(there) == 7, [one.cmdline() for one in there]

        up.kill()

        assert psutil.wait_procs(there, timeout=30)[1] == []
        assert marked(up.mark()) == {}
        assert "Traceback" not in up.errors()


@pytest.mark.slow
def test_what_is_scheduled_with_a_sandbox_waits_for_a_sandbox(desk: Desk, tmp_path: Path) -> None:
    sheet = str(desk.folder / desk.sheet("tea.csv", simple_sheet(1)))
    with up_at(desk, "--prefect-port", "0", "--without", "worker") as trial:
        api = trial.ready()["prefect_api"]
        named = {"deployments": {"name": {"any_": ["campaign"]}}}
        (campaign,) = ask(api, "deployments/filter", named)
        asked = {"parameters": {"sheet": sheet, "approve": "yes"}, "state": {"type": "SCHEDULED"}}
        ask(api, f"deployments/{campaign['id']}/create_flow_run", asked)

    with sandbox(tmp_path / "service that costs") as costs:
        real = Desk(desk.folder, {**desk.environ, **costs.environ})
        with up_at(real, "--prefect-port", "0", trial=False) as up:
            # Its Prefect worker has asked for what is due.
            assert approved_runs(up.ready()["prefect_api"]) == []
        assert costs.charges() == []

    with up_at(desk, "--prefect-port", "0") as again:
        assert [run["sheet"] for run in approved_runs(again.ready()["prefect_api"])] == [sheet]


def approved_runs(api: str) -> list[dict[str, Any]]:
    """Return what flow runs are asked for that may pay by themselves."""
    asked = [run["parameters"] for run in ask(api, "flow_runs/filter", {})]
    return [one for one in asked if one.get("approve") == "yes"]


def ask(api: str, path: str, body: dict[str, Any]) -> Any:
    """Ask Prefect's server."""
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(f"{api}/{path}", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)
