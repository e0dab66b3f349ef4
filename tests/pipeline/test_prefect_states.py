"""What a flow run ends in, seen on a real Prefect server, and what its automations do then."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from callsheet.deployments.automations.__main__ import main as load
from tests.launcher import IMPORTS
from tests.pipeline.served import ask_server, errors_in_log
from tests.prefect_servers import PrefectServer
from tests.programs import Desk, Sandbox, simple_sheet, wait_until
from tests.web import Quiet, serving

#: The server is one for all that ask for it.
pytestmark = [pytest.mark.prefect, pytest.mark.merge]

#: Makes the block that people are told by, then calls a flow for every line on stdin.
PROGRAM = """
import asyncio, json, os, re, sys, time
from prefect import tags
from prefect.blocks.notifications import CustomWebhookNotificationBlock
from callsheet.flows.plan import approve_campaign
from callsheet.flows.campaign import run_campaign
from callsheet.flows.interruption import ASK
from callsheet.flows.retake import retake_rows
from callsheet.tasks.runtime.crash_points import arm

def hold(point, of):
    # What is approved is in the ledger, and nobody has been told: for as long as it takes to hear.
    approves = re.search("function _?approve", str(of))
    if point == "ledger: after the commit" and approves and os.path.exists("hold"):
        os.rename("hold", "held")
        time.sleep(ASK + 2)

arm(hold)

async def main():
    told = {"subject": "{{subject}}", "body": "{{body}}"}
    block = CustomWebhookNotificationBlock(name="told", url=sys.argv[1], json_data=told)
    await block.save("callsheet-told", overwrite=True)
    print(flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        flow = globals()[asked.pop("flow", "run_campaign")]
        with tags("callsheet"):
            state = await flow(**asked, return_state=True)
        found = state.is_final() and await state.aresult(raise_on_failure=False)
        error = type(found).__name__ if isinstance(found, BaseException) else None
        end = {"asked": line, "type": state.type.value, "name": state.name, "words": state.message}
        print(json.dumps({**end, "error": error}), flush=True)

asyncio.run(main())
"""


@dataclass
class Caller:
    """A process that calls flows, the campaign's unless another is named, one after the other."""

    process: subprocess.Popen[str]
    desk: Desk
    client: httpx.Client
    #: What was sent to people.
    told: list[dict[str, str]]
    _asked: str = ""

    def ask(self, **parameters: Any) -> None:
        """Begin a run."""
        assert self.process.stdin is not None
        self._asked = json.dumps(parameters) + "\n"
        print(self._asked, file=self.process.stdin, end="", flush=True)

    def end(self) -> dict[str, str]:
        """Return the state that the run ended in, whatever a test before this has left."""
        assert self.process.stdout is not None
        while True:
            found = dict(json.loads(self.process.stdout.readline()))
            if found["asked"] == self._asked:
                return found

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Return what the server answers."""
        return ask_server(self.client, "POST", path, body)

    def said(self, run: str) -> str:
        """Return what the log of a flow run has by now."""
        found = self.post("/logs/filter", {"logs": {"flow_run_id": {"any_": [run]}}})
        return "\n".join(one["message"] for one in found)

    def cancel(self, campaign: str) -> None:
        """Cancel the flow run of a campaign, as its page does."""
        (found,) = self.post("/flow_runs/filter", {"flow_runs": {"name": {"like_": campaign}}})
        asked = {"state": {"type": "CANCELLING", "name": "Cancelling"}}
        self.post(f"/flow_runs/{found['id']}/set_state", asked)

    def artifacts(self, campaign: str) -> list[dict[str, Any]]:
        """Return the artifacts of a campaign's flow run, the newest first."""
        words = {"flow_runs": {"name": {"like_": campaign}}, "sort": "CREATED_DESC"}
        return list(self.post("/artifacts/filter", words))

    def begin(self, name: str, rows: int, *, hold: bool = False) -> None:
        """Begin a run of so many rows; with `hold`, until its approval is in the ledger."""
        if hold:
            (self.desk.folder / "hold").touch()
        sheet = self.desk.sheet(f"{name}.csv", simple_sheet(rows, title=name))
        self.ask(sheet=sheet, approve=True)
        if hold:
            wait_until((self.desk.folder / "held").exists)

    def ends_cancelled(self) -> str:
        """Wait until the run is cancelled; return what it says."""
        ended = self.end()
        assert (ended["type"], ended["name"]) == ("CANCELLED", "Cancelled"), ended
        return ended["words"]

    def task_runs(self, campaign: str, count: int) -> dict[str, tuple[str, str]]:
        """Return type and name of the state of so many of a campaign's task runs, by name."""
        words = {"flow_runs": {"name": {"like_": campaign}}}

        def over() -> list[dict[str, Any]]:
            found: list[dict[str, Any]] = self.post("/task_runs/filter", words)
            states = [one["state_type"] for one in found]
            return found if not {"RUNNING", "PENDING"} & set(states) else []

        wait_until(lambda: len(over()) >= count)
        return {one["name"]: (one["state_type"], one["state_name"]) for one in over()}


@pytest.fixture(scope="module")
def caller(
    tmp_path_factory: pytest.TempPathFactory, own_sandbox: Sandbox, server: PrefectServer
) -> Iterator[Caller]:
    """One process for all tests: it takes seconds to start. Every automation is loaded."""
    folder = tmp_path_factory.mktemp("states")
    desk = Desk(
        folder, {**own_sandbox.environ, "CALLSHEET_AT_ONCE": "1", "PREFECT_API_URL": server.url}
    )
    path = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "PYTHONPATH": IMPORTS}
    with _listener() as (url, told), httpx.Client(base_url=server.url, timeout=30) as client:
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, url],
            cwd=folder,
            env={**path, **desk.environ},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=(folder / "said").open("w"),
            text=True,
        )
        assert process.stdout.readline() == "\n", (folder / "said").read_text()
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PREFECT_API_URL", server.url)
            assert load(["--notify", "custom-webhook/callsheet-told"]) == 0
        yield Caller(process, desk, client, told)
        process.kill()
        process.communicate()
        automations = client.post("/automations/filter", json={}).json()
        for one in automations:
            client.delete(f"/automations/{one['id']}")


