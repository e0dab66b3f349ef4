"""What people do on Prefect's page of a run of the command line: it obeys, by the ledger."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.launcher import Process
from tests.pipeline.test_prefect import Shown
from tests.prefect_servers import PrefectServer
from tests.programs import Desk, Sandbox, simple_sheet, wait_until

#: The server is one for all that ask for it.
pytestmark = [pytest.mark.prefect, pytest.mark.merge]

#: What Prefect's own pages set.
CANCEL = {"type": "CANCELLING", "name": "Cancelling"}
PAUSE = {"type": "PAUSED", "name": "Suspended"}


@dataclass(frozen=True)
class Begun:
    """A run that has begun some of its twelve videos, of which none gets finished."""

    desk: Desk
    name: str
    server: PrefectServer
    process: Process

    def set_state(self, state: dict[str, str]) -> None:
        """Do what its page does."""
        shown = Shown(self.server, self.name)
        shown.post(f"flow_runs/{shown.run['id']}/set_state", {"state": state})

    def end(self) -> tuple[int, dict[str, Any], str]:
        """Wait for its end; return exit status, document and what was said."""
        out, err = self.process.communicate(timeout=120)
        assert "Traceback" not in err, err
        return self.process.returncode, json.loads(out), err


@pytest.fixture
def begun(tmp_path: Path, studio: Sandbox, server: PrefectServer, name: str) -> Iterator[Begun]:
    desk = Desk(
        tmp_path, {**studio.environ, "CALLSHEET_AT_ONCE": "1", "PREFECT_API_URL": server.url}
    )
    before = studio.creates()
    # The state is read each 5 s: there is time for that on a machine that is busy.
    studio.plan_fault(on="create", do="slow", seconds=3)
    studio.plan_fault(on="render", do="slow", seconds=600)
    process = desk.start("run", desk.sheet(f"{name}.csv", simple_sheet(12)), "--yes", "--json")
    try:
        wait_until(lambda: studio.creates() >= before + 2)
        yield Begun(desk, name, server, process)
    finally:
        process.kill()
        process.communicate()
        studio.clear_faults()


def test_cancel_begins_nothing_more_by_the_ledger(begun: Begun, studio: Sandbox) -> None:
    begun.set_state(CANCEL)
    status, document, err = begun.end()
    studio.clear_faults()

    assert (status, "cancelled on Prefect's page" in err) == (5, True)
    rows = begun.desk.rows(begun.name)
    rendering = [row for row in rows.values() if row["state"] == "rendering"]
    assert {row["state"] for row in rows.values()} == {"rendering", "cancelled"}
    assert document["rows"] == {
        "total": 12, "rendering": len(rendering), "cancelled": 12 - len(rendering)
    }  # fmt: skip
    shown = Shown(begun.server, begun.name)
    said = f"{12 - len(rendering)} rows not started will not be made"
    assert (shown.run["state_type"], shown.run["state_name"]) == ("CANCELLED", "Cancelled")
    assert said in shown.run["state"]["message"]
    tasks = {one["name"]: one["state_name"] for one in shown.found("task_runs")}
    assert {tasks[row] for row in rows} == {"Cancelled"}
    # The next run makes nothing of what was cancelled.
    again = begun.desk.run(f"{begun.name}.csv", "--max-wait", "1s")
    assert again.json["rows"] == document["rows"]


def test_suspend_parks_and_the_page_stays_as_the_person_left_it(
    begun: Begun, studio: Sandbox
) -> None:
    begun.set_state(PAUSE)
    status, document, err = begun.end()
    studio.clear_faults()

    assert (status, "parked: paused on Prefect's page" in err) == (5, True)
    assert document["rows"].keys() == {"total", "rendering", "approved"}
    shown = Shown(begun.server, begun.name)
    assert (shown.run["state_type"], shown.run["state_name"]) == ("PAUSED", "Suspended")
    # What was approved stays approved, for the run that goes on.
    states = [row["state"] for row in begun.desk.rows(begun.name).values()]
    assert states.count("approved") == document["rows"]["approved"]


@pytest.mark.safeguard(
    "deployments/prefect_page.py", 'if (await self.state()).get("type") in wanted:', "if True:"
)
def test_no_state_is_forced_over_that_of_a_person(
    desk: Desk, server: PrefectServer, service: Sandbox, name: str
) -> None:
    desk.environ["PREFECT_API_URL"] = server.url
    service.plan_fault(on="render", do="slow", seconds=10)
    process = desk.start("run", desk.sheet(f"{name}.csv", simple_sheet(1)), "--yes", "--json")
    try:
        begun = Begun(desk, name, server, process)
        wait_until(lambda: Shown.is_there(server, name))
        begun.set_state({"type": "FAILED", "name": "GivenUp"})
        status, document, err = begun.end()
    finally:
        process.kill()
        service.clear_faults()

    assert (status, document["rows"]) == (0, {"total": 1, "delivered": 1}), err
    assert Shown(server, name).run["state_name"] == "GivenUp"
