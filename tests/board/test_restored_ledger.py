"""A board on a ledger that was restored or lost: what is paid for is not paid again.

The service has forgotten all keys: a second create under the same key is a second charge.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.board.conftest import OpenBoard, board_at, forked_run
from tests.board.stage import API, Kind, approved, approved_plan, ended, made, plan_for
from tests.fixtures import sandbox_fixture
from tests.programs import Sandbox, simple_sheet

#: What the service's list says past the horizon, and how a run ends that found it so.
LISTS: Mapping[str, tuple[list[str], int]] = {
    "with keys": ([], 0),
    "without keys": (["videos.*.idempotency_key"], 3),
}


class Studio:
    """A folder with a ledger that gets lost, and a service that forgets every key."""

    def __init__(self, folder: Path, service: Sandbox, name: str) -> None:
        self.folder, self.service, self.name = folder, service, name
        self.sheet = f"{name}.csv", simple_sheet(2, title=name)
        self.environ = dict(service.environ)
        service.plan_fault(on="create", do="forget-key")

    @property
    def ledger(self) -> Path:
        return self.folder / ".callsheet" / "ledger.db"

    def keep(self) -> None:
        """Make a backup, of a ledger that nobody has open."""
        shutil.copy(self.ledger, self.folder / "backup.db")

    async def lose(self, hidden: list[str]) -> None:
        """Have the backup in the ledger's place, past the horizon."""
        await asyncio.sleep(1)
        self.environ["CALLSHEET_HORIZON"] = "1s"
        self.service.plan_fault(on="list", do="rewrite", remove=hidden)
        for file in self.ledger.parent.glob("ledger.db*"):
            file.unlink()
        shutil.copy(self.folder / "backup.db", self.ledger)
        shutil.rmtree(self.folder / "deliveries", ignore_errors=True)

    @asynccontextmanager
    async def board(self) -> AsyncIterator[OpenBoard]:
        async with board_at(self.folder, environ=self.environ, begin=forked_run) as opened:
            yield opened

    def charges(self) -> int:
        return sum(
            one["event"] == "charge" and self.name in str(one["title"])
            for one in self.service.charges()
        )


service = sandbox_fixture("--render", "instant", "--time-scale", "60")


@pytest.fixture
def studio(tmp_path: Path, service: Sandbox) -> Iterator[Studio]:
    yield Studio(tmp_path, service, f"c-{abs(hash(str(tmp_path))):x}")
    service.clear_faults()


async def rows_of(board: OpenBoard, campaign: str) -> set[str]:
    found = (await board.admin.get(f"{API}/campaigns/{campaign}/rows")).json()
    return {row["state"] for row in found["rows"]}


SLOW = pytest.param("with keys", marks=pytest.mark.slow)


@pytest.mark.parametrize("listed", [SLOW, "without keys"])
async def test_a_plan_of_the_same_sheet_on_an_older_ledger(studio: Studio, listed: str) -> None:
    hidden, status = LISTS[listed]
    async with studio.board():
        pass
    studio.keep()
    async with studio.board() as board:
        assert (await made(board, *studio.sheet))["ended"]["exit"] == 0
    assert studio.charges() == 2
    await studio.lose(hidden)

    async with studio.board() as board:
        plan = await plan_for(board.admin, *studio.sheet)
        over = await ended(board.admin, await approved(board.admin, plan))
        assert over["exit"] == status, over
        again = await plan_for(board.admin, *studio.sheet)
        states = await rows_of(board, studio.name)

    assert studio.charges() == 2
    assert states == ({"delivered"} if status == 0 else {"held"})
    assert again["total"] == 0
    if status:
        assert {row["action"] for row in again["rows"]} == {"person"}
        assert "the service lists vid_" in again["rows"][0]["why"]


@pytest.mark.parametrize(
    ("kind", "listed"),
    [
        ("sheet", "with keys"),
        ("retake", "without keys"),
        pytest.param("retake", "with keys", marks=pytest.mark.slow),
        pytest.param("sheet", "without keys", marks=pytest.mark.slow),
    ],
)
async def test_a_run_that_the_board_starts_again(studio: Studio, kind: Kind, listed: str) -> None:
    """The backup was made while the run waited for its process, or before its first request."""
    hidden, status = LISTS[listed]
    run = await approved_plan(studio.folder, studio.environ, studio.name, kind=kind)
    studio.keep()
    async with studio.board() as board:
        assert (await ended(board.admin, run))["exit"] == 0
    charged = studio.charges()
    await studio.lose(hidden)

    async with studio.board() as board:
        over = await ended(board.admin, run)
        assert over["exit"] == status, over
        states = await rows_of(board, studio.name)

    assert studio.charges() == charged
    # Of a campaign that was there before, one row was to be made again.
    found = {"held"} if kind == "sheet" else {"held", "delivered"}
    assert states == ({"delivered"} if status == 0 else found)
