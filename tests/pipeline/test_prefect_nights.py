"""Nights on a real Prefect server: deployed, started as its scheduler does, and shown."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from tests.launcher import IMPORTS
from tests.prefect_servers import PrefectServer
from tests.programs import Desk, Sandbox, simple_sheet

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
        # Its own scheduler may have the database just then: that is answered with 503.
        for _ in range(20):
            answer = self.client.post(place, json={**window, "min_runs": days})
            if answer.status_code != 503:
                break
            time.sleep(1)
        answer.raise_for_status()

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