@pytest.fixture(autouse=True)
def nothing_is_held(caller: Caller) -> Iterator[None]:
    """Leave nothing to the test after."""
    yield
    for name in ("hold", "held"):
        (caller.desk.folder / name).unlink(missing_ok=True)


def test_rows_that_need_a_person_fail_the_run_and_tell_somebody(
    caller: Caller, studio: Sandbox, name: str
) -> None:
    studio.plan_fault(on="render", do="fail", nth=1)

    caller.begin(name, 2)
    ended = caller.end()
    assert (ended["type"], ended["name"]) == ("FAILED", "NeedsPerson")
    assert (ended["words"], ended["error"]) == ("1 delivered, 1 failed", "NeedsPerson")
    found = caller.task_runs(name, 6)
    states = sorted(found[row] for row in ("r001", "r002"))
    assert states == [("COMPLETED", "Completed"), ("FAILED", "Failed")]
    (progress,) = [one for one in caller.artifacts(name) if one["type"] == "progress"]
    assert progress["data"] == 50
    wait_until(lambda: bool(caller.told))
    (told,) = caller.told
    assert told["subject"].startswith(name)
    assert told["subject"].endswith("needs attention")
    assert "1 delivered, 1 failed" in told["body"]


def test_what_is_cancelled_on_the_page_begins_nothing_more_by_the_ledger(
    caller: Caller, studio: Sandbox, name: str
) -> None:
    before = studio.creates()
    # It asks Prefect how it stands each 5 s: there is time for that on a machine that is busy.
    studio.plan_fault(on="create", do="slow", seconds=3)
    studio.plan_fault(on="render", do="slow", seconds=600)

    caller.begin(name, 12)
    wait_until(lambda: studio.creates() >= before + 2)
    caller.cancel(name)
    words = caller.ends_cancelled()
    studio.clear_faults()
    rows = caller.desk.rows(name)
    begun = [row for row in rows.values() if row["state"] == "rendering"]
    assert {row["state"] for row in rows.values()} == {"rendering", "cancelled"}
    assert 2 <= len(begun) == studio.creates() - before < 12
    said = (
        f"{12 - len(begun)} rows not started will not be made; {len(begun)} videos keep rendering, "
        f"{15 * len(begun)} credits reserved: `callsheet cancel {name}` releases them"
    )
    assert said in words
    key = f"callsheet-{name}-interruption"
    told = [one["data"] for one in caller.artifacts(name) if one["key"] == key]
    assert said in told[0]
    found = caller.task_runs(name, 12 + 3)
    assert {found[row] for row in rows} == {("CANCELLED", "Cancelled")}
    (run,) = caller.post("/flow_runs/filter", {"flow_runs": {"name": {"like_": name}}})
    wait_until(lambda: "Finished in state Cancelled" in caller.said(run["id"]))
    assert errors_in_log(caller.client, run["id"]) == []
    # What it said holds: the rest is released, and the next run makes nothing of it.
    ended_by_hand = caller.desk.call("cancel", name, "--yes", "--json")
    assert ended_by_hand.json["credits"] == {"released": 15 * len(begun)}
    again = caller.desk.run(f"{name}.csv")
    assert again.json["rows"] == {"total": 12, "cancelled": 12}
    assert not studio.charged([row["key"] for row in rows.values() if row["key"]])


