"""The same road as a Prefect flow, on a real server."""

from __future__ import annotations

import hashlib
import json
import signal
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from callsheet import RowResult
from callsheet.deployments.servers import SERVER
from tests.pipeline.served import call_flows
from tests.prefect_servers import PrefectServer
from tests.programs import ROOT, Desk, Finished, Sandbox, sandbox, simple_sheet, wait_until

pytestmark = pytest.mark.merge

#: The server is one for all that ask for it.

#: Calls the flow as a deployment does, with plain parameters, and goes on with its videos; a line
#: for each end.
TWICE = """
import asyncio, json, sys
from callsheet import BadInput, campaign_rows, run_campaign

async def twice(sheet):
    print(json.dumps(await run_campaign(sheet=sheet, approve=False)))
    result = await run_campaign(sheet=sheet, approve=True)
    print(json.dumps(result))
    other = {"campaign": result["campaign"] + "-2", "new_campaign": True}
    refused = await run_campaign(sheet=sheet, approve="no", **other)
    again = await run_campaign(sheet=sheet, approve="yes")
    print(json.dumps([refused["exit"], again["campaign"], again["credits"]["charged"]]))
    chosen = campaign_rows(result["campaign"], select="state:delivered")
    print(json.dumps([row async for row in chosen]))
    try:
        await run_campaign(sheet="none.csv")
    except BadInput as error:
        print(json.dumps(f"{error.exit_status} {error.spent}"))

asyncio.run(twice(*json.loads(sys.argv[1])))
"""
SCRIPT = "The canary of the script sings"


def run(desk: Desk, sheet: str, *words: str) -> Finished:
    return desk.call("run", sheet, "--yes", "--json", *words, timeout=300)


def test_a_run_without_a_server_starts_none(desk: Desk, tmp_path: Path, name: str) -> None:
    ended = run(desk, desk.sheet(f"{name}.csv", simple_sheet(1)))

    assert ended.status == 0, ended.err
    assert ended.json["rows"] == {"total": 1, "delivered": 1}
    assert "Prefect" not in ended.err
    assert not (tmp_path / ".callsheet" / "prefect").exists()
    assert not processes_in(tmp_path)


def test_a_run_shows_itself_on_the_server_that_is_named(
    desk: Desk, service: Sandbox, server: PrefectServer, tmp_path: Path, name: str
) -> None:
    desk.environ["PREFECT_API_URL"] = server.url
    text = "id,tool,title,script,duration_seconds\n" + "".join(
        f"r{n},,Video {n},{SCRIPT} {n},5\n" for n in range(3)
    )
    words = ("--run-budget", "60", "--at-limit", "fit", "--max-wait", "1h30m", "--select", "r*")

    ended = run(desk, desk.sheet(f"{name}.csv", text), *words)
    calls = service.calls()
    shown = Shown(server, name)
    again = run(desk, f"{name}.csv")

    assert ended.status == 0, ended.err
    assert "Prefect" not in ended.err
    # It is all there when the command ends, and nothing is left behind.
    assert (shown.run["state_type"], shown.run["state_name"]) == ("COMPLETED", "Completed")
    assert shown.run["state"]["message"] == "3 delivered"
    assert shown.run["name"].startswith(f"{name} ")
    assert not processes_in(tmp_path)
    assert not (tmp_path / ".callsheet" / "prefect").exists()
    # A run without anything to do is not shown.
    assert "nothing to do, 0 credits" in again.err
    assert Shown(server, name).run == shown.run
    # One task run a row, and one for each step.
    steps = {"read the sheet", f"plan {name}", f"quote {name}", f"report {name}"}
    tasks = {one["name"]: one["state_type"] for one in shown.found("task_runs")}
    assert tasks == dict.fromkeys({"r0", "r1", "r2", *steps}, "COMPLETED")
    artifacts = {(one["type"], one["key"]) for one in shown.found("artifacts")}
    of_run = {("table", "rows"), ("table", "plan"), ("markdown", "summary"),
              ("markdown", "plan-summary")}  # fmt: skip
    tables = {(kind, f"callsheet-{name}-{what}") for kind, what in of_run}
    assert artifacts == {*tables, ("progress", None)}
    # Its page says what was asked for, as it was typed.
    typed = {"run_budget": 60.0, "at_limit": "fit", "max_wait": "1h30m", "select": "r*"}
    assert {"approve": "yes", **typed}.items() <= shown.run["parameters"].items()
    # The automation `zombie` finds it by its tag, and waits for its heartbeats.
    assert {"callsheet", name} <= set(shown.run["tags"])
    beat = shown.heartbeat()
    assert "prefect.tag.callsheet" in {one["prefect.resource.id"] for one in beat["related"]}
    # Only ids go to Prefect: no body, no key, no signed address of the sandbox.
    dump = json.dumps([shown.run, *shown.found("task_runs"), *shown.found("artifacts"), beat])
    assert SCRIPT not in dump
    assert desk.environ["CALLSHEET_API_KEY"] not in dump
    assert "/files/" not in dump
    assert service.creates() == calls["create"]


