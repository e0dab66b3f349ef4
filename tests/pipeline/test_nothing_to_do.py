"""A campaign that is finished is run again, as every night: nothing is asked, written or paid.

And no statement of any command reads a whole table that grows with the ledger; SQLite says how it
would go about each.
"""

from __future__ import annotations

import asyncio
import re
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest
from sqlalchemy import Connection

from callsheet.flows.executor import run_sheet
from callsheet.tasks.campaign.approver import Approver
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.run import Run
from callsheet.tasks.campaign.values import RunOutcome
from callsheet.tasks.ledger.campaigns import (
    Campaign,
    campaigns_from,
    ensure_campaign,
    find_campaign,
)
from callsheet.tasks.ledger.ledger import open_ledger
from callsheet.tasks.runtime.errors import Parked
from callsheet.tasks.runtime.settings import load_settings
from callsheet.tasks.values.briefs import origin_of
from tests.bench.delivered import make_delivered
from tests.leasing import acquire_lease
from tests.pipeline.nights import watching
from tests.programs import Desk, Sandbox, simple_sheet
from tests.statements import statements

pytestmark = pytest.mark.merge

NOBODY = {"CALLSHEET_BASE_URL": "http://127.0.0.1:9/api/v1", "CALLSHEET_API_KEY": "mav_nobody"}


def files(folder: Path) -> dict[str, tuple[int, int]]:
    """Return when every file was written, and how large it is; not what an open ledger needs."""
    found = (path for path in folder.rglob("*") if path.is_file())
    kept = (path for path in found if path.suffix not in (".db-wal", ".db-shm"))
    return {str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in kept}


def test_it_writes_nothing(desk: Desk, service: Sandbox, name: str) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(3))
    first = desk.run(sheet)
    before, calls = files(desk.folder), service.calls()
    again = desk.run(sheet)
    expected = {**first.json, "credits": {**first.json["credits"], "charged_this_run": 0}}
    assert (again.status, again.json) == (0, expected)
    assert files(desk.folder) == before
    assert service.calls() == calls


@pytest.mark.parametrize("lost", ["manifest.json", "status.csv"])
def test_a_report_that_is_gone_is_written_again(desk: Desk, name: str, lost: str) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(2, columns=",notes", cells=",first"))
    desk.run(sheet)
    file = desk.folder / "deliveries" / name / lost
    before = file.read_text()
    file.write_text("something else")
    assert desk.run(sheet).status == 0
    assert file.read_text().splitlines()[-1] == before.splitlines()[-1]
    # A note costs nothing, and the status sheet shows it.
    desk.sheet(sheet, simple_sheet(2, columns=",notes", cells=",second"))
    ended = desk.run(sheet)
    assert (ended.status, ended.json["credits"]["charged_this_run"]) == (0, 0)
    assert "second" in file.with_name("status.csv").read_text()


async def run_again(folder: Path, **asked: Any) -> RunOutcome:
    environ = {**NOBODY, "CALLSHEET_STORE": str(folder / "deliveries")}
    settings = load_settings(environ=environ, folder=folder)
    options = RunOptions(sheet=str(folder / "bench.csv"), **asked)
    opened: list[Run] = []
    outcome = await run_sheet(options, settings, Approver(), watch=watching(opened.append))
    assert opened[0].engine is None or not opened[0].settled
    return outcome


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    """A folder whose campaign is finished and reported."""
    make_delivered(tmp_path, 3)
    asyncio.run(run_again(tmp_path))
    return tmp_path


T = TypeVar("T")


async def change(folder: Path, what: Callable[[Connection, Campaign], T]) -> T:
    """Change the ledger of a finished campaign, as another process would."""
    async with await open_ledger(f"sqlite:///{folder}/.callsheet/ledger.db") as ledger:
        return await ledger.write(lambda c: what(c, find_campaign(c, "bench")))


@pytest.mark.safeguard(
    "tasks/campaign/lease.py", "if campaign.lease is not None or not same", "if not same"
)
def test_a_campaign_that_another_process_holds_is_left_to_it(finished: Path) -> None:
    assert asyncio.run(change(finished, partial(acquire_lease, owner="another"))) is None
    with pytest.raises(Parked, match="is being run by"):
        asyncio.run(run_again(finished, if_running="leave"))


def test_another_budget_is_taken_over(finished: Path) -> None:
    asyncio.run(run_again(finished, budget=Decimal(7_000)))
    assert asyncio.run(change(finished, lambda _, campaign: campaign.budget)) == 7_000


def test_a_run_that_nobody_approved_leaves_a_sheet_with_its_campaign(finished: Path) -> None:
    origin = origin_of(str(finished / "bench.csv"))
    about = {"sheet": "bench.csv", "sheet_digest": "0" * 64, "origin": origin, "at": time.time()}
    asyncio.run(change(finished, lambda c, _: ensure_campaign(c, "another", **about)))
    asyncio.run(run_again(finished, campaign="bench"))
    latest = asyncio.run(change(finished, lambda c, _: campaigns_from(c, origin)))
    assert [name for _, name in latest] == ["another", "bench"]


def test_its_statements_do_not_grow_with_its_rows(tmp_path: Path) -> None:
    heard = []
    for count in (100, 300):
        folder = tmp_path / str(count)
        folder.mkdir()
        make_delivered(folder, count)
        asyncio.run(run_again(folder))
        with statements() as found:
            assert asyncio.run(run_again(folder)).tally.rows == {"delivered": count}
        heard.append(set(found))
        assert [one for one in found if one.startswith(("INSERT", "UPDATE", "DELETE"))] == []
    assert heard[0] == heard[1]


GROWING = re.compile(r"SCAN (rows|takes|events|hints|hinted)\b")
#: Read from the newest on, and no further than the rows that are wanted.
ENDS_EARLY = re.compile(r"ORDER BY takes\.id DESC\s+LIMIT")
PLANNED = ("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")
RUN = "run {}.csv --yes --json --without-prefect"
EXPORTS = [f"export {{}} --what {what}" for what in
           ("rows", "takes", "events", "chargeback", "traffic")]  # fmt: skip
COMMANDS = (
    RUN, RUN, "plan {}.csv", "status", "status {} --accounts", "rows {}",
    "rows {} --state rejected --json", "explain {} r001", "verify {}", "reconcile", *EXPORTS,
    "retake {} r001 --yes --because x", "cancel {} --yes", "resolve", RUN,
)  # fmt: skip


@pytest.mark.always
def test_no_command_reads_a_whole_table(desk: Desk, name: str) -> None:
    desk.sheet(f"{name}.csv", simple_sheet(3) + "bad,product-launch,Kettle,Bad,5000,9:16\n")
    found = []
    for command in COMMANDS:
        with statements() as told:
            desk.call(*command.format(name).split())
        assert told, command
        with closing(sqlite3.connect(desk.folder / ".callsheet" / "ledger.db")) as ledger:
            for text, count in told.items():
                if text.upper().startswith(PLANNED) and not ENDS_EARLY.search(text):
                    plan = ledger.execute(f"EXPLAIN QUERY PLAN {text}", [None] * count)
                    steps = [step for *_, step in plan if GROWING.match(step)]
                    found += [f"{command}: {step}: {' '.join(text.split())}" for step in steps]
    assert not found, "\n".join(found)
