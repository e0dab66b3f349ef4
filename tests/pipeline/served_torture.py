"""More of the flow as engineers use it. Slow: not collected by default.

python -m pytest tests/pipeline/served_torture.py
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.databases import take_ledger
from tests.pipeline.served import Server, served
from tests.prefect_servers import PrefectServer
from tests.programs import ROOT, Desk, Sandbox, simple_sheet

#: Starts a run on a work pool and waits for it, as a flow of somebody's own would; its result.
STARTER = """
import asyncio, json, sys
from prefect import flow
from prefect.deployments import run_deployment

@flow
async def starter(sheet: str):
    wanted = {"sheet": sheet, "approve": True, "max_wait": "5m"}
    run = await run_deployment("campaign/campaign", parameters=wanted, timeout=150)
    return await run.state.aresult()

print(json.dumps(asyncio.run(starter(sys.argv[1]))))
"""


@pytest.fixture
def page(desk: Desk, server: PrefectServer) -> Iterator[Server]:
    desk.environ |= {"CALLSHEET_AT_ONCE": "1"}
    with served(desk, server) as page:
        yield page


def test_what_a_run_has_priced_is_approved_without_its_sheet(
    desk: Desk, page: Server, service: Sandbox, name: str
) -> None:
    before = service.calls().get("create", 0)
    take_ledger(desk.folder)
    sheet = desk.sheet(f"{name}.csv", simple_sheet(2, title=name))
    planned = page.rest(page.start("plan", sheet=sheet, budget=20))
    assert planned["state_name"] == "Completed", planned["state"]
    assert "2 videos for 30 credits" in planned["state"]["message"]
    assert "10 too many" in planned["state"]["message"]
    # A plan writes nothing, not even an empty ledger.
    assert not (desk.folder / ".callsheet" / "ledger.db").exists()
    page.rest(page.start("campaign", sheet=sheet))
    (desk.folder / sheet).unlink()

    dear = page.rest(page.start("approve", campaign=name, at_most=29))
    done = page.rest(page.start("approve", campaign=name, at_most=30, note="as agreed"))
    again = page.rest(page.start("approve", campaign=name, at_most=30))

    ends = [run["state_name"] for run in (dear, done, again)]
    assert ends == ["NotApproved", "Completed", "Completed"], done["state"]
    assert service.calls()["create"] == before + 2
    assert "approve: as agreed" in desk.call("explain", name, "r001").out


@pytest.mark.parametrize(
    ("ends", "words"),
    [("failed", "raised, {'total': 1, 'held': 1}"), ("completed", "1 rows, 0 credits, 3")],
)
def test_a_flow_that_calls_it_hears_of_rows_that_need_a_person_as_it_asked(
    ends: str, words: str, desk: Desk, page: Server, name: str
) -> None:
    # A row that costs more than its sheet allows is for a person.
    dear = simple_sheet(1, title=name, columns=",max_credits", cells=",1")
    sheet = desk.sheet(f"{name}.csv", dear)

    run = page.rest(page.start("mine", sheet=sheet, approve="yes", needs_person=ends))

    assert run["state"]["message"] == words


def test_a_run_that_another_flow_called_waits_for_its_answer_in_its_process(
    desk: Desk, page: Server, name: str
) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(1, title=name))

    parent = page.start("mine", sheet=sheet, approve="ask")
    asked = page.rest(page.child(parent)["id"])
    assert asked["state_name"] == "Paused", asked["state"]
    assert page.resume(asked["id"], {"approve": "yes"})["status"] == "ACCEPT"

    assert page.rest(parent)["state"]["message"] == "1 rows, 15 credits, 0"


def test_a_no_on_the_page_ends_a_run_and_spends_nothing(
    desk: Desk, page: Server, service: Sandbox, name: str
) -> None:
    before = service.calls().get("create", 0)
    sheet = desk.sheet(f"{name}.csv", simple_sheet(1, title=name))
    asked = page.rest(page.start("campaign", sheet=sheet, approve="ask"))

    assert page.resume(asked["id"], {"approve": "no", "note": "too dear"})["status"] == "ACCEPT"
    over = page.rest(asked["id"], after=asked["state_id"])

    assert over["state_name"] == "NotApproved"
    assert "not approved: too dear" in over["state"]["message"]
    assert service.calls().get("create", 0) == before


def test_an_approved_run_that_begins_anew_keeps_the_budget_of_its_approval(
    desk: Desk, page: Server, service: Sandbox, name: str
) -> None:
    before = service.balance()
    sheet = desk.sheet(f"{name}.csv", simple_sheet(2, title=name))
    asked = page.rest(page.start("campaign", sheet=sheet, approve="ask", budget=20, max_wait="5s"))
    # The first create is told to come later, and the run parks before either is begun.
    service.plan_fault(on="create", nth=1, do="limited", retry_after=6)
    assert page.resume(asked["id"], {"approve": "yes", "budget": 30})["status"] == "ACCEPT"
    parked = page.rest(asked["id"], after=asked["state_id"])
    assert parked["state_name"] == "Parked", parked["state"]
    page.retry(asked["id"])

    over = page.rest(asked["id"], after=parked["state_id"])

    assert over["state_name"] == "Completed", over["state"]
    assert service.balance() == before - 30
    assert desk.call("status", name, "--json").json["credits"]["charged"] == 30


def test_a_run_on_a_work_pool_is_started_by_another_flow_which_reads_its_result(
    desk: Desk, server: PrefectServer, tmp_path: Path, name: str
) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(1, title=name))
    own = {"PREFECT_API_URL": server.url, "PREFECT_HOME": str(tmp_path / "home")}
    own |= {"PREFECT_RESULTS_PERSIST_BY_DEFAULT": "true", "DO_NOT_TRACK": "1"}
    own |= {"PREFECT_WORKER_QUERY_SECONDS": "1", "PWD": str(tmp_path)}
    environ = {**desk.environment(), **own}
    prefect = [sys.executable, "-m", "prefect"]

    def call(*words: str) -> str:
        done = subprocess.run(
            words, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    with httpx.Client(base_url=server.url, timeout=30) as client:
        # Another test may have made it.
        client.post("/work_pools/", json={"name": "callsheet", "type": "process"})
    file = str(ROOT / "deployments" / "prefect.yaml")
    call(*prefect, "--no-prompt", "deploy", "--name", "campaign", "--prefect-file", file)
    with open(tmp_path / "worker.log", "w") as log:
        worker = subprocess.Popen(
            [*prefect, "worker", "start", "--pool", "callsheet"],
            cwd=tmp_path, env=environ, stdout=log, stderr=log,
        )  # fmt: skip
    try:
        result = json.loads(call(sys.executable, "-c", STARTER, sheet).splitlines()[-1])
    finally:
        worker.terminate()
        worker.wait(60)

    assert (result["campaign"], result["exit"]) == (name, 0)
    assert result["rows"] == {"total": 1, "delivered": 1}
    assert result["credits"]["charged_this_run"] == 15
