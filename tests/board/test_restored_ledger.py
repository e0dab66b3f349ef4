"""A board on a ledger that was restored: what is paid for is not paid again.

The service has forgotten all keys: a second create under the same key is a second charge.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.board.conftest import board_at, forked_run
from tests.board.stage import API, Kind, approved, approved_plan, ended, made, plan_for
from tests.fixtures import sandbox_fixture
from tests.programs import Sandbox, simple_sheet

#: What the service's list says past the horizon, and how a run ends that found it so.
LISTS: Mapping[str, tuple[list[str], int]] = {
    "with keys": ([], 0),
    "without keys": (["videos.*.idempotency_key"], 3),
}

sandbox = sandbox_fixture("--render", "instant", "--time-scale", "60")


@pytest.fixture
def service(sandbox: Sandbox) -> Iterator[Sandbox]:
    sandbox.plan_fault(on="create", do="forget-key")
    yield sandbox
    sandbox.clear_faults()


async def lose(folder: Path, backup: Path) -> None:
    """Put the backup in the ledger's place, a second later, and empty the store."""
    await asyncio.sleep(1)
    home = folder / ".callsheet"
    for file in home.glob("ledger.db*"):
        file.unlink()
    shutil.copy(backup, home / "ledger.db")
    shutil.rmtree(folder / "deliveries", ignore_errors=True)


@pytest.mark.parametrize(
    ("kind", "listed"),
    [
        ("sheet", "with keys"),
        ("retake", "without keys"),
        pytest.param("retake", "with keys", marks=pytest.mark.slow),
        pytest.param("sheet", "without keys", marks=pytest.mark.slow),
    ],
)
async def test_a_run_that_the_board_starts_again(
    tmp_path: Path, service: Sandbox, kind: Kind, listed: str
) -> None:
    """The backup was made while the run waited for its process, or before its first request."""
    hidden, status = LISTS[listed]
    name, environ = f"c-{abs(hash(str(tmp_path))):x}", dict(service.environ)
    run = await approved_plan(tmp_path, environ, name, kind=kind)
    home, backup = tmp_path / ".callsheet", tmp_path / "backup.db"
    shutil.copy(home / "ledger.db", backup)
    async with board_at(tmp_path, environ=environ, begin=forked_run) as board:
        assert (await ended(board.admin, run))["exit"] == 0
    charged = len(service.bought())
    # Past the horizon, the backup is in the ledger's place, and the store is gone.
    await lose(tmp_path, backup)
    environ["CALLSHEET_HORIZON"] = "1s"
    service.plan_fault(on="list", do="rewrite", remove=hidden)

    async with board_at(tmp_path, environ=environ, begin=forked_run) as board:
        over = await ended(board.admin, run)
        assert over["exit"] == status, over
        rows = (await board.admin.get(f"{API}/campaigns/{name}/rows")).json()["rows"]

    assert len(service.bought()) == charged
    # Of a campaign that was there before, one row was to be made again.
    found = {"held"} if kind == "sheet" else {"held", "delivered"}
    assert {row["state"] for row in rows} == ({"delivered"} if status == 0 else found)


SLOW = pytest.param("with keys", marks=pytest.mark.slow)


@pytest.mark.parametrize("listed", [SLOW, "without keys"])
async def test_a_plan_of_the_same_sheet_on_an_older_ledger(
    tmp_path: Path, service: Sandbox, listed: str
) -> None:
    hidden, status = LISTS[listed]
    name, environ = f"c-{abs(hash(str(tmp_path))):x}", dict(service.environ)
    sheet = f"{name}.csv", simple_sheet(2, title=name)
    async with board_at(tmp_path, environ=environ):
        pass
    shutil.copy(tmp_path / ".callsheet" / "ledger.db", tmp_path / "backup.db")
    async with board_at(tmp_path, environ=environ, begin=forked_run) as board:
        assert (await made(board, *sheet))["ended"]["exit"] == 0
    charged = len(service.bought())
    await lose(tmp_path, tmp_path / "backup.db")
    environ["CALLSHEET_HORIZON"] = "1s"
    service.plan_fault(on="list", do="rewrite", remove=hidden)

    async with board_at(tmp_path, environ=environ, begin=forked_run) as board:
        plan = await plan_for(board.admin, *sheet)
        over = await ended(board.admin, await approved(board.admin, plan))
        assert over["exit"] == status, over
        again = await plan_for(board.admin, *sheet)
        rows = (await board.admin.get(f"{API}/campaigns/{name}/rows")).json()["rows"]

    assert len(service.bought()) == charged
    assert {row["state"] for row in rows} == ({"delivered"} if status == 0 else {"held"})
    assert again["total"] == 0
    if status:
        assert {row["action"] for row in again["rows"]} == {"person"}
        assert "the service lists vid_" in again["rows"][0]["why"]
