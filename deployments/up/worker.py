"""Starts a Prefect worker after settling the flow runs of the previous one.

    python -m callsheet.deployments.up.worker POOL -m MODULE ...

Prefect would show the flow runs of a killed Prefect worker as pending or running forever, and plans
that were approved on the board would wait for them. This server is only reachable from this
machine, so a flow run without a process has ended.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from callsheet.deployments.prefect_address import PrefectAddress, prefect_address
from callsheet.deployments.up.deploy import make_pool
from callsheet.deployments.up.orphans import processes_with
from callsheet.tasks.runtime.redact import visible

#: Environment variable of every process that executes a flow run.
FLOW_RUN = "PREFECT__FLOW_RUN_ID"
#: Deployments whose flow runs only execute what is in the ledger, so they can restart.
TAKEN_UP = ("approved-plan", "carry-on", "worker")
#: Number of flow runs to settle at a time.
MOST = 200


def main() -> None:
    """Settle the flow runs of the previous Prefect worker, then become the worker."""
    at = prefect_address()
    assert at is not None, "whoever starts this says where the server is"
    pool, *words = sys.argv[1:]
    make_pool(at, pool)
    settle_flow_runs(at, pool)
    os.execv(sys.executable, [sys.executable, *words])


def settle_flow_runs(at: PrefectAddress, pool: str) -> None:
    """Restart or end every flow run of the work pool without a process."""
    wanted = {
        "work_pools": {"name": {"any_": [pool]}},
        "flow_runs": {"state": {"type": {"any_": ["PENDING", "RUNNING", "CANCELLING"]}}},
        "limit": MOST,
    }
    for flow_run in at.ask("flow_runs/filter", wanted):
        if not processes_with(f"{FLOW_RUN}={flow_run['id']}"):
            state = _state_for(flow_run, _deployment_of(at, flow_run))
            told = {"state": state, "force": True}
            at.ask(f"flow_runs/{flow_run['id']}/set_state", told)
            print(visible(f"flow run {flow_run['name']} no longer had a process: {state['name']}"))


def _deployment_of(at: PrefectAddress, flow_run: dict[str, Any]) -> str | None:
    if flow_run.get("deployment_id") is None:
        return None
    return str(at.ask(f"deployments/{flow_run['deployment_id']}")["name"])


def _state_for(flow_run: dict[str, Any], deployment: str | None) -> dict[str, Any]:
    if flow_run["state_type"] == "CANCELLING":
        return {"type": "CANCELLED", "name": "Cancelled", "message": "its process is gone"}
    if deployment in TAKEN_UP:
        words = "its process is gone; it continues from the ledger"
        return {"type": "SCHEDULED", "name": "AwaitingRetry", "message": words}
    words = "its process is gone; run it again, and it continues from the ledger"
    return {"type": "CRASHED", "name": "Crashed", "message": words}


if __name__ == "__main__":
    main()
