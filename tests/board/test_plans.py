"""From a sheet to a run by the interface for programs, with a sandbox and real processes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path

import pytest

from tasks.ledger import find_campaign, rows_of, takes_of
from tests.board.conftest import OpenBoard, board_at
from tests.board.stage import approved, ended, plan_for
from tests.programs import Sandbox, sandbox, simple_sheet


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    options = ("--credits", "1000000", "--time-scale", "600")
    with sandbox(tmp_path_factory.mktemp("sandbox"), *options) as running:
        yield running


@pytest.fixture
async def board(tmp_path: Path, service: Sandbox) -> AsyncIterator[OpenBoard]:
    async with board_at(tmp_path, environ=service.environ) as opened:
        yield opened


@pytest.fixture
def name(tmp_path: Path) -> str:
    """A campaign no other test has: keys of the same film would be the same."""
    return f"c-{abs(hash(str(tmp_path))):x}"


async def states(board: OpenBoard, campaign: str) -> dict[str, str]:
    """Return the states of a campaign's rows."""
    found = await board.ledger.read(partial(find_campaign, name=campaign))
    assert found is not None
    rows = await board.ledger.read(partial(rows_of, campaign_id=found.id))
    return {row.row: row.state for row in rows}


def charged(service: Sandbox, keys: list[str]) -> int:
    """Return how many charges there were under these keys, by the service's own log."""
    return sum(service.charged(keys).values())


async def keys(board: OpenBoard, campaign: str) -> list[str]:
    """Return the keys of all takes of a campaign."""
    found = await board.ledger.read(partial(find_campaign, name=campaign))
    assert found is not None
    takes = await board.ledger.read(partial(takes_of, campaign_id=found.id))
    return [take.key for _, take in takes if take.key]


async def test_a_sheet_becomes_films_once_somebody_approved(
    board: OpenBoard, service: Sandbox, name: str
) -> None:
    plan = await plan_for(board.reviewer, f"{name}.csv", simple_sheet(3), budget=100)
    assert plan["state"] == "ready"
    assert (plan["campaign"], plan["counts"], plan["budget"]) == (name, {"make": 3}, 100)
    assert plan["total"] == sum(row["credits"] for row in plan["rows"])
    run = await approved(board.approver, plan)
    over = await ended(board.viewer, run)
    assert (over["exit"], over["started_by"]) == (0, "Ann")
    assert set((await states(board, name)).values()) == {"delivered"}
    assert charged(service, await keys(board, name)) == 3
    again = await plan_for(board.reviewer, f"{name}.csv", simple_sheet(3))
    assert (again["counts"], again["total"]) == ({"nothing": 3}, 0)
    assert again["budget"] == 100
