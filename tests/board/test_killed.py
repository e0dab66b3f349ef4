"""Kills at named points, a few of them; `python -m tests.torture --only beside` tries more."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.board.kills import kill_board, kill_run
from tests.fixtures import sandbox_fixture
from tests.programs import Sandbox
from tests.torture.sweep import Kill

service = sandbox_fixture("--credits", "1000000", "--time-scale", "600")


@pytest.fixture
def name(tmp_path: Path) -> str:
    """A campaign no other test has: keys of the same video would be the same."""
    return f"c-{abs(hash(str(tmp_path))):x}"


@pytest.mark.crashpoint("run: its campaign is free")
@pytest.mark.parametrize("point", ["service: after the answer (create)"])
async def test_a_killed_run_is_carried_on_and_no_row_is_charged_twice(
    tmp_path: Path, service: Sandbox, name: str, point: str
) -> None:
    trial = await kill_run(tmp_path, service, name, Kill(point))
    assert trial.visits[-1].point == point
    assert trial.findings == []


@pytest.mark.crashpoint("run: before its end is noted")
@pytest.mark.slow
async def test_killed_takes_are_paid_once(tmp_path: Path, service: Sandbox, name: str) -> None:
    kill = Kill("run: before its end is noted")
    trial = await kill_run(tmp_path, service, name, kill, retake=True)
    assert trial.findings == []


@pytest.mark.crashpoint(
    "board: the prices of a plan are known",
    "board: before a plan is approved",
    "board: after a plan is approved",
    "board: before a run is started",
    "board: after a run is started",
)
@pytest.mark.merge
@pytest.mark.parametrize("point", ["ledger: after the commit (approval._approve)"])
async def test_a_board_that_is_killed_leaves_one_run_and_one_charge_a_row(
    tmp_path: Path, service: Sandbox, name: str, point: str
) -> None:
    trial = await kill_board(tmp_path, service, name, Kill(point))
    assert trial.visits[-1].point == point
    assert trial.findings == []
