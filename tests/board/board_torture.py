"""What takes long on the board: many videos, other looks, and deaths while a run is at work."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Browser

from tests.board.conftest import OpenBoard
from tests.board.kills import Kill, kill_board, kill_run
from tests.board.test_killed import name, service
from tests.board.test_screens_in_a_browser import look_through
from tests.board.test_videos_by_keyboard import decide_by_keyboard
from tests.programs import Sandbox

__all__ = ["name", "service"]


@pytest.mark.parametrize("how", ["dark", "phone"])
async def test_nobody_is_kept_out(open_board: OpenBoard, chromium: Browser, how: str) -> None:
    await look_through(open_board, chromium, how)


async def test_a_run_that_is_killed_once_its_plan_is_approved_is_carried_on(
    tmp_path: Path, service: Sandbox, name: str
) -> None:
    kill = Kill("run: its campaign is free")
    assert (await kill_run(tmp_path, service, name, kill)).findings == []


async def test_a_board_that_is_killed_once_a_run_is_started_starts_no_other(
    tmp_path: Path, service: Sandbox, name: str
) -> None:
    kill = Kill("board: after a run is started")
    assert (await kill_board(tmp_path, service, name, kill)).findings == []


async def test_a_hundred_decisions_by_keyboard(open_board: OpenBoard, chromium: Browser) -> None:
    await decide_by_keyboard(open_board, chromium, videos=300, decisions=100)
