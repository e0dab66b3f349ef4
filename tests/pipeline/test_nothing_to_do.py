"""A campaign that is finished is run again, as every night: nothing is asked, written or paid."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest
from sqlalchemy import Connection, Engine, event

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
from tests.programs import CALLSHEET, Desk, Sandbox, simple_sheet

pytestmark = pytest.mark.merge

#: Kilobytes that a process may need at 10,000 rows beyond what it needs at 1,000.
MORE = 40 * 1024
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
    sheet = desk.sheet(f"{name}.csv", simple_sheet(2))
    desk.run(sheet)
    file = desk.folder / "deliveries" / name / lost
    before = file.read_text()
    file.write_text("something else")
    assert desk.run(sheet).status == 0
    assert file.read_text().splitlines()[-1] == before.splitlines()[-1]


def test_what_an_edit_changes_is_reported(desk: Desk, service: Sandbox, name: str) -> None:
    """A note costs nothing, and the status sheet shows it."""
    sheet = desk.sheet(f"{name}.csv", simple_sheet(2, columns=",notes", cells=",first"))
    desk.run(sheet)
    creates = service.calls()["create"]
    desk.sheet(sheet, simple_sheet(2, columns=",notes", cells=",second"))
    assert desk.run(sheet).status == 0
    assert "second" in (desk.folder / "deliveries" / name / "status.csv").read_text()
    assert service.calls()["create"] == creates


@contextmanager
def statements() -> Iterator[list[str]]:
    """Collect the statements of every ledger."""
    heard: list[str] = []

    def hear(_c: object, _cursor: object, statement: str, *_: object) -> None:
        heard.append(statement)

    event.listen(Engine, "before_cursor_execute", hear)
    try:
        yield heard
    finally:
        event.remove(Engine, "before_cursor_execute", hear)


async def run_again(folder: Path, **asked: Any) -> RunOutcome:
    environ = {**NOBODY, "CALLSHEET_STORE": str(folder / "deliveries")}
    settings = load_settings(environ=environ, folder=folder)
    options = RunOptions(sheet=str(folder / "bench.csv"), **asked)
    opened: list[Run] = []

    @asynccontextmanager
    async def watch(run: Run) -> AsyncIterator[None]:
        opened.append(run)
        yield

    outcome = await run_sheet(options, settings, Approver(), watch=watch)
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


def test_a_campaign_that_another_process_holds_is_left_to_it(finished: Path) -> None:
    hold = partial(acquire_lease, owner="another")
    assert asyncio.run(change(finished, hold)) is None
    with pytest.raises(Parked, match="is being run by"):
        asyncio.run(run_again(finished, if_running="leave"))


def test_another_budget_is_taken_over(finished: Path) -> None:
    asyncio.run(run_again(finished, budget=Decimal(7_000)))
    assert asyncio.run(change(finished, lambda _, campaign: campaign.budget)) == 7_000


def test_a_run_that_nobody_approved_leaves_a_sheet_with_its_campaign(finished: Path) -> None:
    origin = origin_of(str(finished / "bench.csv"))
    about = {"sheet": "bench.csv", "sheet_digest": "0" * 64, "origin": origin}

    def run_as_another(connection: Connection, _: Campaign) -> None:
        ensure_campaign(connection, "another", at=time.time(), **about)

    asyncio.run(change(finished, run_as_another))
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
        heard.append(found)
        writes = ("INSERT", "UPDATE", "DELETE")
        assert [one for one in found if one.startswith(writes)] == []
    # Where a machine is slow, what is asked now and then is asked once more.
    assert set(heard[0]) == set(heard[1])
    assert abs(len(heard[0]) - len(heard[1])) < 20


#: A small program between, since a child begins with what its parent has in memory.
PEAK = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)
print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def peak(folder: Path, *words: str) -> int:
    """Return the most that a command had in memory, in kilobytes."""
    done = subprocess.run(
        [sys.executable, "-c", PEAK, *CALLSHEET, *words],
        cwd=folder,
        env=Desk(folder, NOBODY).environment(),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    status, kilobytes = map(int, done.stdout.split())
    assert status == 0
    return kilobytes


@pytest.mark.skipif(sys.platform != "linux", reason="other systems count memory otherwise")
@pytest.mark.slow
def test_memory_is_flat(tmp_path: Path) -> None:
    peaks: dict[str, list[int]] = {}
    for count in (1_000, 10_000):
        folder = tmp_path / str(count)
        folder.mkdir()
        make_delivered(folder, count)
        for name, words in {
            "reported": ("run", "bench.csv", "--json", "--without-prefect"),
            "settled": ("run", "bench.csv", "--json", "--without-prefect"),
            "plan": ("plan", "bench.csv", "--json"),
            "check": ("check", "bench.csv", "--json"),
        }.items():
            peaks.setdefault(name, []).append(peak(folder, *words))
    grown = {name: more - less for name, (less, more) in peaks.items()}
    assert {name: kilobytes for name, kilobytes in grown.items() if kilobytes > MORE} == {}, peaks
