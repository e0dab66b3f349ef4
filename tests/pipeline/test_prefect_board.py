"""A plan approved on the board, carried out as a flow run of a deployment's work pool."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from callsheet.tasks.ledger.campaigns import find_campaign
from callsheet.tasks.ledger.values import takes_of
from tests.board.conftest import board_at
from tests.board.stage import approved, ended, plan_for
from tests.launcher import IMPORTS
from tests.prefect_servers import PrefectServer
from tests.programs import ROOT, Sandbox, simple_sheet

pytestmark = pytest.mark.prefect

DEPLOY = ["--no-prompt", "deploy", "--name", "approved-plan", "--prefect-file"]
#: Carries the flow runs that wait, and ends.
WORKER = ["worker", "start", "--pool", "callsheet", "--run-once", "--limit", "1"]


@pytest.mark.slow
async def test_what_was_approved_is_a_flow_run_where_a_deployment_is_there_for_it(
    tmp_path: Path,
    name: str,
    service: Sandbox,
    server: PrefectServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with httpx.AsyncClient(base_url=server.url, timeout=30) as client:
        # Another test may have made it.
        await client.post("/work_pools/", json={"name": "callsheet", "type": "process"})
    file = str(ROOT / "deployments" / "prefect.yaml")
    out = await _prefect(tmp_path, service, server, *DEPLOY, file)
    assert "approved plan/approved-plan" in out, out
    monkeypatch.setenv("PREFECT_API_URL", server.url)
    async with board_at(tmp_path, environ=service.environ) as board:
        plan = await plan_for(board.reviewer, f"{name}.csv", simple_sheet(2))
        run = await approved(board.approver, plan)
        place = await _place(board.viewer, run)
        assert place.startswith("prefect:")
        out = await _prefect(tmp_path, service, server, *WORKER)
        over = await ended(board.viewer, run)
        assert (over["exit"], over["words"]) == (0, None), out
        found = await board.ledger.read(find_campaign, name=name)
        takes = await board.ledger.read(takes_of, campaign_id=found.id)
    keys = [take.key for _, take in takes if take.key]
    assert sorted(service.charged(keys).values()) == [1, 1]
    async with httpx.AsyncClient(base_url=server.url, timeout=30) as client:
        flow_run = (await client.get(f"/flow_runs/{place.removeprefix('prefect:')}")).json()
    assert flow_run["state_name"] == "Completed"
    assert flow_run["parameters"] == {"run": run, "profile": None}


async def _place(who: httpx.AsyncClient, run: str) -> str:
    """Wait until somebody is to carry the run; return who."""
    async with asyncio.timeout(60):
        while True:
            found = (await who.get(f"/api/v1/runs/{run}")).json()
            if found["place"]:
                return str(found["place"])
            await asyncio.sleep(0.2)


async def _prefect(folder: Path, service: Sandbox, server: PrefectServer, *words: str) -> str:
    """Run a command of Prefect's in the folder that people work in; return what it said."""
    own = {"PREFECT_API_URL": server.url, "PREFECT_HOME": str(folder / "home"), "DO_NOT_TRACK": "1"}
    store = {"CALLSHEET_STORE": f"{folder / 'deliveries'}/"}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "prefect", *words,
        cwd=folder,
        env={**os.environ, **own, **service.environ, **store, "PYTHONPATH": IMPORTS,
             "PWD": str(folder)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        async with asyncio.timeout(180):
            out, _ = await process.communicate()
    finally:
        with suppress(ProcessLookupError):
            process.kill()
    return out.decode()
