"""Every run is a row, from whatever door: seen at work, as stopped, and as it ended."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
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
from tests.programs import Desk, Sandbox, kill_at_call, simple_sheet

LIMIT = 60.0


Run = dict[str, Any]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.merge)])
def shared(request: pytest.FixtureRequest, desk: Desk) -> Desk:
    """A desk whose ledger is on either database."""
    if request.param == "postgres":
        desk.environ["CALLSHEET_LEDGER"] = request.getfixturevalue("postgres").new_database()
    return desk


@pytest.fixture
def slow(service: Sandbox) -> Iterator[Sandbox]:
    """The shared sandbox, whose creates take a while."""
    service.plan_fault(on="create", do="slow", every=1, seconds=3)
    yield service
    service.clear_faults()


def runs(desk: Desk, name: str) -> list[Run]:
    """The runs that `status` names, the newest first."""
    found = desk.call("status", name, "--json")
    return list(found.json["runs"]) if found.status == 0 else []


async def rows(desk: Desk, name: str) -> list[RunRow]:
    """The rows of these runs, the newest first."""
    settings = load_settings(environ=desk.environment(), folder=desk.folder)
    async with await open_ledger(settings.ledger, create=False) as ledger:
        return await ledger.read(runs_of, campaign=name, limit=9)


def until(holds: Callable[[], bool]) -> None:
    limit = time.monotonic() + LIMIT
    while not holds():
        assert time.monotonic() < limit
        time.sleep(0.1)


@pytest.mark.merge
def test_a_killed_run_is_shown_as_stopped_until_the_next_one_notes_it(
    shared: Desk, slow: Sandbox, name: str
) -> None:
    sheet = shared.sheet(f"{name}.csv", simple_sheet(2))
    process = shared.start("run", sheet, "--yes", "--without-prefect")
    until(lambda: [one["step"] for one in runs(shared, name)] == ["producing"])
    (seen,) = runs(shared, name)
    assert (seen["door"], seen["kind"], seen["state"]) == ("terminal", "run", "running")
    assert "is making videos" in shared.call("status", name).out

    assert kill_at_call(process, slow, 1)

    (stopped,) = runs(shared, name)
    assert (stopped["state"], stopped["ended"], stopped["exit"]) == ("stopped", None, None)
    assert "stopped without reporting a result" in shared.call("status", name).out

    slow.clear_faults()
    assert shared.run(sheet).status == 0
    last, before = runs(shared, name)
    assert (last["state"], last["exit"], last["words"]) == ("ended", 0, None)
    assert (before["id"], before["state"], before["exit"]) == (stopped["id"], "stopped", None)
    assert before["words"] == "it stopped without reporting a result"
    assert "stopped" not in shared.call("status", name).out


@pytest.mark.merge
def test_a_second_run_waits_and_has_its_own_row(shared: Desk, slow: Sandbox, name: str) -> None:
    sheet = shared.sheet(f"{name}.csv", simple_sheet(2))
    words = ("run", sheet, "--yes", "--without-prefect")
    first = shared.start(*words)
    until(lambda: [one["step"] for one in runs(shared, name)] == ["producing"])
    second = shared.start(*words)
    until(lambda: len(runs(shared, name)) == 2)

    waits, works = runs(shared, name)
    assert (waits["state"], waits["step"]) == ("waiting", "waiting")
    assert (works["state"], works["step"]) == ("running", "producing")
    assert "is waiting for another run" in shared.call("status", name).out

    slow.clear_faults()
    for process in (first, second):
        process.communicate()
    assert [one["exit"] for one in runs(shared, name)] == [0, 0]


@pytest.mark.merge
async def test_a_refused_run_says_why_and_approved_no_plan(desk: Desk, name: str) -> None:
    refused = desk.run(desk.sheet(f"{name}.csv", simple_sheet(2)), "--budget", "5")

    assert refused.status == 4
    (run,) = runs(desk, name)
    assert (run["state"], run["exit"]) == ("ended", 4)
    assert "nothing was spent" in run["words"]
    assert f"ended with status 4: {run['words'][:20]}" in desk.call("status", name).out
    (row,) = await rows(desk, name)
    assert row.plan_id is None


@pytest.mark.merge
async def test_a_run_keeps_what_it_was_asked_for_without_secrets(
    desk: Desk, service: Sandbox, name: str
) -> None:
    desk.environ["CALLSHEET_DAY_BUDGET"] = "1000"
    sheet = desk.sheet(f"{name}.csv", simple_sheet(1))
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


@pytest.mark.merge
def test_a_finished_campaign_gets_no_further_row(desk: Desk, name: str) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(1))
    assert desk.run(sheet).status == 0
    before = runs(desk, name)

    assert desk.run(sheet).status == 0

    assert runs(desk, name) == before


@pytest.mark.merge
def test_cancelling_and_deleting_are_runs_too(desk: Desk, slow: Sandbox, name: str) -> None:
    left = desk.sheet(f"{name}-left.csv", simple_sheet(1))
    slow.clear_faults()
    slow.plan_fault(on="render", do="slow", every=1, seconds=30)
    desk.leave_under_way(left)
    cancelled = desk.call("cancel", f"{name}-left", "--yes", "--json")
    assert cancelled.status == 0, cancelled.err
    kinds = [(one["kind"], one["exit"]) for one in runs(desk, f"{name}-left")]
    assert kinds[0] == ("cancel", 0)
    assert set(kinds[1:]) == {("run", 5)}

    slow.clear_faults()
    sheet = desk.sheet(f"{name}.csv", simple_sheet(1))
    assert desk.run(sheet).status == 0
    desk.environ["CALLSHEET_KEEP_AT_SERVICE"] = "0s"
    pruned = desk.call("prune", name, "--yes", "--json")
    assert pruned.status == 0, pruned.err

    assert [(one["kind"], one["exit"]) for one in runs(desk, name)] == [("prune", 0), ("run", 0)]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.merge)])
def nights(request: pytest.FixtureRequest, tmp_path: Path, service: Sandbox, name: str) -> Nights:
    ledger = None
    if request.param == "postgres":
        ledger = str(request.getfixturevalue("postgres").new_database())
    return Nights(tmp_path, service, name, ledger=ledger)


@pytest.mark.merge
async def test_a_night_is_a_run_with_its_sheets_as_parts(nights: Nights) -> None:
    nights.put("a", videos("a"))
    nights.put("broken", BROKEN)
    await nights.sweep()
    await nights.sweep()

    async with await open_ledger(nights.settings.ledger, create=False) as ledger:
        (sheet,) = await ledger.read(runs_of, campaign=f"{nights.name}-a", limit=9)
        assert sheet.parent is not None
        night = await ledger.read(find_run, run_id=sheet.parent)
        parts = await ledger.read(parts_of, run_id=sheet.parent)
    assert (night.kind, night.door, night.started_by) == ("night", "terminal", "spring")
    assert night.exit == 2
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


@pytest.mark.parametrize("owner", OWNERS)
def test_only_who_is_at_work_is_named(desk: Desk, name: str, owner: str) -> None:
    silent, at_work = OWNERS[owner]
    asyncio.run(_have(desk, name, _owner(owner), silent))

    told = desk.call("status")
    (line,) = desk.call("status", "--json").json["campaigns"]

    assert told.status == 0
    assert (f"{name} is being run by" in told.out) is at_work
    assert (line["owner"] is not None) is at_work


def _owner(who: str) -> str:
    host, pid, started, place = this_process().split(":")
    if who.startswith("another"):
        return f"elsewhere:{pid}:{started}:there:1"
    if who == "a process that has ended":
        with subprocess.Popen([sys.executable, "-c", ""]) as other:
            other.wait()
        pid = str(other.pid)
    if "began" in who:
        started = "1"
    assert pid != str(os.getpid()) or "ended" not in who
    return f"{host}:{pid}:{started}:{place}:1"


async def _have(desk: Desk, name: str, owner: str, silent: float) -> None:
    async with await open_ledger(f"sqlite:///{desk.folder}/.callsheet/ledger.db") as ledger:
        campaign = await ledger.write(
            ensure_campaign, name=name, sheet="s", sheet_digest="d", at=time.time()
        )
        await ledger.write(acquire_lease, campaign=campaign, owner=owner, seconds=60 - silent)
