"""Flow runs that a worker has left are settled before the next one begins."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from pathlib import Path

import httpx
import pytest
from prefect.settings import PREFECT_API_URL, temporary_settings
from tenacity import retry, retry_if_exception, stop_after_delay, wait_fixed

from callsheet.deployments.nights.schedules import Job, deployment_file
from callsheet.deployments.nights.schedules import deploy as deploy_nights
from callsheet.deployments.prefect_address import PrefectAddress
from callsheet.deployments.up.deploy import make_pool
from callsheet.deployments.up.worker import FLOW_RUN, settle_flow_runs
from callsheet.flows.workers import WorkerRuns
from callsheet.tasks.campaign.workers import WorkersAtWork
from callsheet.tasks.nights.inboxes import Inbox
from callsheet.tasks.runtime.errors import ConfigurationError
from tests.containers.test_chart import JOBS
from tests.containers.test_jobs import SAID, template
from tests.prefect_servers import PrefectServer

pytestmark = [pytest.mark.prefect, pytest.mark.merge]

#: The deployment of a flow run that has lost its process, how it was left -> how it is settled.
LEFT = [
    ("approved-plan", "PENDING", "AwaitingRetry"),
    ("approved-plan", "RUNNING", "AwaitingRetry"),
    ("carry-on", "RUNNING", "AwaitingRetry"),
    ("campaign", "RUNNING", "Crashed"),
    # It would pay for another take of what is made already.
    ("retake", "RUNNING", "Crashed"),
    ("retake", "CANCELLING", "Cancelled"),
    ("approved-plan", "CANCELLING", "Cancelled"),
    # It waits for somebody.
    ("campaign", "PAUSED", "Paused"),
]


def test_what_lost_its_process_is_taken_up_again_or_ends(server: PrefectServer) -> None:
    pool = f"left-{uuid.uuid4()}"
    with httpx.Client(base_url=f"{server.url}/", timeout=30) as client:
        make(client, "work_pools/", name=pool, type="process")
        left = [left_run(client, pool, name, state) for name, state, _ in LEFT]
        carried = left_run(client, pool, "campaign", "RUNNING")
        alive = subprocess.Popen(
            [sys.executable, "-c", "import time; time.sleep(600)"],
            env={**os.environ, FLOW_RUN: carried},
        )
        try:
            settle_flow_runs(PrefectAddress(url=server.url, stands_in="here"), pool)
        finally:
            alive.kill()

        names = [client.get(f"flow_runs/{run}").json()["state_name"] for run in left]
        assert names == [name for _, _, name in LEFT]
        assert client.get(f"flow_runs/{carried}").json()["state_name"] == "Running"


def test_a_pool_of_kubernetes_jobs_takes_the_deployments_and_follows_its_template(
    server: PrefectServer, tmp_path: Path
) -> None:
    pool, file = f"jobs-{uuid.uuid4()}", tmp_path / "template.json"
    at = PrefectAddress(url=server.url, stands_in="here")
    with httpx.Client(base_url=f"{server.url}/", timeout=30) as client:
        for tag in ("1.0", "1.1"):
            values = {**JOBS, "image": {"repository": "videos", "tag": tag}}
            file.write_text(json.dumps(template(values)))
            make_pool(at, pool, file)

        found = client.get(f"work_pools/{pool}").json()
        assert found["type"] == "kubernetes"
        assert found["base_job_template"] == json.loads(file.read_text())
        flow = make(client, "flows/", name=pool)
        # The server holds what a deployment says against the template.
        own = {"name": "campaign", "flow_id": flow, "work_pool_name": pool}
        deployed = make(client, "deployments/", **own, job_variables=SAID)
        forget(client, deployed)


def test_nights_stay_with_the_environment_whose_worker_is_up(
    server: PrefectServer, tmp_path: Path
) -> None:
    name, file = f"nightly-{uuid.uuid4()}", tmp_path / "nights.yaml"
    entry = "callsheet.flows.nightly.sweep_inbox"
    inbox = Inbox(name="spring", place="/in", timezone="UTC")
    night = Job(name=name, inbox=inbox, entrypoint=entry, words=(), cron="0 2 * * *", about="")
    file.write_text(deployment_file([night], file=file, folder=tmp_path, pool="mine", more={}))
    with httpx.Client(base_url=f"{server.url}/", timeout=30) as client:
        make(client, "work_pools/", name=name, type="process")
        flow = make(client, "flows/", name=name)
        own = {"name": name, "flow_id": flow, "entrypoint": entry, "work_pool_name": name}
        deployed = make(client, "deployments/", **own)
        ask(client, f"work_pools/{name}/workers/heartbeat", name="somebody's")
        try:
            at = PrefectAddress(url=server.url, stands_in="here")
            with pytest.raises(ConfigurationError, match="would take its runs over") as refused:
                deploy_nights(file, at=at, folder=tmp_path, pool="mine")
            assert f"CALLSHEET_PREFECT_POOL={name}" in str(refused.value.remedy)
            assert client.get("work_pools/mine").status_code == 404
        finally:
            forget(client, deployed)


def left_run(client: httpx.Client, pool: str, deployment: str, state: str) -> str:
    """Return a flow run of a deployment, left as it was."""
    flow = make(client, "flows/", name=f"{pool} {deployment}")
    deployed = make(client, "deployments/", name=deployment, flow_id=flow, work_pool_name=pool)
    run = make(client, f"deployments/{deployed}/create_flow_run", state={"type": "SCHEDULED"})
    # One that never ran would be cancelled at once.
    for one in ["RUNNING", state] if state == "CANCELLING" else [state]:
        ask(client, f"flow_runs/{run}/set_state", state={"type": one}, force=True)
    assert client.get(f"flow_runs/{run}").json()["state_type"] == state
    return run


def make(client: httpx.Client, path: str, **what: object) -> str:
    """Make something at the server; return its id."""
    return str(ask(client, path, **what).json()["id"])


@retry(
    retry=retry_if_exception(lambda why: "503" in str(why)),
    stop=stop_after_delay(60),
    wait=wait_fixed(0.5),
)
def ask(client: httpx.Client, path: str, **what: object) -> httpx.Response:
    """Ask again where the server's database is busy with others, as Prefect's own client does."""
    return client.post(path, json=what).raise_for_status()


async def test_a_worker_that_its_worker_never_started_waits_for_another_worker(
    server: PrefectServer,
) -> None:
    pool = f"workers-{uuid.uuid4()}"
    with (
        httpx.Client(base_url=f"{server.url}/", timeout=30) as client,
        temporary_settings({PREFECT_API_URL: server.url}),
    ):
        make(client, "work_pools/", name=pool, type="process")
        flow = make(client, "flows/", name="worker")
        deployed = make(client, "deployments/", name="worker", flow_id=flow, work_pool_name=pool)
        try:
            patient, runs = WorkerRuns(None), WorkerRuns(None, taken_up=0.0)
            for one in (patient, runs):
                await one.start(pool, 1, 0)
            asked = {"flow_runs": {"deployment_id": {"any_": [deployed]}}}
            (run,) = ask(client, "flow_runs/filter", **asked).json()
            ask(client, f"flow_runs/{run['id']}/set_state", state={"type": "PENDING"}, force=True)

            assert await patient.at_work() == WorkersAtWork(1, 0)
            assert state_of(client, run["id"]) == "Pending"
            assert await runs.at_work() == WorkersAtWork(1, 0)
            assert state_of(client, run["id"]) == "AwaitingRetry"
            await runs.end()
            assert state_of(client, run["id"]) == "Cancelled"
        finally:
            forget(client, deployed)


def state_of(client: httpx.Client, run: str) -> str:
    """Return the name of the state that a flow run is in."""
    return str(client.get(f"flow_runs/{run}").json()["state_name"])


def forget(client: httpx.Client, deployment: str) -> None:
    """Remove a deployment, whose name others have as well."""
    client.delete(f"deployments/{deployment}")
