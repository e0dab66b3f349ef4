"""`callsheet up` whole, with Prefect: a run uses its server, and killed it leaves nothing."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

import psutil
import pytest

from deployments.up.leftovers import marked
from tests.programs import Desk, simple_sheet
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
        assert len(there) == 6

        up.kill()

        assert psutil.wait_procs(there, timeout=30)[1] == []
        assert marked(up.mark()) == {}
        assert "Traceback" not in up.errors()


def ask(api: str, path: str, body: dict[str, Any]) -> Any:
    """Ask Prefect's server."""
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(f"{api}/{path}", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)
