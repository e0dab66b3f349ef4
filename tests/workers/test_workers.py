"""Several processes carry one campaign: every video is paid for once, whatever becomes of them."""

from __future__ import annotations

import asyncio
import json
import signal
from collections import Counter
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from callsheet.tasks.campaign.run import Run
from callsheet.tasks.ledger.accounts import AtLimit
from callsheet.tasks.ledger.schema import rows
from callsheet.tasks.ledger.schema_runs import productions
from callsheet.tasks.runtime.errors import CallsheetError
from tests.databases import PostgresServer
from tests.fixtures import sandbox_fixture
from tests.programs import Desk, Finished, Sandbox, simple_sheet
from tests.torture.distributed import Distributed
from tests.torture.stand import stand
from tests.torture.verbs import DISTRIBUTED
from tests.workers.stand import Processes, run_with

service = sandbox_fixture("--credits", "1000000")


@pytest.fixture
def desk(tmp_path: Path, service: Sandbox, postgres: PostgresServer) -> Desk:
    ledger = {"CALLSHEET_LEDGER": postgres.new_database(), "CALLSHEET_LEASE": "5s"}
    return Desk(
        tmp_path, {**service.environ, **ledger, "CALLSHEET_STORE": str(tmp_path / "videos")}
    )


@pytest.fixture
def processes(desk: Desk) -> Processes:
    return Processes(desk.folder, desk.environment())


def assert_each_once(desk: Desk, service: Sandbox, campaign: str, rows: int) -> None:
    found = desk.rows(campaign)
    assert Counter(row["state"] for row in found.values()) == {"delivered": rows}
    keys = [row["key"] for row in found.values()]
    assert service.charged(keys) == dict.fromkeys(keys, 1)


@pytest.mark.merge
@pytest.mark.parametrize(
    ("limit", "at_limit"),
    [
        ("run", "stop"),
        pytest.param("run", "fit", marks=pytest.mark.slow),
        pytest.param("campaign", "stop", marks=pytest.mark.slow),
        pytest.param("campaign", "fit", marks=pytest.mark.slow),
        ("day", "stop"),
        pytest.param("day", "fit", marks=pytest.mark.slow),
    ],
)
async def test_no_limit_is_passed_by_workers_that_stop_each_for_itself(
    desk: Desk, service: Sandbox, limit: str, at_limit: AtLimit
) -> None:
    """Of 8 videos for 15 credits each 5 fit, however many workers come to the limit at once."""
    name = f"limit-{limit}-{at_limit}"
    if limit == "day":
        desk.environ["CALLSHEET_DAY_BUDGET"] = "80"
    sheet = str(desk.folder / desk.sheet(f"{name}.csv", simple_sheet(8, title=name)))
    own = {"run": {"run_budget": Decimal(80)}, "campaign": {"budget": Decimal(80)}, "day": {}}
    processes = Processes(desk.folder, desk.environment())

    outcome = await run_with(processes, sheet, 3, at_limit=at_limit, **own[limit])

    assert outcome.exit_status == 3, outcome
    processes.ended()
    found = desk.rows(name).values()
    assert Counter(row["state"] for row in found) == {"delivered": 5, "held": 3}
    keys = [row["key"] for row in found if row["key"]]
    assert sum(service.charged(keys).values()) == 5


async def until_it_has_some(run: Run) -> None:
    """Wait until two workers have claimed rows."""
    ledger, own = run.at.ledger, run.production_id
    claims = select(func.count(rows.c.claim.distinct())).where(rows.c.claim > productions.c.free)
    query = claims.where(rows.c.campaign_id == productions.c.campaign_id, productions.c.id == own)
    while True:
        await asyncio.sleep(0.05)
        if await ledger.read(lambda connection: connection.scalar(query)) == 2:
            return


@pytest.mark.parametrize(
    "what", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.merge)]
)
async def test_what_a_worker_leaves_is_taken_up(
    desk: Desk, processes: Processes, service: Sandbox, what: signal.Signals
):
    name = f"left-{what.name.lower()}"
    sheet = str(desk.folder / desk.sheet(f"{name}.csv", simple_sheet(24)))
    service.plan_fault(on="render", do="slow", every=1, seconds=1)

    async def meddle(run: Run) -> None:
        await until_it_has_some(run)
        processes.signal(1, what)

    try:
        outcome = await run_with(processes, sheet, 2, meddle=meddle)
    finally:
        service.clear_faults()

    assert outcome.exit_status == 0, outcome
    first = processes.ended()[1, 0]
    assert (first is None) == (what == signal.SIGKILL)
    assert_each_once(desk, service, name, 24)