def test_what_is_cancelled_before_it_is_approved_is_never_begun(
    caller: Caller, studio: Sandbox, name: str
) -> None:
    before = studio.calls()
    # The price of one row is known, that of the other is not for long.
    studio.plan_fault(on="estimate", do="slow", nth=1, seconds=25)

    caller.begin(name, 2)
    wait_until(lambda: studio.calls().get("estimate", 0) > before.get("estimate", 0))
    caller.cancel(name)
    assert caller.ends_cancelled() == "cancelled on Prefect's page: no video is in progress"
    found = caller.task_runs(name, 3)
    assert sorted(found) == [f"plan {name}", f"quote {name}", "read the sheet"]
    assert found[f"quote {name}"] == ("CANCELLED", "Cancelled")
    rows = caller.desk.rows(name)
    assert {row["state"] for row in rows.values()} <= {"planned", "quoted"}
    assert studio.calls().get("create") == before.get("create")


@pytest.mark.slow
def test_what_is_cancelled_once_it_is_approved_is_not_made_later(
    caller: Caller, studio: Sandbox, name: str
) -> None:
    before = studio.creates()
    caller.begin(name, 2, hold=True)
    caller.cancel(name)
    said = "2 rows not started will not be made; no video is in progress"
    assert said in caller.ends_cancelled()
    again = caller.desk.run(f"{name}.csv")
    assert again.json["rows"] == {"total": 2, "cancelled": 2}
    assert studio.creates() == before


@pytest.mark.safeguard(
    "tasks/aftercare/cancel.py",
    'row.state == "approved" and row.row in own}',
    'row.state == "approved" and row.row in ()}',
)
@pytest.mark.slow
@pytest.mark.parametrize("flow", ["retake_rows", "approve_campaign"])
def test_what_another_flow_has_approved_goes_with_its_cancelling(
    caller: Caller, studio: Sandbox, name: str, flow: str
) -> None:
    """Nobody has heard of it yet: neither this run nor a later one makes another video.

    A row that the flow is not about stays as it is.
    """
    rows = simple_sheet(1, title=name, columns=",max_credits", cells=",50")
    other = "r002,product-launch,Cup,Cup,5,9:16,1\n" if flow == "retake_rows" else ""
    sheet = caller.desk.sheet(f"{name}.csv", rows + other)
    terms: dict[str, Any] = {"flow": flow, "campaign": name, "at_most": 15}
    if flow == "retake_rows":
        assert caller.desk.run(sheet).json["rows"] == {"total": 2, "delivered": 1, "held": 1}
        terms["select"] = "r001"
    else:
        caller.ask(sheet=sheet)
        assert caller.end()["name"] == "NotApproved"
    before = studio.creates()
    (caller.desk.folder / "hold").touch()

    caller.ask(**terms)
    wait_until((caller.desk.folder / "held").exists)
    caller.cancel(f"{flow.split('_')[0]} %{name}")
    caller.ends_cancelled()
    again = caller.desk.run(sheet)
    found = {"retake_rows": {"delivered": 1, "held": 1}, "approve_campaign": {"cancelled": 1}}
    assert again.json["rows"] == {"total": sum(found[flow].values()), **found[flow]}
    assert studio.creates() == before


@contextmanager
def _listener() -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Serve an address that people are told at; yield it, and what was told."""
    told: list[dict[str, str]] = []

    class Told(Quiet):
        def do_POST(self) -> None:
            told.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

    with serving(Told) as url:
        yield url, told
