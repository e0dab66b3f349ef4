"""What befalls flow runs of a worker: cancelled, paused, stopped, killed. Slow: not collected by
default.

python -m pytest tests/pipeline/states_torture.py
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx
import psutil
import pytest

from callsheet.deployments.automations.__main__ import HERE, read
from tests.pipeline.served import ask_server, errors_in_log
from tests.prefect_servers import PrefectServer
from tests.programs import ROOT, Desk, Sandbox, sandbox, simple_sheet

PREFECT = [sys.executable, "-m", "prefect"]

pytestmark = pytest.mark.prefect


@dataclass
class Shop:
    """A folder with a worker on a process work pool, and the campaign's deployment."""

    desk: Desk
    service: Sandbox
    client: httpx.Client
    environ: dict[str, str]
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def deploy(self, *names: str) -> None:
        words = [word for name in names for word in ("--name", name)]
        file = str(ROOT / "deployments" / "prefect.yaml")
        for _ in range(2):
            done = subprocess.run(
                [*PREFECT, "--no-prompt", "deploy", *words, "--prefect-file", file],
                cwd=self.desk.folder, env=self.environ, capture_output=True, text=True,
                timeout=180, check=False,
            )  # fmt: skip
            if done.returncode == 0:
                return
        raise AssertionError(done.stdout + done.stderr)

    def worker(self, **more: str) -> subprocess.Popen[bytes]:
        log = (self.desk.folder / "worker.log").open("a")
        command = [*PREFECT, "worker", "start", "--pool", "callsheet"]
        environ = {**self.environ, **more}
        started = subprocess.Popen(
            command, cwd=self.desk.folder, env=environ, stdout=log, stderr=log
        )
        self.workers.append(started)
        return started

    def start(self, flow: str, *, state: Mapping[str, Any] | None = None, **parameters: Any) -> str:
        found = ask_server(self.client, "GET", f"/deployments/name/{flow}")
        path = f"/deployments/{found['id']}/create_flow_run"
        asked = {"parameters": parameters, **({"state": state} if state else {})}
        return str(ask_server(self.client, "POST", path, asked)["id"])

    def state(self, run: str) -> dict[str, Any]:
        return dict(ask_server(self.client, "GET", f"/flow_runs/{run}")["state"])

    def wait_for(self, run: str, *names: str) -> dict[str, Any]:
        seen: dict[str, Any] = {}

        def is_there() -> bool:
            seen.update(self.state(run))
            return seen["name"] in names

        self.wait(is_there)
        return seen

    def wait(self, until: Callable[[], Any], seconds: float = 180) -> None:
        end = time.monotonic() + seconds
        while not until():
            assert time.monotonic() < end, (self.desk.folder / "worker.log").read_text()[-3000:]
            time.sleep(0.2)

    def set_state(self, run: str, **state: Any) -> None:
        path = f"/flow_runs/{run}/set_state"
        ask_server(self.client, "POST", path, {"state": state})

    def process(self, run: str) -> psutil.Process:
        """Return the process that carries a flow run: the innermost one of it."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.environ().get("PREFECT__FLOW_RUN_ID") == run:
                    found.append(process)
            except (psutil.AccessDenied, psutil.NoSuchProcess, psutil.ZombieProcess):
                continue
        return max(found, key=lambda process: process.create_time())

    def states(self, name: str) -> dict[str, str]:
        return {row: found["state"] for row, found in self.desk.rows(name).items()}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, server: PrefectServer) -> Iterator[Shop]:
    folder = tmp_path_factory.mktemp("shop")
    with (
        sandbox(tmp_path_factory.mktemp("sandbox"), "--credits", "100000") as service,
        httpx.Client(base_url=server.url, timeout=60) as client,
    ):
        desk = Desk(folder, {**service.environ, "CALLSHEET_AT_ONCE": "1"})
        own = {"PREFECT_API_URL": server.url, "PREFECT_HOME": str(folder / "home")}
        environ = {**desk.environment(), **own, "DO_NOT_TRACK": "1", "PWD": str(folder)}
        client.post("/work_pools/", json={"name": "callsheet", "type": "process"})
        made = Shop(desk, service, client, environ)
        made.deploy("campaign", "cancel")
        made.worker()
        yield made
        for worker in made.workers:
            worker.kill()
            worker.wait()


@pytest.fixture
def begun(shop: Shop, name: str) -> Iterator[str]:
    """A flow run of six rows, in the middle of its creates; nothing is finished for now."""
    before = shop.service.creates()
    shop.service.plan_fault(on="create", do="slow", seconds=2)
    shop.service.plan_fault(on="render", do="slow", seconds=60)
    sheet = shop.desk.sheet(f"{name}.csv", simple_sheet(6, title=name))
    run = shop.start("campaign/campaign", sheet=sheet, approve=True)
    shop.wait(lambda: shop.service.creates() >= before + 2)
    yield run
    shop.service.clear_faults()
    shop.desk.call("cancel", name, "--yes")


def charged_once(shop: Shop, name: str) -> None:
    keys = [row["key"] for row in shop.desk.rows(name).values()]
    assert shop.service.charged(keys) == dict.fromkeys(keys, 1)


def task_states(shop: Shop, run: str) -> set[str]:
    words = {"flow_runs": {"id": {"any_": [run]}}}
    found = ask_server(shop.client, "POST", "/task_runs/filter", words)
    return {one["state_type"] for one in found}


def test_a_run_that_is_cancelled_on_the_page_ends_in_order(
    shop: Shop, begun: str, name: str
) -> None:
    shop.set_state(begun, type="CANCELLING", name="Cancelling")
    shop.wait_for(begun, "Cancelled")

    states = shop.states(name)
    assert set(states.values()) == {"rendering", "cancelled"}
    assert errors_in_log(shop.client, begun) == []
    # Prefect's worker may say Cancelled before the last task run is recorded.
    shop.wait(lambda: task_states(shop, begun) == {"COMPLETED", "CANCELLED"})
    creates = shop.service.creates()
    cancel = shop.start("cancel/cancel", campaign=name)
    told = shop.wait_for(cancel, "Completed", "Failed", "NeedsPerson")
    assert (told["type"], told["name"]) == ("COMPLETED", "Completed")
    begun_rows = sum(state == "rendering" for state in states.values())
    assert f"{15 * begun_rows} credits released" in told["message"]
    assert set(shop.states(name).values()) == {"cancelled"}
    assert shop.service.creates() == creates


def test_a_run_that_is_paused_begins_nothing_until_it_is_resumed(
    shop: Shop, begun: str, name: str
) -> None:
    details = {"pause_timeout": "2050-01-01T00:00:00Z", "pause_reschedule": True}
    shop.set_state(begun, type="PAUSED", name="Suspended", state_details=details)
    process = shop.process(begun)
    shop.wait(lambda: not process.is_running() or process.status() == psutil.STATUS_ZOMBIE)
    creates = shop.service.creates()
    left = shop.states(name)
    assert "approved" in left.values()
    assert shop.state(begun)["name"] == "Suspended"
    assert errors_in_log(shop.client, begun) == []

    shop.service.clear_faults()
    shop.client.post(f"/flow_runs/{begun}/resume", json={}).raise_for_status()
    assert shop.wait_for(begun, "Completed", "Failed", "Crashed")["name"] == "Completed"

    assert set(shop.states(name).values()) == {"delivered"}
    began = sum(state == "approved" for state in left.values())
    assert shop.service.creates() == creates + began
    charged_once(shop, name)


def test_a_run_whose_process_is_told_to_end_is_called_back(
    shop: Shop, begun: str, name: str
) -> None:
    shop.process(begun).send_signal(signal.SIGTERM)
    parked = shop.wait_for(begun, "Parked", "Crashed")
    assert (parked["type"], parked["name"]) == ("SCHEDULED", "Parked")
    assert "keep rendering" in parked["message"]

    shop.service.clear_faults()
    assert shop.wait_for(begun, "Completed", "Failed", "Crashed")["name"] == "Completed"
    assert set(shop.states(name).values()) == {"delivered"}
    charged_once(shop, name)


def test_a_run_that_is_killed_is_started_again_by_the_automation(
    shop: Shop, begun: str, name: str
) -> None:
    _load(shop, "crashed", within=15)

    shop.process(begun).kill()
    shop.service.clear_faults()
    shop.wait_for(begun, "AwaitingRetry")
    assert shop.wait_for(begun, "Completed", "Failed", "Crashed")["name"] == "Completed"

    assert set(shop.states(name).values()) == {"delivered"}
    charged_once(shop, name)
    _forget(shop)


def test_a_run_whose_machine_is_gone_does_not_stay_running(shop: Shop, name: str) -> None:
    # The shortest heartbeat there is, and two of them instead of three.
    _load(shop, "zombie", within=65)
    for worker in shop.workers:
        worker.kill()
        worker.wait()
    worker = shop.worker(PREFECT_FLOWS_HEARTBEAT_FREQUENCY="30")
    before = shop.service.creates()
    shop.service.plan_fault(on="render", do="slow", seconds=600)
    sheet = shop.desk.sheet(f"{name}.csv", simple_sheet(1, title=name))
    run = shop.start("campaign/campaign", sheet=sheet, approve=True)
    shop.wait(lambda: shop.service.creates() > before)
    time.sleep(3)

    worker.kill()
    shop.process(run).kill()

    assert shop.state(run)["name"] == "Running"
    crashed = shop.wait_for(run, "Crashed")
    assert "No heartbeat" in crashed["message"]
    assert shop.states(name) == {"r001": "rendering"}
    _forget(shop)


def _load(shop: Shop, name: str, *, within: int) -> None:
    """Have the server know an automation, which waits for so many seconds."""
    automation = read(HERE / f"{name}.yaml", None)
    automation["trigger"]["within"] = within
    shop.client.post("/automations/", json=automation).raise_for_status()


def _forget(shop: Shop) -> None:
    for one in shop.client.post("/automations/filter", json={}).json():
        shop.client.delete(f"/automations/{one['id']}")
