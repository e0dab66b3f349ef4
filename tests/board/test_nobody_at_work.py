"""A typed run that was killed leaves rows under way: every door says so, and the board resumes."""

from __future__ import annotations

import asyncio
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from callsheet.tasks.ledger.values import UNDER_WAY
from tests.board.conftest import OpenBoard, board_at, forked_run
from tests.board.stage import API, LIMIT
from tests.databases import PostgresServer, postgres_server
from tests.programs import Desk, Sandbox, sandbox, simple_sheet

ROWS = 3
SAID = f"{ROWS} rows under way, nobody is at work"


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with postgres_server() as running:
        yield running


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[Sandbox]:
    """A sandbox whose answers and videos take a few seconds."""
    with sandbox(tmp_path / "slow") as running:
        running.plan_fault(on="create", do="slow", every=1, seconds=2)
        running.plan_fault(on="render", do="slow", every=1, seconds=4)
        yield running


def words_of(page: httpx.Response) -> str:
    """Return what a page says, without its elements."""
    assert page.status_code == 200, page.text
    return " ".join(re.sub("<[^>]+>", " ", page.text).split())


@pytest.mark.safeguard(
    "tasks/aftercare/resume.py",
    'or (approved and row.state == "approved"',
    'or (row.state == "approved"',
)
@pytest.mark.merge
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_rows_that_a_killed_run_left_are_told_of_everywhere_and_resumed_by_the_board(
    tmp_path: Path, slow: Sandbox, server: PostgresServer, kind: str
) -> None:
    environ = {**slow.environ, "CALLSHEET_AT_ONCE": str(ROWS)}
    if kind == "postgres":
        environ["CALLSHEET_LEDGER"] = server.new_database()
    desk = Desk(tmp_path, environ)
    await asyncio.to_thread(_kill_a_run, desk, slow)

    told = await asyncio.to_thread(desk.call, "status")
    assert f"left: {SAID}; `callsheet run left.csv` resumes them" in " ".join(told.out.split())
    assert "no run is active" in told.out
    (line,) = (await asyncio.to_thread(desk.call, "status", "--json")).json["campaigns"]
    assert (line["owner"], line["left_under_way"]) == (None, ROWS)
    checked = await asyncio.to_thread(desk.call, "doctor", "--json")
    (found,) = [one for one in checked.json["findings"] if one["part"] == "runs"]
    assert (found["verdict"], found["words"]) == ("note", f"left: {SAID}")
    assert "`callsheet run left.csv` resumes them" in found["remedy"]

    async with board_at(tmp_path, environ=environ, begin=forked_run) as board:
        await _resume(board)
    assert sum(one["event"] == "charge" for one in slow.charges()) == ROWS


@pytest.mark.merge
def test_what_resumes_rows_can_be_typed_though_their_sheet_was_renamed(
    tmp_path: Path, slow: Sandbox
) -> None:
    desk = Desk(tmp_path, {**slow.environ, "CALLSHEET_AT_ONCE": str(ROWS)})
    _kill_a_run(desk, slow, folder=tmp_path)
    (tmp_path / "left.csv").rename(tmp_path / "renamed.csv")
    told = " ".join(desk.call("status").out.split())
    said = "`callsheet run SHEET --campaign left` resumes them, with the sheet that was"
    assert f"{said} {tmp_path / 'left.csv'}, which is not there" in told
    assert desk.run("renamed.csv", "--campaign", "left").status == 0
    assert sum(one["event"] == "charge" for one in slow.charges()) == ROWS + 1


def _kill_a_run(desk: Desk, service: Sandbox, *, folder: Path = Path()) -> None:
    """Run a sheet and kill the run once it has asked for all its videos but one."""
    sheet = str(folder / desk.sheet("left.csv", simple_sheet(ROWS + 1)))
    process = desk.start("run", sheet, "--yes", "--without-prefect")
    until = time.monotonic() + LIMIT
    while service.calls().get("create", 0) < ROWS:
        assert time.monotonic() < until
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.communicate()


async def _resume(board: OpenBoard) -> None:
    """See on every page that no one is at work, press Resume, and wait for the videos."""
    ann = await board.form("approver")
    until = time.monotonic() + LIMIT
    while SAID not in (said := words_of(await ann.get("/health"))):
        # Parts are checked in the background, and are not called well before that.
        assert "All is well" not in said
        assert time.monotonic() < until, said
    for words in (said, words_of(await ann.get("/c/left"))):
        assert SAID in words, words
        assert "callsheet run left.csv" in words
        assert "Resume" in words
    health = (await board.viewer.get(f"{API}/health")).json()
    assert [one["state"] for one in health["parts"] if one["name"] == "runs"] == ["trouble"]
    looking = await board.form("viewer")
    assert "/c/left/resume" not in (await looking.get("/c/left")).text
    assert (await board.viewer.post(f"{API}/campaigns/left/carry-on")).status_code == 403

    assert SAID not in words_of(await ann.post("/c/left/resume"))
    until = time.monotonic() + LIMIT
    while UNDER_WAY & (rows := await _counts(board)).keys():
        assert time.monotonic() < until, rows
        await asyncio.sleep(0.2)
    # What was approved and not sent yet is left to a run that somebody starts.
    assert rows == {"total": ROWS + 1, "delivered": ROWS, "approved": 1}
    again = await board.admin.post(f"{API}/campaigns/left/carry-on")
    assert (again.status_code, again.json()["detail"]) == (
        409, "no row of left is under way without a run"
    )  # fmt: skip


async def _counts(board: OpenBoard) -> dict[str, int]:
    return dict((await board.viewer.get(f"{API}/campaigns/left")).json()["rows"])
