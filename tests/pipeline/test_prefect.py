"""The same road as a Prefect flow, on a real server."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import psutil
import pytest

from callsheet import RowResult
from callsheet.deployments.servers import SERVER, PrefectServer
from tests.launcher import IMPORTS
from tests.programs import ROOT, Desk, Finished, Sandbox, simple_sheet

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

asyncio.run(twice(sys.argv[1]))
"""
SCRIPT = "The canary of the script sings"


def run(desk: Desk, sheet: str, *words: str) -> Finished:
    return desk.call("run", sheet, "--yes", "--json", *words, timeout=300)


@pytest.mark.merge
def test_a_run_brings_its_own_server_and_leaves_its_history_but_nothing_else(
    desk: Desk, service: Sandbox, tmp_path: Path, name: str
) -> None:
    text = "id,tool,title,script,duration_seconds\n" + "".join(
        f"r{n},,Video {n},{SCRIPT} {n},5\n" for n in range(3)
    )

    ended = run(desk, desk.sheet(f"{name}.csv", text))
    again = run(desk, f"{name}.csv")

    assert ended.status == 0, ended.err
    assert ended.json["rows"] == {"total": 3, "delivered": 3}
    assert again.status == 0
    # The command does not wait for a server that starts for it alone, nor does what it leaves
    # behind call the service.
    calls = service.calls()
    desk.wait_for_prefect()
    assert service.calls() == calls
    assert "nothing to do, 0 credits" in again.err
    history = tmp_path / ".callsheet" / "prefect" / "history.db"
    with sqlite3.connect(history) as database:
        flows = database.execute("SELECT name, state_type FROM flow_run").fetchall()
        tasks = database.execute("SELECT name, state_type FROM task_run").fetchall()
        said = "\n".join(words for (words,) in database.execute("SELECT message FROM log"))
        artifacts = {kind for (kind,) in database.execute("SELECT type FROM artifact")}
        dump = "\n".join(database.iterdump())
    assert [state for _, state in flows] == ["COMPLETED"]
    assert flows[0][0].startswith(name)
    # One task run a row, and one for each step: few enough that every one is recorded.
    assert {name for name, _ in tasks} >= {"r0", "r1", "r2", "read the sheet"}
    assert len(tasks) == 3 + 4
    assert {state for _, state in tasks} == {"COMPLETED"}
    assert artifacts == {"progress", "table", "markdown"}
    # What was logged last is sent before the server is ended.
    for words in ("3 videos for", "this run was charged", "Finished in state Completed()"):
        assert words in said
    # Only ids go through Prefect: no body, no key, no signed address of the sandbox.
    assert SCRIPT not in dump
    assert desk.environ["CALLSHEET_API_KEY"] not in dump
    assert "/files/" not in dump
    assert not children_left(tmp_path)


def test_its_recorder_is_told_whole_seconds() -> None:
    # Prefect cuts a fraction off, and with 0 keeps a processor busy.
    shipped = tomllib.loads((ROOT / "prefect.toml").read_text())
    shipped_every = shipped["server"]["services"]["task_run_recorder"]["flush_interval"]
    every = SERVER["PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL"]

    assert int(every) >= 1
    assert int(shipped_every) >= 1


@pytest.mark.slow
def test_a_server_that_runs_already_is_used(
    desk: Desk, server: PrefectServer, tmp_path: Path, name: str
) -> None:
    desk.environ["PREFECT_API_URL"] = server.url

    words = ("--run-budget", "60", "--at-limit", "fit", "--max-wait", "1h30m", "--select", "r*")
    ended = run(desk, desk.sheet(f"{name}.csv", simple_sheet(3)), *words)

    assert ended.status == 0, ended.err
    assert ended.json["rows"] == {"total": 3, "delivered": 3}
    # What shows the run keeps its log there, and no server of its own.
    beside = {path.name for path in (tmp_path / ".callsheet" / "prefect").iterdir()}
    assert beside == {"follower.log"}
    assert task_runs(server, name) == 3 + 4
    # Its page says what was asked for, as it was typed.
    typed = {"run_budget": 60.0, "at_limit": "fit", "max_wait": "1h30m", "select": "r*"}
    assert {"approve": "yes", **typed}.items() <= parameters(server, name).items()


def test_the_flow_pays_for_nothing_that_is_not_approved(
    desk: Desk, service: Sandbox, server: PrefectServer, name: str
) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(1))
    before = service.calls().get("create", 0)

    environ = {**desk.environ, "PREFECT_API_URL": server.url, "PYTHONPATH": IMPORTS}
    path = {"PATH": "/usr/bin:/bin", "HOME": str(desk.folder)}
    done = subprocess.run(
        [sys.executable, "-c", TWICE, sheet],
        cwd=desk.folder,
        env={**path, **environ},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )

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
    assert service.calls()["create"] == before + 1


def parameters(server: PrefectServer, campaign: str) -> dict[str, Any]:
    import httpx

    with httpx.Client(base_url=server.url) as client:
        body = {"flow_runs": {"name": {"like_": campaign}}}
        (found,) = client.post("/flow_runs/filter", json=body).json()
    return dict(found["parameters"])


def task_runs(server: PrefectServer, campaign: str) -> int:
    import httpx

    with httpx.Client(base_url=server.url) as client:
        body = {"flow_runs": {"name": {"like_": campaign}}}
        until = time.monotonic() + 60
        count = -1
        # The recorder writes in batches: the count stands when it no longer grows.
        while (now := int(client.post("/task_runs/count", json=body).json())) != count:
            assert time.monotonic() < until
            count = now
            time.sleep(1.5)
    return count


def children_left(folder: Path) -> list[str]:
    """Return the command lines of processes that still work in this folder."""
    left = []
    for process in psutil.process_iter(["cmdline", "environ"]):
        environ = process.info["environ"] or {}
        if str(folder) in environ.get("PREFECT_HOME", ""):
            left.append(" ".join(process.info["cmdline"] or []))
    return left
