"""Nights on a real Prefect server: deployed, started as its scheduler does, and shown."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from tests.launcher import IMPORTS
from tests.pipeline.served import ask_server
from tests.prefect_servers import PrefectServer
from tests.programs import Desk, Sandbox, simple_sheet, wait_until

pytestmark = [pytest.mark.prefect, pytest.mark.merge]

TOML = """\
[inbox.{name}]
place = "sheets"
cron = "0 2 * * *"
timezone = "Europe/Berlin"
approval = "auto"
per_night = 40
"""


class Nights:
    """A folder with an inbox, what is deployed for it on a server, and its runs there."""

    def __init__(self, desk: Desk, client: httpx.Client, name: str) -> None:
        self.desk, self.client, self.name = desk, client, name
        self.inbox = desk.folder / "sheets"
        self.inbox.mkdir()
        (desk.folder / "nights.toml").write_text(TOML.format(name=name))
        #: The line that a person is told to start the Prefect worker with.
        self.worker: list[str] = []

    @property
    def deployment(self) -> dict[str, Any]:
        found = self.client.get(f"/deployments/name/nightly/nightly-{self.name}")
        return dict(found.raise_for_status().json())

    def schedule(self, *, days: int) -> None:
        """Have the runs of so many days past scheduled, as the server's own scheduler does."""
        now = datetime.now(UTC)
        window = {"start_time": f"{now - timedelta(days=days)}", "end_time": f"{now}"}
        place = f"/deployments/{self.deployment['id']}/schedule"
        ask_server(self.client, "POST", place, {**window, "min_runs": days})

    def runs(self) -> list[dict[str, Any]]:
        """Return the runs that are due, the first one first."""
        due = {"expected_start_time": {"before_": f"{datetime.now(UTC)}"}}
        words = {
            "deployments": {"id": {"any_": [self.deployment["id"]]}},
            "flow_runs": due,
            "sort": "EXPECTED_START_TIME_ASC",
        }
        return list(self.client.post("/flow_runs/filter", json=words).raise_for_status().json())

    def carry(self) -> str:
        """Have a worker carry what waits; return what it said."""
        done = subprocess.run(
            [*self.worker, "--run-once"],
            cwd=self.desk.folder,
            env=self.desk.environment(),
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        assert "Traceback" not in done.stdout + done.stderr, done.stdout + done.stderr
        return done.stdout

    def install(self) -> dict[str, Any]:
        pool = ("--pool", f"callsheet-{self.name}")
        done = self.desk.call("nights", "install", *pool, "--json")
        assert done.status == 0, done.err
        self.worker = shlex.split(done.json["worker"])
        return done.json


@pytest.fixture
def nights(desk: Desk, name: str, server: PrefectServer, service: Sandbox) -> Iterator[Nights]:
    own = {"PREFECT_API_URL": server.url, "PREFECT_HOME": str(desk.folder / "home")}
    desk.environ |= {**service.environ, **own, "DO_NOT_TRACK": "1", "PYTHONPATH": IMPORTS}
    with httpx.Client(base_url=server.url, timeout=30) as client:
        yield Nights(desk, client, name)


def test_a_night_is_deployed_and_its_page_says_what_became_of_each_sheet(
    nights: Nights, service: Sandbox
) -> None:
    name = nights.name
    (nights.inbox / f"{name}-good.csv").write_text(simple_sheet(2))
    (nights.inbox / f"{name}-broken.csv").write_text(simple_sheet(1).replace("9:16", "9:61"))

    for sheet in nights.inbox.iterdir():
        # As of a minute ago: whole at the first look.
        os.utime(sheet, (time.time() - 60,) * 2)

    told = nights.install()

    assert told["deployments"] == [f"nightly-{name}"]
    deployed = nights.deployment
    (schedule,) = deployed["schedules"]
    assert (schedule["slug"], schedule["active"]) == (f"nightly-{name}", True)
    assert schedule["schedule"]["cron"] == "0 2 * * *"
    assert schedule["schedule"]["timezone"] == "Europe/Berlin"
    assert deployed["global_concurrency_limit"]["limit"] == 1
    assert deployed["parameters"] == {"inbox": name}
    assert deployed["job_variables"]["working_dir"] == str(nights.desk.folder)
    nights.schedule(days=1)
    out = nights.carry()
    (run,) = nights.runs()
    assert (run["state_name"], run["state_type"]) == ("Invalid", "FAILED"), out
    assert run["state"]["message"] == "1 invalid, 1 delivered; 30 credits"
    answer = json.loads((nights.inbox / f"{name}-good.csv.callsheet.json").read_text())
    assert answer["outcome"] == "delivered"
    lines = {line["sheet"]: line for line in _table(nights)}
    assert lines[f"{name}-good.csv"]["charged"] == 30
    assert "9:61" in lines[f"{name}-broken.csv"]["why"]
    (listed,) = nights.desk.call("nights", "list", "--json").json["inboxes"]
    due = datetime.fromisoformat(run["expected_start_time"])
    # Two in Berlin is the same date in UTC.
    assert (listed["last"]["night"], listed["last"]["exit"]) == (f"{due:%Y-%m-%d}", 2)
    assert listed["last"]["charged"] == 30


def _table(nights: Nights) -> list[dict[str, Any]]:
    words = {
        "artifacts": {"key": {"like_": f"callsheet-{nights.name}"}, "type": {"any_": ["table"]}}
    }
    found = nights.client.post("/artifacts/filter", json=words).raise_for_status().json()
    tables = [json.loads(one["data"]) for one in found if one["key"].endswith("-night")]
    assert len(tables) == 1
    return list(tables[0])


def carried(nights: Nights) -> dict[str, str]:
    """Have workers carry all that is due; return the state of each run, by its date (UTC)."""

    def are_over() -> bool:
        nights.carry()
        return {run["state_type"] for run in nights.runs()} <= {"COMPLETED", "FAILED", "CANCELLED"}

    wait_until(are_over, 400)
    return {run["expected_start_time"][:10]: run["state_name"] for run in nights.runs()}


@pytest.mark.slow
def test_of_the_nights_that_were_missed_one_sweeps(nights: Nights, service: Sandbox) -> None:
    (nights.inbox / f"{nights.name}.csv").write_text(simple_sheet(2))
    nights.install()
    nights.schedule(days=3)
    before = service.creates()
    ended = carried(nights)
    assert len(ended) == 3
    newest = max(ended)
    # Prefect starts them in no order: whichever comes later finds that the newest has swept.
    assert ended.pop(newest) == "Completed"
    assert set(ended.values()) == {"Superseded"}
    assert service.creates() == before + 2
    listed = nights.desk.call("nights", "list", "--json").json["inboxes"]
    assert listed[0]["last"]["night"] == newest


@pytest.mark.slow
def test_a_pause_outlives_a_deployment_and_so_does_one_of_prefects(nights: Nights) -> None:
    (nights.inbox / f"{nights.name}.csv").write_text(simple_sheet(1))
    nights.install()
    assert nights.desk.call("nights", "pause", "until", "2099-01-01").status == 0
    (schedule,) = nights.deployment["schedules"]
    place = f"/deployments/{nights.deployment['id']}/schedules/{schedule['id']}"
    nights.client.patch(place, json={"active": False}).raise_for_status()
    nights.install()
    run = nights.client.post(f"/deployments/{nights.deployment['id']}/create_flow_run", json={})
    run.raise_for_status()
    assert set(carried(nights).values()) == {"Skipped"}
    assert not (nights.inbox / f"{nights.name}.csv.callsheet.json").exists()
    (after,) = nights.deployment["schedules"]
    assert after["active"] is False


@pytest.mark.slow
def test_a_night_cancelled_on_prefects_page_ends_in_order_and_the_next_goes_on(
    nights: Nights, service: Sandbox
) -> None:
    (nights.inbox / f"{nights.name}.csv").write_text(simple_sheet(2))
    nights.install()
    nights.schedule(days=1)
    service.plan_fault(on="render", do="slow", seconds=40)
    worker = threading.Thread(target=nights.carry)
    worker.start()

    def states() -> Counter[str]:
        told = nights.desk.call("rows", nights.name, "--json")
        return Counter(line["state"] for line in (told.lines if not told.status else []))

    wait_until(lambda: states()["rendering"] == 2, 120)
    (run,) = nights.runs()
    state = {"state": {"type": "CANCELLING"}}
    nights.client.post(f"/flow_runs/{run['id']}/set_state", json=state).raise_for_status()
    worker.join(120)
    (run,) = nights.runs()
    assert (run["state_name"], run["state_type"]) == ("Cancelled", "CANCELLED")
    # Nobody's campaign was cancelled with it.
    assert states() == {"rendering": 2}
    service.clear_faults()
    night = nights.desk.call("nightly", nights.name, "--json")
    assert [one["outcome"] for one in night.json["sheets"]] == ["delivered"]
    assert states() == {"delivered": 2}
