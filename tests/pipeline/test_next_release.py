"""Two releases on one ledger: the next upgrades it while this one is at work, and both go on."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest

from callsheet.tasks.campaign.run import Run
from callsheet.tasks.ledger.schema import REVISION
from tests.databases import PostgresServer, postgres_server
from tests.launcher import imports_of
from tests.programs import Desk, Sandbox, sandbox, simple_sheet
from tests.releases import LATER, NEXT, Release, make_later, make_next
from tests.workers.stand import Processes, run_with

RUN = ("--yes", "--json", "--without-prefect", "--wait", "poll")
#: How long a render takes while a ledger is upgraded, in seconds.
RENDER = 6.0


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    with sandbox(tmp_path_factory.mktemp("service"), "--credits", "1000000") as running:
        yield running


@pytest.fixture(scope="module")
def next_one(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return make_next(tmp_path_factory.mktemp("next"))


@pytest.fixture(scope="module")
def later(tmp_path_factory: pytest.TempPathFactory, next_one: Release) -> Release:
    return make_later(tmp_path_factory.mktemp("later") / "release", next_one)


@pytest.fixture
def desk_on_postgres(tmp_path: Path, service: Sandbox, postgres: PostgresServer) -> Desk:
    more = {
        "CALLSHEET_LEDGER": postgres.new_database(),
        "CALLSHEET_STORE": str(tmp_path / "videos"),
    }
    return Desk(tmp_path, {**service.environ, **more})


@pytest.fixture(params=["sqlite", "postgres"])
def desk(request: pytest.FixtureRequest, tmp_path: Path, service: Sandbox) -> Desk:
    """Somebody who has this release."""
    ledger = f"sqlite:///{tmp_path}/.callsheet/ledger.db"
    if request.param == "postgres":
        ledger = request.getfixturevalue("postgres").new_database()
    more = {"CALLSHEET_LEDGER": ledger, "CALLSHEET_STORE": str(tmp_path / "videos")}
    return Desk(tmp_path, {**service.environ, **more})


def tell(desk: Desk, statement: str) -> list[Any]:
    """Have the ledger's database carry out a statement."""
    address = desk.environ["CALLSHEET_LEDGER"]
    if address.startswith("sqlite"):
        with closing(sqlite3.connect(address.removeprefix("sqlite:///"))) as database:
            found = database.execute(statement).fetchall()
            database.commit()
            return found
    with psycopg.connect(address, autocommit=True) as connection:
        cursor = connection.execute(statement)  # type: ignore[call-overload]
        return list(cursor.fetchall()) if cursor.description else []


def begun(desk: Desk, service: Sandbox, sheet: str, creates: int) -> Any:
    """Start a run whose renders are slow, and return once it has paid for so many."""
    before = service.calls().get("create", 0)
    process = desk.start("run", sheet, *RUN)
    until(service, before + creates)
    assert process.poll() is None, process.communicate()
    return process


def until(service: Sandbox, creates: int) -> None:
    """Wait until so many videos have been asked for."""
    for _ in range(600):
        if service.calls().get("create", 0) >= creates:
            return
        time.sleep(0.1)
    raise AssertionError("it pays for nothing")


def until_upgraded(desk: Desk) -> None:
    """Wait until the next release has its schema: on a busy machine it starts last."""
    for _ in range(600):
        if tell(desk, "SELECT version_num FROM callsheet_version") == [(NEXT,)]:
            return
        time.sleep(0.1)
    raise AssertionError("nothing upgrades the ledger")


def assert_each_once(desk: Desk, service: Sandbox, campaign: str, rows: int) -> None:
    found = desk.rows(campaign)
    assert [row["state"] for row in found.values()] == ["delivered"] * rows
    keys = [key for (key,) in tell(desk, "SELECT key FROM takes")]
    assert service.charged(keys) == dict.fromkeys(keys, 1)


@pytest.fixture
def slow(service: Sandbox) -> Iterator[None]:
    service.plan_fault(on="render", do="slow", every=1, seconds=RENDER)
    yield
    service.clear_faults()


