"""What `prefect.yaml` says: every flow is there, and what is for a schedule is fit for one."""

from __future__ import annotations

import importlib
import inspect
import json
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from ruamel.yaml import YAML

from tests.programs import ROOT
from tests.repository import files_in

FOLDER = ROOT / "deployments"
TEXT = (FOLDER / "prefect.yaml").read_text()
DEPLOYMENTS: dict[str, Any] = {one["name"]: one for one in YAML().load(TEXT)["deployments"]}
TEMPLATES = files_in("deployments/work-pools", of="*.json")
#: What people start, what starts by itself, and what has to be there for the board.
EXPECTED = {
    "campaign", "plan", "approve", "approved-plan", "retake", "cancel", "carry-on", "reconcile",
    "nightly", "worker",
}  # fmt: skip


def test_everything_that_can_be_done_from_prefects_pages_is_there() -> None:
    assert set(DEPLOYMENTS) == EXPECTED


@pytest.mark.parametrize("name", DEPLOYMENTS)
def test_its_entry_point_is_a_flow_that_takes_what_it_is_given(name: str) -> None:
    from prefect.flows import Flow

    one = DEPLOYMENTS[name]
    module, _, attribute = one["entrypoint"].rpartition(".")
    # A file entry point would put its folder first on Python's path.
    assert module.startswith("callsheet.flows.")
    flow = getattr(importlib.import_module(module), attribute)
    assert isinstance(flow, Flow)
    given = [*one.get("triggers", ()), *one.get("schedules", ()), one]
    parameters = {word for each in given for word in each.get("parameters", {})}
    assert parameters <= set(inspect.signature(flow.fn).parameters)
    assert one["description"].endswith(".")
    assert "callsheet" in one["tags"]


@pytest.mark.parametrize("name", DEPLOYMENTS)
def test_it_runs_where_it_was_deployed_from_with_callsheets_own_packages(name: str) -> None:
    pool = DEPLOYMENTS[name]["work_pool"]
    assert pool["name"] == "callsheet"
    assert pool["job_variables"]["working_dir"] == "{{ $PWD }}"
    assert pool["job_variables"]["command"] == "{{ python.command }}"
    assert pool["job_variables"]["env"]["PYTHONSAFEPATH"] == "1"


@pytest.mark.parametrize("name", [name for name, one in DEPLOYMENTS.items() if "schedules" in one])
def test_a_schedule_has_a_time_zone_and_a_slug_and_one_run_at_a_time(name: str) -> None:
    one = DEPLOYMENTS[name]
    assert one["concurrency_limit"] == {"limit": 1, "collision_strategy": "ENQUEUE"}
    for schedule in one["schedules"]:
        assert len(schedule["cron"].split()) == 5
        assert ZoneInfo(schedule["timezone"])
        # With a slug, and no word of whether it is active, one that somebody paused stays paused
        # when this is deployed again. What may approve credits is off until somebody says when.
        assert schedule["slug"].startswith("callsheet-")
        assert schedule.get("active") is (False if name == "nightly" else None)


def test_no_block_is_named_where_prefect_deploy_would_write_it_out() -> None:
    said = "\n".join(line.partition("#")[0] for line in TEXT.splitlines())
    assert "prefect.blocks" not in said


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_a_work_pools_template_takes_what_the_deployments_say(path: Any) -> None:
    template = json.loads(path.read_text())
    variables = template["variables"]["properties"]
    assert set(template["job_configuration"]) == set(variables)
    assert variables["env"]["default"]["PYTHONSAFEPATH"] == "1"
    for one in DEPLOYMENTS.values():
        assert set(one["work_pool"]["job_variables"]) <= set(variables)
