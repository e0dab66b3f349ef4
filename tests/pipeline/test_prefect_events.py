"""Hints at a real Prefect server: seen there, and a run of an idle campaign is called for."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from callsheet.tasks.ledger.ledger import open_ledger
from tests.campaigns import Stage, brief
from tests.launcher import IMPORTS
from tests.leasing import acquire_lease
from tests.prefect_servers import PrefectServer
from tests.programs import ROOT

#: The server is one for all that ask for it.
pytestmark = pytest.mark.prefect

#: Tells of a hint for every line on stdin; says how long the end took.
PROGRAM = """
import asyncio, sys, time
from callsheet.deployments.prefect_events import announcer
from callsheet.tasks.ledger.webhook_events import Hint
from callsheet.tasks.ledger.ledger import open_ledger

async def main():
    async with await open_ledger(sys.argv[1]) as ledger:
        async with announcer(ledger) as announce:
            for n, line in enumerate(sys.stdin):
                announce(Hint(digest=f"{n:064}", nonce="n1", videos=frozenset({line.strip()})))
            left = time.monotonic()
    return time.monotonic() - left

print(asyncio.run(main()))
"""
#: `prefect deploy` as people type it, but for the work pool, which the test makes.
DEPLOY = ["--no-prompt", "deploy", "--all", "--prefect-file"]


@pytest.fixture
def ledger(tmp_path: Path) -> str:
    """The address of a ledger: nobody carries `spring`, and `autumn` is carried elsewhere."""
    address = f"sqlite:///{tmp_path / 'ledger.db'}"

    async def fill() -> None:
        async with await open_ledger(address) as ledger:
            idle = await Stage.set(ledger, brief("a"), brief("b", "Milk"))
            await idle.rendering("a")
            await idle.rendering("b")
            carried = await Stage.set(ledger, brief("z", "Rum"), name="autumn")
            await carried.rendering("z")
            owned = partial(acquire_lease, campaign=carried.campaign, owner="elsewhere:1:1:there:1")
            await ledger.write(owned, seconds=600)

    asyncio.run(fill())
    return address


@pytest.mark.slow
def test_a_hint_is_an_event_and_an_unattended_one_starts_a_run(
    ledger: str, server: PrefectServer, tmp_path: Path
) -> None:
    # What is told waits for the deployment.
    program = _start([sys.executable, "-c", PROGRAM, ledger], tmp_path, server.url)
    with httpx.Client(base_url=server.url, timeout=30) as client:
        pool = {"name": "callsheet", "type": "process"}
        # Another test of this server may have made it.
        assert client.post("/work_pools/", json=pool).status_code in (201, 409)
        deploy = [sys.executable, "-m", "prefect", *DEPLOY, str(ROOT / "deployments/prefect.yaml")]
        out, err = _start(deploy, tmp_path, server.url).communicate(timeout=180)
        assert "campaign/campaign" in out, out + err

        out, err = program.communicate("vid_a\nvid_b\nvid_z\nvid_foreign\nvid_a\n", timeout=120)

        assert program.returncode == 0, err
        (run,) = _wait_for(1, client, "/flow_runs/filter")
        found = {one["name"]: one for one in _wait_for(3, client, "/deployments/filter")}
        told = _wait_for(5, client, "/events/filter")
    # It is the deployment that begins nothing and pays for nothing.
    assert run["parameters"] == {"campaign": "spring"}
    # Sheet and ledger are found from where it was deployed.
    folders = {one["job_variables"]["working_dir"] for one in found.values()}
    assert folders == {str(tmp_path)}
    assert (run["deployment_id"], run["state_name"]) == (found["carry-on"]["id"], "Scheduled")
    heard = [one["payload"] for one in told if one["event"] == "callsheet.hint"]
    assert sorted((one["row"], one["attended"]) for one in heard) == [
        ("a", False),
        ("a", False),
        ("b", False),
        ("z", True),
    ]
    (called,) = [one for one in told if one["event"] == "callsheet.hint.unattended"]
    assert called["resource"]["prefect.resource.id"] == "callsheet.campaign.spring"
    assert called["payload"]["row"] == "a"


@pytest.mark.slow
def test_a_server_that_is_away_is_waited_for_a_few_seconds_at_the_end(
    ledger: str, tmp_path: Path
) -> None:
    program = _start([sys.executable, "-c", PROGRAM, ledger], tmp_path, "http://127.0.0.1:9/api")
    out, err = program.communicate("vid_a\n" * 20, timeout=120)
    assert program.returncode == 0, err
    assert float(out) < 15
    assert err.count("Prefect gets no webhook events") == 1
    assert "20 of 20 webhook events were not sent to Prefect" in err
    assert "Traceback" not in err


def _start(command: Sequence[str], folder: Path, url: str) -> subprocess.Popen[str]:
    own = {"PREFECT_API_URL": url, "PREFECT_HOME": str(folder / "home"), "DO_NOT_TRACK": "1"}
    return subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, **own, "PYTHONPATH": IMPORTS, "PWD": str(folder)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _wait_for(count: int, client: httpx.Client, path: str) -> list[dict[str, Any]]:
    """Return what the server lists, once it is so much; flow runs and events come with a delay.

    Of the flow runs those of one deployment: other tests have runs on this server too.
    """
    words: dict[str, Any] = {}
    if "events" in path:
        words = {"filter": {"event": {"prefix": ["callsheet."]}}}
    elif "flow_runs" in path:
        words = {"deployments": {"name": {"any_": ["carry-on"]}}}
    until = time.monotonic() + 60
    while True:
        answer = client.post(path, json=words).raise_for_status().json()
        found = answer["events"] if "events" in path else answer
        if len(found) >= count:
            return list(found)
        assert time.monotonic() < until, json.dumps(found)
        time.sleep(0.2)