@pytest.mark.merge
async def test_workers_wait_for_another_run(desk: Desk, processes: Processes, service: Sandbox):
    """It asks for a Prefect server once it has rows to share out: here it never has."""
    sheet = desk.sheet("twice.csv", simple_sheet(6, title="Twice"))
    again = ("run", sheet, "--workers", "2", "--yes", "--json")
    # Until that is over no video is delivered, however long whoever waits takes to start.
    service.plan_fault(on="download", do="status", status=503)
    left: list[Finished] = []
    waiting: list[Any] = []

    async def meddle(run: Run) -> None:
        await until_it_has_some(run)
        leave = partial(desk.call, *again, "--if-running", "leave")
        left.append(await asyncio.to_thread(leave))
        waiting.append(desk.start(*again))
        said = iter(waiting[0].stderr.readline, "")
        assert await asyncio.to_thread(any, ("waiting for it" in line for line in said))
        service.clear_faults()

    try:
        outcome = await run_with(processes, str(desk.folder / sheet), 2, meddle=meddle)
    finally:
        service.clear_faults()

    assert outcome.exit_status == 0, outcome
    assert left[0].status == 5, left
    assert "campaign twice is being run by" in left[0].err
    out, err = await asyncio.to_thread(waiting[0].communicate)
    assert waiting[0].returncode == 0, err
    assert json.loads(out)["rows"] == {"total": 6, "delivered": 6}
    processes.ended()
    assert_each_once(desk, service, "twice", 6)


@pytest.mark.merge
def test_a_run_with_workers_and_without_prefect_spends_nothing(desk: Desk, service: Sandbox):
    sheet = desk.sheet("alone.csv", simple_sheet(2, title="Alone"))

    refused = desk.call("run", sheet, "--workers", "2", "--yes", "--json")

    assert refused.status == 2, refused
    assert "needs a Prefect server with Prefect workers" in refused.err
    assert {row["state"] for row in desk.rows("alone").values()} == {"planned"}
    assert not [one for one in service.charges() if "Alone" in str(one["title"])]


@pytest.mark.crashpoint("workers: the production is begun", "worker: a batch is claimed")
@pytest.mark.merge
def test_a_killed_worker_and_a_killed_run_cost_nothing_but_time(tmp_path: Path):
    with stand(tmp_path, DISTRIBUTED) as here:
        for who, point in (
            ("run", "workers: the production is begun"),
            ("worker", "worker: a batch is claimed"),
        ):
            trial = Distributed(here, who, 1, point).carry()
            assert trial.kills >= 1, (who, point)
            assert trial.findings == [], (who, point, trial.said)


async def status_of(processes: Processes, sheet: str) -> int:
    try:
        outcome = await run_with(processes, sheet, 2)
    except CallsheetError as error:
        return error.exit_status
    assert outcome.as_json()["credits"]["charged_this_run"] == 0
    return outcome.exit_status


#: What is in the service's list: a key for every video, or none that a person could go by.
LISTS = {"keys": (), "no keys": ("videos.*.idempotency_key",)}


@pytest.mark.merge
@pytest.mark.parametrize(("hidden", "ends"), [("keys", 0), ("no keys", 4)])
async def test_a_new_ledger_pays_for_nothing_that_the_lost_one_paid_for(
    desk: Desk, service: Sandbox, postgres: PostgresServer, hidden: str, ends: int
) -> None:
    name = f"lost-{ends}"
    sheet = str(desk.folder / desk.sheet(f"{name}.csv", simple_sheet(6, title=name)))
    first = await run_with(Processes(desk.folder, desk.environment()), sheet, 2)
    assert first.exit_status == 0, first
    await asyncio.sleep(1)
    lost = {"CALLSHEET_LEDGER": postgres.new_database(), "CALLSHEET_HORIZON": "1s"}
    desk.environ.update(lost, CALLSHEET_STORE=str(desk.folder / "another"))
    service.plan_fault(on="create", do="forget-key")
    service.plan_fault(on="list", do="rewrite", remove=list(LISTS[hidden]))

    try:
        processes = Processes(desk.folder, desk.environment())
        assert [await status_of(processes, sheet) for _ in range(2)] == [ends, ends]
    finally:
        service.clear_faults()
    processes.ended()
    paid = [one for one in service.charges() if one["event"] == "charge"]
    assert sum(name in str(one["title"]) for one in paid) == 6
    states = Counter(row["state"] for row in desk.rows(name).values())
    assert states == ({"delivered": 6} if ends == 0 else {"held": 6})