@pytest.mark.always
def test_its_recorder_is_told_whole_seconds() -> None:
    # Prefect cuts a fraction off, and with 0 keeps a processor busy.
    shipped = tomllib.loads((ROOT / "prefect.toml").read_text())
    shipped_every = shipped["server"]["services"]["task_run_recorder"]["flush_interval"]
    every = SERVER["PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL"]

    assert int(every) >= 1
    assert int(shipped_every) >= 1


def test_the_flow_pays_for_nothing_that_is_not_approved(
    desk: Desk, service: Sandbox, server: PrefectServer, name: str
) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(1))
    before = service.creates()

    done = call_flows(TWICE, [sheet], desk=desk, server=server)
    refused, delivered, kept, rows, missing = (
        json.loads(line) for line in done.stdout.splitlines()
    )
    assert (refused["exit"], refused["asked"]) == (4, 15)
    assert delivered["rows"] == {"total": 1, "delivered": 1}
    # What a run was asked for that nobody approved moves no sheet to another campaign.
    assert kept == [4, name, 15]
    (row,) = rows
    assert row.keys() == RowResult.__required_keys__
    assert {file["kind"] for file in row["deliveries"]} == {"mp4", "srt", "vtt"}
    for file in row["deliveries"]:
        content = (desk.folder / file["uri"]).read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        assert (len(content), digest) == (file["bytes"], file["sha256"])
    assert missing == "2 0"
    assert service.creates() == before + 1


@pytest.mark.slow
def test_a_signal_parks_a_run_on_its_page_as_well(
    tmp_path: Path, server: PrefectServer, name: str
) -> None:
    with sandbox(tmp_path / "slow", "--render", "real", "--time-scale", "4") as slow:
        desk = Desk(tmp_path, {**slow.environ, "PREFECT_API_URL": server.url})
        process = desk.start("run", desk.sheet(f"{name}.csv", simple_sheet(2)), "--yes", "--json")
        wait_until(lambda: slow.creates() == 2 and Shown.is_there(server, name), 150)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=90)
    assert (process.returncode, "Traceback" in err) == (5, False), err
    assert json.loads(out)["rows"] == {"total": 2, "rendering": 2}
    assert Shown(server, name).run["state_name"] == "Parked"


@pytest.mark.slow
def test_a_large_campaign_stays_light(desk: Desk, server: PrefectServer, name: str) -> None:
    desk.environ["PREFECT_API_URL"] = server.url
    ended = run(desk, desk.sheet(f"{name}.csv", simple_sheet(450)))
    assert ended.json["rows"] == {"total": 450, "delivered": 450}, ended.err
    shown = Shown(server, name)
    assert shown.run["state_name"] == "Completed"
    tasks = shown.post("task_runs/count", shown.which)
    assert int(tasks) <= 200 + 4
    parts = {one["name"]: one["state"]["message"] for one in shown.found("task_runs")}
    assert "2 delivered" in parts["r001 to r002"]
    assert f"/artifacts/key/callsheet-{name}-rows" in parts["r001 to r002"]


class Shown:
    """What a server has to show of the one flow run of a campaign."""

    def __init__(self, server: PrefectServer, campaign: str) -> None:
        self._client = httpx.Client(base_url=server.url, timeout=60)
        self.which = {"flow_runs": {"name": {"like_": f"{campaign} "}}}
        (self.run,) = self.found("flow_runs")

    @staticmethod
    def is_there(server: PrefectServer, campaign: str) -> bool:
        """Return whether there is such a flow run by now."""
        body = {"flow_runs": {"name": {"like_": f"{campaign} "}}}
        return bool(httpx.post(f"{server.url}/flow_runs/filter", json=body, timeout=60).json())

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Return what the server answers."""
        return self._client.post(f"/{path}", json=body).raise_for_status().json()

    def found(self, what: str) -> list[dict[str, Any]]:
        """Return its task runs or artifacts."""
        return list(self.post(f"{what}/filter", self.which))

    def heartbeat(self) -> dict[str, Any]:
        """Return its last heartbeat, which takes the server a moment to keep."""
        resource = {"id": [f"prefect.flow-run.{self.run['id']}"]}
        wanted = {"event": {"name": ["prefect.flow-run.heartbeat"]}, "resource": resource}
        found: list[dict[str, Any]] = []
        wait_until(
            lambda: found.extend(self.post("events/filter", {"filter": wanted})["events"]) or found
        )
        return found[0]


def processes_in(folder: Path) -> list[str]:
    """Return the command lines of processes that work in a folder or below it."""
    left = []
    for process in psutil.process_iter(["cmdline", "cwd"]):
        if (process.info["cwd"] or "").startswith(str(folder)):
            left.append(" ".join(process.info["cmdline"] or []))
    return left
