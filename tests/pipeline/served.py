"""Flows that a process serves, as an engineer would: ours, and one of somebody's own."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import httpx

from tests.launcher import IMPORTS
from tests.prefect_servers import PrefectServer
from tests.programs import Desk

#: What somebody writes who has flows of their own.
PROGRAM = """
from prefect import flow
from prefect.runner import Runner
from prefect.states import Completed
from callsheet import NeedsPerson as NeedsPersonError
from callsheet import approve_campaign, plan_campaign, run_campaign
from callsheet.flows.interface import Approve, NeedsPerson

@flow
async def mine(sheet: str, approve: Approve = "no", needs_person: NeedsPerson | None = None):
    try:
        result = await run_campaign(sheet=sheet, approve=approve, needs_person=needs_person)
    except NeedsPersonError as error:
        return Completed(message=f"raised, {error.document['rows']}")
    spent = result["credits"]["charged_this_run"]
    return Completed(message=f"{result['rows']['total']} rows, {spent} credits, {result['exit']}")

if __name__ == "__main__":
    # As `serve` does with one flow, and with several.
    runner = Runner(name="served")
    runner.add_flow(run_campaign, name="served")
    runner.add_flow(mine, name="served")
    for one in (plan_campaign, approve_campaign):
        runner.add_deployment(one.to_deployment("served"))
    print("served", flush=True)
    import asyncio
    asyncio.run(runner.start())
"""
#: A state that a run stays in until somebody does something.
RESTING = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED", "PAUSED"}


@dataclass(frozen=True)
class Server:
    """A Prefect server, as a program of somebody's speaks to it."""

    client: httpx.Client

    def start(self, flow: str, name: str | None = None, **parameters: Any) -> str:
        """Have a run of a served flow; return its id."""
        found = self._ask("GET", f"/deployments/name/{flow}/served")
        asked: dict[str, Any] = {"parameters": parameters, "state": {"type": "SCHEDULED"}}
        if name is not None:
            asked["name"] = name
        return str(self._ask("POST", f"/deployments/{found['id']}/create_flow_run", asked)["id"])

    def rest(self, run: str, *, after: str | None = None) -> dict[str, Any]:
        """Wait until a run rests, in another state than the one of this id; return the run."""
        until = time.monotonic() + 120
        while True:
            found = dict(self._ask("GET", f"/flow_runs/{run}"))
            if found["state_type"] in RESTING and found["state_id"] != after:
                return found
            assert time.monotonic() < until, found
            time.sleep(0.3)

    def resume(self, run: str, answer: Mapping[str, Any]) -> dict[str, Any]:
        """Answer the question that a run is suspended for."""
        return dict(self._ask("POST", f"/flow_runs/{run}/resume", {"run_input": answer}))

    def retry(self, run: str) -> None:
        """Have a run begin anew, as the button of that name does."""
        again = {"state": {"type": "SCHEDULED", "name": "AwaitingRetry"}, "force": True}
        self._ask("POST", f"/flow_runs/{run}/set_state", again)

    def question(self, run: Mapping[str, Any]) -> str:
        """Return what stands above the form that a suspended run has on its page.

        Prefect says that a run is suspended before it has kept what belongs to the form.
        """
        key = run["state"]["state_details"]["run_input_keyset"]["description"]
        until = time.monotonic() + 60
        while True:
            found = self.client.get(f"/flow_runs/{run['id']}/input/{key}")
            if found.status_code != 404 or time.monotonic() > until:
                return str(found.raise_for_status().json())
            time.sleep(0.3)

    def child(self, run: str) -> dict[str, Any]:
        """Wait until a run has called another flow; return that one's run."""
        asked = {"flow_runs": {"parent_flow_run_id": {"any_": [run]}}}
        until = time.monotonic() + 120
        while not (found := self._ask("POST", "/flow_runs/filter", asked)):
            assert time.monotonic() < until
            time.sleep(0.3)
        return dict(found[0])

    def artifacts(self, run: str) -> dict[str, Any]:
        """Return what a run has published, by key."""
        asked = {"artifacts": {"flow_run_id": {"any_": [run]}}}
        found = self._ask("POST", "/artifacts/filter", asked)
        return {str(one["key"]): one["data"] for one in found}

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        return ask_server(self.client, method, path, body)


def ask_server(client: httpx.Client, method: str, path: str, body: Any = None) -> Any:
    """Return what a Prefect server answers.

    Its database is busy at times, for longer than one asks: every client of Prefect's asks again.
    """
    for _ in range(20):
        with suppress(httpx.TimeoutException):
            answer = client.request(method, path, json=body)
            if answer.status_code != 503:
                return answer.raise_for_status().json()
        time.sleep(0.5)
    raise AssertionError(f"the Prefect server does not answer {path}")


def errors_in_log(client: httpx.Client, run: str) -> list[str]:
    """Return what the log of a flow run and its task runs has as an error."""
    logs = {"flow_run_id": {"any_": [run]}, "level": {"ge_": logging.ERROR}}
    found = ask_server(client, "POST", "/logs/filter", {"logs": logs})
    return [one["message"] for one in found]


@contextmanager
def served(desk: Desk, server: PrefectServer, *, python: str = sys.executable) -> Iterator[Server]:
    """Serve the flows of the program above in the folder of a desk."""
    (desk.folder / "mine.py").write_text(PROGRAM)
    own = {
        "PREFECT_API_URL": server.url,
        "PREFECT_HOME": str(desk.folder / "home"),
        "PREFECT_RUNNER_POLL_FREQUENCY": "1",
        "PREFECT_RESULTS_PERSIST_BY_DEFAULT": "true",
        "DO_NOT_TRACK": "1",
    }
    with open(desk.folder / "served.log", "w") as log:
        process = subprocess.Popen(
            [python, "mine.py"],
            cwd=desk.folder,
            env={**desk.environment(), **own},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            with httpx.Client(base_url=server.url, timeout=30) as client:
                _wait_until_served(client, process)
                yield Server(client)
        finally:
            process.terminate()
            process.wait(60)


def _wait_until_served(client: httpx.Client, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 120
    while client.get("/deployments/name/approve/served").status_code != 200:
        assert process.poll() is None, "it does not serve"
        assert time.monotonic() < until
        time.sleep(0.2)


def call_flows(
    program: str, orders: Sequence[Any], *, desk: Desk, server: PrefectServer
) -> subprocess.CompletedProcess[str]:
    """Run a program that is given its orders as JSON; return what it said."""
    path = {"PATH": "/usr/bin:/bin", "HOME": str(desk.folder), "PYTHONPATH": IMPORTS}
    done = subprocess.run(
        [sys.executable, "-c", program, json.dumps(orders)],
        cwd=desk.folder,
        env={**path, **desk.environ, "PREFECT_API_URL": server.url},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done
