"""Every run is a row, from whatever door: seen at work, as stopped, and as it ended.

`callsheet status` speaks of who is at work on a campaign, and of nobody who is gone.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from callsheet.tasks.engine.owner import this_process
from callsheet.tasks.ledger.campaigns import ensure_campaign
from callsheet.tasks.ledger.ledger import open_ledger
from callsheet.tasks.ledger.runs import RunRow, find_run, parts_of, runs_of
from callsheet.tasks.runtime.settings import load_settings
from tests.leasing import acquire_lease
from tests.pipeline.nights import BROKEN, Nights, videos
from tests.programs import Desk, Sandbox, kill_at_call, simple_sheet, wait_until

pytestmark = pytest.mark.merge


@pytest.fixture
def slow(service: Sandbox) -> Iterator[Sandbox]:
    """The shared sandbox, whose creates take a while."""
    service.plan_fault(on="create", do="slow", every=1, seconds=3)
    yield service
    service.clear_faults()


def runs(desk: Desk, name: str) -> list[dict[str, Any]]:
    """The runs that `status` names, the newest first."""
    found = desk.call("status", name, "--json")
    return list(found.json["runs"]) if found.status == 0 else []


async def rows(desk: Desk, name: str) -> list[RunRow]:
    """The rows of these runs, the newest first."""
    settings = load_settings(environ=desk.environment(), folder=desk.folder)
    async with await open_ledger(settings.ledger, create=False) as ledger:
        return await ledger.read(runs_of, campaign=name, limit=9)


def kinds(desk: Desk, name: str) -> list[tuple[str, int]]:
    return [(one["kind"], one["exit"]) for one in runs(desk, name)]


def test_a_killed_run_is_shown_as_stopped_until_the_next_one_notes_it(
    shared: Desk, slow: Sandbox, name: str
) -> None:
    sheet = shared.sheet(f"{name}.csv", simple_sheet(2))
    words = ("run", sheet, "--yes", "--without-prefect")
    process = shared.start(*words)
    wait_until(lambda: [one["step"] for one in runs(shared, name)] == ["producing"])
    (seen,) = runs(shared, name)
    assert (seen["door"], seen["kind"], seen["state"]) == ("terminal", "run", "running")
    assert "is making videos" in shared.call("status", name).out
    assert kill_at_call(process, slow, 1)
    (stopped,) = runs(shared, name)
    assert (stopped["state"], stopped["ended"], stopped["exit"]) == ("stopped", None, None)
    assert "stopped without reporting a result" in shared.call("status", name).out
    # Of the two that come next, one waits, and has its own row.
    both = [shared.start(*words) for _ in range(2)]
    wait_until(lambda: len(runs(shared, name)) == 3)
    wait_until(lambda: {one["step"] for one in runs(shared, name)[:2]} == {"waiting", "producing"})
    assert {one["state"] for one in runs(shared, name)[:2]} == {"waiting", "running"}
    assert "is waiting for another run" in shared.call("status", name).out
    slow.clear_faults()
    for one in both:
        one.communicate()
    *after, before = runs(shared, name)
    assert [(one["state"], one["exit"], one["words"]) for one in after] == [("ended", 0, None)] * 2
    assert (before["id"], before["state"], before["exit"]) == (stopped["id"], "stopped", None)
    assert before["words"] == "it stopped without reporting a result"
    assert "stopped" not in shared.call("status", name).out


async def test_a_refused_run_says_why_and_approved_no_plan(desk: Desk, name: str) -> None:
    refused = desk.run(desk.sheet(f"{name}.csv", simple_sheet(2)), "--budget", "5")
    (run,), (row,) = runs(desk, name), await rows(desk, name)
    assert (refused.status, run["state"], run["exit"], row.plan_id) == (4, "ended", 4, None)
    assert "nothing was spent" in run["words"]
    assert f"ended with status 4: {run['words'][:20]}" in desk.call("status", name).out


async def test_a_run_keeps_what_it_was_asked_for_without_secrets(
    desk: Desk, service: Sandbox, name: str
) -> None:
    desk.environ["CALLSHEET_DAY_BUDGET"] = "1000"
    sheet = desk.sheet(f"{name}.csv", simple_sheet(1))
    # A finished campaign gets no further row.
    for _ in range(2):
        assert desk.run(sheet, "--budget", "50").status == 0
    because = "as of https://files.example/brief?token=mav_nobody-may-see-this"
    made = desk.call("retake", name, "r001", "--because", because, "--run", "--yes")
    assert made.status == 0, made.err
    retake, run = await rows(desk, name)
    assert (retake.kind, run.kind) == ("retake", "run")
    assert (run.options["sheet"], run.options["budget"]) == (sheet, "50")
    assert retake.options["because"] == "as of https://files.example/brief?***"
    assert service.environ["CALLSHEET_API_KEY"] not in repr((retake, run))
    assert run.organisation == retake.organisation
    assert None not in (run.plan_id, retake.plan_id, run.organisation)


def test_cancelling_and_deleting_are_runs_too(desk: Desk, studio: Sandbox, name: str) -> None:
    studio.plan_fault(on="render", do="slow", every=1, seconds=30)
    desk.leave_under_way(desk.sheet(f"{name}-left.csv", simple_sheet(1)))
    assert desk.call("cancel", f"{name}-left", "--yes", "--json").status == 0
    cancelled, *left = kinds(desk, f"{name}-left")
    assert (cancelled, set(left)) == (("cancel", 0), {("run", 5)})
    studio.clear_faults()
    assert desk.run(desk.sheet(f"{name}.csv", simple_sheet(1))).status == 0
    desk.environ["CALLSHEET_KEEP_AT_SERVICE"] = "0s"
    assert desk.call("prune", name, "--yes", "--json").status == 0
    assert kinds(desk, name) == [("prune", 0), ("run", 0)]


async def test_a_night_is_a_run_with_its_sheets_as_parts(
    shared: Desk, service: Sandbox, name: str
) -> None:
    ledger = shared.environ.get("CALLSHEET_LEDGER")
    nights = Nights(shared.folder, service, name, ledger=ledger)
    nights.put("a", videos("a"))
    nights.put("broken", BROKEN)
    for _ in range(2):
        await nights.sweep()
    (sheet,) = await nights.read(runs_of, campaign=f"{name}-a", limit=9)
    night = await nights.read(find_run, run_id=sheet.parent)
    parts = await nights.read(parts_of, run_id=sheet.parent)
    assert (night.kind, night.door, night.started_by, night.exit) == (
        "night", "terminal", "spring", 2
    )  # fmt: skip
    assert (sheet.kind, sheet.door, sheet.started_by, sheet.exit) == ("run", "night", "spring", 0)
    assert parts == [sheet], "the second scan had nothing to do"


#: Who has the campaign, how long ago the lease began, and whether somebody is at work.
OWNERS = {
    "this process": (0, True),
    "a process that has ended": (0, False),
    "a process that began with the number of this one": (0, False),
    "another machine": (0, True),
    "another machine, silent since": (600, False),
}


@pytest.mark.always
@pytest.mark.parametrize("owner", OWNERS)
def test_only_who_is_at_work_is_named(desk: Desk, name: str, owner: str) -> None:
    silent, at_work = OWNERS[owner]
    host, pid, started, place = this_process().split(":")
    if owner.startswith("another"):
        host, place = "elsewhere", "there"
    if owner == "a process that has ended":
        with subprocess.Popen([sys.executable, "-c", ""]) as other:
            other.wait()
        pid = str(other.pid)
    if "began" in owner:
        started = "1"
    asyncio.run(_have(desk.folder, name, f"{host}:{pid}:{started}:{place}:1", silent))
    told = desk.call("status")
    (line,) = desk.call("status", "--json").json["campaigns"]
    assert told.status == 0
    assert (f"{name} is being run by" in told.out) is at_work
    assert (line["owner"] is not None) is at_work


async def _have(folder: Path, name: str, owner: str, silent: float) -> None:
    async with await open_ledger(f"sqlite:///{folder}/.callsheet/ledger.db") as ledger:
        about = {"sheet": "s", "sheet_digest": "d", "at": time.time()}
        campaign = await ledger.write(ensure_campaign, name=name, **about)
        await ledger.write(acquire_lease, campaign=campaign, owner=owner, seconds=60 - silent)