def test_the_next_release_upgrades_beside_a_run_and_both_go_on(
    desk: Desk, service: Sandbox, slow: None, next_one: Release, tmp_path: Path, name: str
) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(3))
    run = begun(desk, service, sheet, 3)
    upgraded = next_one.at(desk).call("ledger", "upgrade", "--json")
    assert run.poll() is None, "the upgrade was to be done while it is at work"
    assert (upgraded.status, upgraded.json["new"]) == (0, NEXT), upgraded.err
    out, err = run.communicate(timeout=120)
    assert (run.returncode, "Traceback" not in err) == (0, True), out + err
    service.clear_faults()

    # This release goes on with what it finds.
    assert desk.call("status", "--json").status == 0
    checked = desk.call("ledger", "check", "--json")
    assert (checked.status, checked.json["schema"], checked.json["newer"]) == (0, NEXT, True)
    assert desk.call("retake", name, "r001", "--yes").status == 0
    desk.sheet(f"{name}.csv", simple_sheet(4))
    assert desk.call("plan", sheet, "--json").status == 0
    assert desk.call("run", sheet, *RUN).status == 0
    assert_each_once(desk, service, name, 4)
    said = desk.call("ledger", "upgrade")
    assert (said.status, "works with it until the next upgrade" in said.out) == (0, True)
    assert tell(desk, "SELECT count(*), min(tries) FROM takes") == [(5, 1)]

    # What it does not know is in a backup, or there is none.
    tell(desk, "INSERT INTO moods (id, word) VALUES (1, 'good')")
    on_sqlite = desk.environ["CALLSHEET_LEDGER"].startswith("sqlite")
    kept = desk.call("ledger", "backup", "kept.db")
    assert (kept.status, "does not know all" in " ".join(kept.err.split())) == (
        (0, False) if on_sqlite else (2, True)
    ), kept.err
    whole = next_one.at(desk).call("ledger", "backup", "whole.db")
    assert whole.status == 0, whole.err
    for file in ["kept.db", "whole.db"] if on_sqlite else ["whole.db"]:
        with closing(sqlite3.connect(tmp_path / file)) as database:
            assert database.execute("SELECT word FROM moods").fetchall() == [("good",)]
    restored = desk.call("ledger", "restore", "kept.db" if on_sqlite else "whole.db", "--instead")
    assert restored.status == (0 if on_sqlite else 2), restored.err
    assert tell(desk, "SELECT word FROM moods") == [("good",)]

    # And the next one finds what this one has done.
    assert next_one.at(desk).call("run", sheet, *RUN).json["rows"]["delivered"] == 4
    assert_each_once(desk, service, name, 4)


def test_what_takes_away_waits_for_runs_and_then_shuts_this_release_out(
    desk_on_postgres: Desk,
    service: Sandbox,
    slow: None,
    next_one: Release,
    later: Release,
    name: str,
) -> None:
    desk = desk_on_postgres
    assert next_one.at(desk).call("ledger", "upgrade", "--make").status == 0
    # This release begins on a ledger that is newer.
    sheet = desk.sheet(f"{name}.csv", simple_sheet(2))
    run = begun(desk, service, sheet, 2)
    # By name, or because somebody looks.
    refused = [later.at(desk).call("ledger", "upgrade"), later.at(desk).call("status")]
    assert run.poll() is None, "the upgrade was to be tried while it is at work"
    run.communicate(timeout=120)
    assert run.returncode == 0
    by_name, looking = (" ".join(one.err.split()) for one in refused)
    assert [one.status for one in refused] == [2, 2]
    assert f"a run is at work on {name}" in by_name
    assert "`callsheet ledger upgrade --anyway`" in by_name
    # No command takes the way back by itself where no copy can be kept.
    assert "older versions of Callsheet cannot use it" in looking
    assert_each_once(desk, service, name, 2)
    assert tell(desk, "SELECT version_num FROM callsheet_version") == [(NEXT,)]

    upgraded = later.at(desk).call("ledger", "upgrade", "--json")
    assert (upgraded.status, upgraded.json["new"]) == (0, LATER), upgraded.err
    ended = desk.call("run", sheet, *RUN)
    words = f"schema {LATER}, which is newer than this Callsheet knows ({REVISION})"
    assert (ended.status, words in " ".join(ended.err.split())) == (2, True), ended.err
    # The release before it goes on, as that said.
    assert next_one.at(desk).call("run", sheet, *RUN).json["rows"]["delivered"] == 2


class Mixed(Processes):
    """Workers of which the second is of the next release, and begins once the first is at work."""

    next_one: Release
    at_work_once: Callable[[], None]

    async def start(self, production: str, number: int, turn: int) -> None:
        if (2, 0) not in self.workers:
            await super().start(production, 1, 0)
            await asyncio.to_thread(self.at_work_once)
            self.workers[2, 0] = self.next_one.workers.start(
                [production, "2"],
                cwd=self.folder,
                env={**self.environ, "PYTHONPATH": imports_of(self.next_one.folder)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        await super().start(production, number, turn)


async def test_a_worker_of_the_next_release_upgrades_and_takes_up_what_another_leaves(
    desk_on_postgres: Desk, service: Sandbox, next_one: Release
) -> None:
    desk = desk_on_postgres
    # None is ready before a worker has started and upgraded, however busy the machine is.
    service.plan_fault(on="render", do="slow", every=1, seconds=5 * RENDER)
    desk.environ["CALLSHEET_LEASE"] = "5s"
    sheet = str(desk.folder / desk.sheet("distributed.csv", simple_sheet(8, title="Distributed")))
    processes = Mixed(desk.folder, desk.environment())
    processes.next_one = next_one
    before = service.calls().get("create", 0)
    processes.at_work_once = partial(until, service, before + 1)

    async def meddle(_: Run) -> None:
        await asyncio.to_thread(until, service, before + 8)
        await asyncio.to_thread(until_upgraded, desk)
        processes.signal(1, signal.SIGTERM)

    outcome = await run_with(processes, sheet, 2, meddle=meddle)

    assert outcome.exit_status == 0, outcome
    said = processes.ended()
    assert (said[1, 0] is not None, bool(said[2, 0]["rows"]["delivered"])) == (True, True), said
    assert_each_once(desk, service, "distributed", 8)
    service.clear_faults()
